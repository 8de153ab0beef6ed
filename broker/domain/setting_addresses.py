"""Kinds of settings that are addresses: where to listen, where deliveries may go, where the database is."""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import TypeAlias

from broker.domain.refusal import refused
from broker.domain.setting_texts import Text
from broker.domain.setting_types import JsonValue, Kind

Network: TypeAlias = IPv4Network | IPv6Network

_LAST_PORT = 65_535
_NO_NETWORK = "none"
_HOST_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})")
_LOOKS_LIKE_IPV4 = re.compile(r"[0-9.]+")
_DATABASE = re.compile(r"(?:sqlite|mysql\+pymysql)://[^\x00-\x1f\x7f\ud800-\udfff]*")
_PASSWORD = re.compile(r"(://[^:/]*:).*@")
_PASSWORD_IN_QUERY = re.compile(r"([?&][^=&]*passw[^=&]*=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True)
class HostPort:
    """A host name or address and a port; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Listen(Kind[HostPort]):
    """Where a server listens."""

    @property
    def limits(self) -> str:
        return "host:port, an IPv6 address in brackets"

    def from_text(self, text: str) -> HostPort:
        found = _HOST_PORT.fullmatch(text)
        if found is None or int(found[3]) > _LAST_PORT:
            raise refused(text, self.limits)
        return HostPort(_checked_host(found[1], found[2]), int(found[3]))

    def from_native(self, raw: object) -> HostPort:
        if not isinstance(raw, str):
            raise refused(raw, self.limits)
        return self.from_text(raw)

    def to_json(self, value: HostPort) -> JsonValue:
        return str(value)


@dataclass(frozen=True)
class Networks(Kind[tuple[Network, ...]]):
    """A list of networks, which may be empty."""

    @property
    def limits(self) -> str:
        return "a list of networks such as 10.0.0.0/8 or fd00::/8"

    def from_text(self, text: str) -> tuple[Network, ...]:
        return self.from_native([] if text.lower() == _NO_NETWORK else text.replace(",", " ").split())

    def from_native(self, raw: object) -> tuple[Network, ...]:
        if not isinstance(raw, list | tuple):
            raise refused(raw, self.limits)
        return tuple(_network(one) for one in raw)

    def to_text(self, value: tuple[Network, ...]) -> str:
        return ",".join(str(one) for one in value) or _NO_NETWORK

    def to_json(self, value: tuple[Network, ...]) -> JsonValue:
        return [str(one) for one in value]


@dataclass(frozen=True)
class DatabaseUrl(Text):
    """Where the database is; only its scheme is judged, and it is never quoted, since it has a password."""

    @property
    def limits(self) -> str:
        return "sqlite:///… or mysql+pymysql://…"

    def checked(self, text: str) -> str:
        if not _DATABASE.fullmatch(text.strip()):
            raise ValueError("must begin with sqlite:// or mysql+pymysql:// and have no control characters")
        return text.strip()

    def masked(self, value: str) -> JsonValue:
        return _PASSWORD_IN_QUERY.sub(r"\1***", _PASSWORD.sub(r"\1***@", value))


def _checked_host(ipv6: str | None, host: str | None) -> str:
    try:
        if ipv6 is not None:
            return str(IPv6Address(ipv6))
        name = host or ""
        return str(IPv4Address(name)) if _LOOKS_LIKE_IPV4.fullmatch(name) else name
    except ValueError:
        raise refused(ipv6 or host, "an address") from None


def _network(raw: object) -> Network:
    try:
        if isinstance(raw, str):
            return ip_network(raw)
    except ValueError:
        pass
    raise refused(raw, "a network: write it like 10.0.0.0/8, with no bits beyond the mask")
