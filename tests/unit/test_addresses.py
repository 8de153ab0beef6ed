"""Public addresses may be called; everything else only when it is allowed, and what is denied never."""

from ipaddress import ip_network

import pytest

from broker.delivery.addresses import DENIED, AddressGuard

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0
198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
2606:4700::1111 2001:4860:4860::8888 2a00:1450:4001::200e 2400:cb00::1 2001:200::1 2003::1 3ffe:ffff::1 3fff:1000::1
::ffff:8.8.8.8 ::ffff:808:808 64:ff9b::8.8.8.8 64:ff9b::808:808 2002:808:808::1 2001:0:808:808::f7f7:f7f7
"""

REFUSED = {
    "loopback": "127.0.0.1 127.0.0.0 127.1.2.3 127.255.255.255 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 64:ff9b::127.0.0.1"
    " 2002:7f00:1::1 0:0:0:0:0:0:0:1",
    "unspecified": "0.0.0.0 0.0.0.1 0.255.255.255 :: ::ffff:0.0.0.0 64:ff9b::",
    "private": "10.0.0.0 10.0.0.1 10.255.255.255 172.16.0.0 172.20.1.1 172.31.255.255 192.168.0.0 192.168.1.1"
    " 192.168.255.255 fc00:: fc00::1 fd12:3456::1 fdff:ffff::1 ::ffff:10.0.0.1 ::ffff:192.168.0.1 64:ff9b::10.0.0.1"
    " 64:ff9b:1::1 64:ff9b:1::808:808 2002:a00:1::1 2002:c0a8:101:: 2001:0:a00:1::f7f7:f7f7 2001:0:808:808::f5ff:fffe",
    "shared (carrier-grade NAT)": "100.64.0.0 100.100.0.1 100.127.255.255 ::ffff:100.64.0.1",
    "link-local": "169.254.0.0 169.254.1.1 169.254.255.255 fe80::1 fe80::1%eth0 febf::1 ::ffff:169.254.0.1",
    "metadata": "169.254.169.254 fd00:ec2::254 ::ffff:169.254.169.254 64:ff9b::169.254.169.254 2002:a9fe:a9fe::"
    " 168.63.129.16 100.100.100.200 192.0.0.192",
    "site-local": "fec0::1 feff::1",
    "multicast": "224.0.0.1 239.255.255.255 ff02::1 ff0e::1 ::ffff:224.0.0.1",
    "broadcast": "255.255.255.255 ::ffff:255.255.255.255",
    "documentation": "192.0.2.1 198.51.100.255 203.0.113.7 2001:db8::1 3fff::1 3fff:fff::1",
    "benchmarking": "198.18.0.0 198.19.255.255 2001:2::1",
    "reserved": "192.0.0.0 192.0.0.8 192.88.99.1 240.0.0.0 250.1.2.3 255.255.255.254 100::1"
    " 2001:10::1 2001:20::1 2001:1::1",
    "IPv4-compatible": "::127.0.0.1 ::8.8.8.8 ::2",
    "not public": "4000::1 5f00::1 e000::1 ::ffff:0:8.8.8.8 200::1 1fff::1",
}
KINDS = [(address, kind) for kind, addresses in REFUSED.items() for address in addresses.split()]
PLAIN = AddressGuard([], [])


@pytest.mark.parametrize("address", PUBLIC.split())
def test_a_public_address_may_be_called(address: str) -> None:
    assert PLAIN.refusal(address) is None


@pytest.mark.parametrize(("address", "kind"), KINDS)
def test_every_other_address_is_refused_with_its_kind(address: str, kind: str) -> None:
    assert PLAIN.refusal(address) == f"{kind}; allow it with delivery_allowed_networks"


def test_the_table_is_long_and_has_no_double() -> None:
    every = [*PUBLIC.split(), *(address for address, _ in KINDS)]
    assert len(every) == len(set(every)) > 80


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "0x7f000001", "1.2.3.4.5", "::g", "1.1.1.1 ", "/tmp/socket"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    assert PLAIN.refusal(text) == "not an address"


ALLOWED = [
    ("10.0.0.0/8", "10.1.2.3", True),
    ("10.0.0.0/8", "::ffff:10.1.2.3", True),
    ("10.0.0.0/8", "64:ff9b::10.1.2.3", True),
    ("10.0.0.0/8", "2002:a01:203::1", True),
    ("10.0.0.0/8", "192.168.0.1", False),
    ("10.0.0.0/8", "::10.1.2.3", False),
    ("127.0.0.0/8", "127.0.0.1", True),
    ("127.0.0.0/8", "::1", False),
    ("::1/128", "::1", True),
    ("::1/128", "127.0.0.1", False),
    ("::ffff:0:0/96", "::ffff:127.0.0.1", True),
    ("::ffff:0:0/96", "127.0.0.1", False),
    ("fd00::/8", "fd00::1", True),
    ("fe80::/10", "fe80::1%eth0", True),
    ("8.8.8.8/32", "9.9.9.9", True),
    ("2001:0:808:808::/64", "2001:0:808:808::f5ff:fffe", True),
]


@pytest.mark.parametrize(("network", "address", "open_"), ALLOWED)
def test_an_allowed_network_opens_its_own_addresses_only(network: str, address: str, open_: bool) -> None:
    assert (AddressGuard([ip_network(network)], []).refusal(address) is None) is open_


DENIED_ONES = [
    ("8.8.8.0/24", "8.8.8.8"),
    ("8.8.8.0/24", "::ffff:8.8.8.8"),
    ("8.8.8.0/24", "64:ff9b::8.8.8.8"),
    ("8.8.8.0/24", "2002:808:808::1"),
    ("8.8.8.0/24", "2001:0:808:808::f7f7:f7f7"),
    ("10.1.0.0/16", "10.1.2.3"),
    ("10.1.0.0/16", "::ffff:10.1.2.3"),
    ("2606:4700::/32", "2606:4700::1111"),
    ("0.0.0.0/0", "1.1.1.1"),
]


@pytest.mark.parametrize(("network", "address"), DENIED_ONES)
def test_a_denied_network_beats_everything(network: str, address: str) -> None:
    everything = [ip_network("0.0.0.0/0"), ip_network("::/0")]
    assert AddressGuard(everything, []).refusal(address) is None
    assert AddressGuard(everything, [ip_network(network)]).refusal(address) == DENIED


def test_decisions_are_remembered_but_not_without_end() -> None:
    guard = AddressGuard([], [])
    for number in range(5_000):
        guard.refusal(f"10.0.{number // 256}.{number % 256}")
    first = guard.refusal("10.0.19.135")
    assert guard.refusal("10.0.19.135") is first
    assert guard._remembered.cache_info().currsize == guard._remembered.cache_info().maxsize == 4_096
