"""Which addresses a delivery may go to: public ones, so that a callback URL opens no door into the network."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from broker.domain.setting_addresses import Network

REMEMBERED = 4_096
DENIED = "in delivery_denied_networks"
_HINT = "; allow it with delivery_allowed_networks"
_KINDS: tuple[tuple[str, str], ...] = (
    ("metadata", "169.254.169.254/32 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32 fd00:ec2::254/128"),
    ("loopback", "127.0.0.0/8 ::1/128"),
    ("unspecified", "0.0.0.0/8 ::/128"),
    ("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 64:ff9b:1::/48"),
    ("shared (carrier-grade NAT)", "100.64.0.0/10"),
    ("link-local", "169.254.0.0/16 fe80::/10"),
    ("site-local", "fec0::/10"),
    ("multicast", "224.0.0.0/4 ff00::/8"),
    ("broadcast", "255.255.255.255/32"),
    ("documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),
    ("benchmarking", "198.18.0.0/15 2001:2::/48"),
    ("reserved", "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4 100::/64 2001:10::/28 2001:20::/28"),
)
_NOT_PUBLIC = tuple((kind, ip_network(one)) for kind, networks in _KINDS for one in networks.split())
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_PROTOCOLS = IPv6Network("2001::/23")
_COMPATIBLE = IPv6Network("::/96")
_LAST_32_BITS = 0xFFFFFFFF

Address = IPv4Address | IPv6Address


class AddressGuard:
    """Judges the address itself, never its spelling; a decision is remembered, since it cannot change."""

    def __init__(self, allowed: Sequence[Network], denied: Sequence[Network]) -> None:
        self._allowed, self._denied = tuple(allowed), tuple(denied)
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._judged)

    def refusal(self, address: str) -> str | None:
        """What is wrong with calling it ("loopback; …"), or None when it may be called."""
        return self._remembered(address)

    def _judged(self, text: str) -> str | None:
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return "not an address"
        carried = _carried(address)
        if _is_in(self._denied, (address, *carried)):
            return DENIED
        kind = self._kind(address, carried)
        return None if kind is None else kind + _HINT

    def _kind(self, address: Address, carried: Sequence[IPv4Address]) -> str | None:
        """Why it is not public; an address that carries others is as public as they are."""
        if _is_in(self._allowed, (address,)):
            return None
        if carried:
            return next((kind for kind in (self._kind(one, ()) for one in carried) if kind is not None), None)
        return _kind_alone(address)


def _carried(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that packets to an IPv6 address really go to."""
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address in _NAT64:
        return (IPv4Address(int(address) & _LAST_32_BITS),)
    return address.teredo or ()


def _kind_alone(address: Address) -> str | None:
    for kind, network in _NOT_PUBLIC:
        if address in network:
            return kind
    if isinstance(address, IPv6Address):
        return _kind_of_rest(address)
    return None if address.is_global else "not public"


def _kind_of_rest(address: IPv6Address) -> str | None:
    if address in _COMPATIBLE:
        return "IPv4-compatible"
    if address in _PROTOCOLS:
        return "reserved"
    return None if address in _UNICAST else "not public"


def _is_in(networks: Iterable[Network], addresses: Iterable[Address]) -> bool:
    return any(address in network for network in networks for address in addresses)
