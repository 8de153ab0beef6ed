"""One exchange with a target: what is sent, what is answered, and how it is told to people."""

import ssl
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import certifi

from broker.domain.durations import format_duration
from broker.domain.failures import Failure, network_failure

_SYSTEM_AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


KEPT_BODY, LARGEST_BODY = 4_096, 65_536


class Sending(NamedTuple):
    """One POST; `ca` are authorities in PEM that are trusted instead of the system's, `keeps` is how much of the body
    of the answer is wanted."""

    url: str
    headers: list[bytes]
    body: bytes
    timeout: float
    connect_timeout: float
    ca: str | None
    keeps: int = KEPT_BODY


class Reply(NamedTuple):
    """What a target answered: the header block as it came, and the first part of the body."""

    status: int
    headers: bytes
    body: bytes
    seconds: float

    def fields(self) -> dict[str, str]:
        """The header fields of the last answer, names in lower case; interim answers come before, trailers after it."""
        found: dict[str, str] = {}
        inside = False
        for line in self.headers.decode("latin-1").split("\n"):
            if line.startswith("HTTP/"):
                found, inside = {}, True
            elif not line.strip():
                inside = False
            elif inside:
                _add(found, line)
        return found


def _add(found: dict[str, str], line: str) -> None:
    name, colon, value = line.partition(":")
    if colon:
        low = name.strip().lower()
        found[low] = f"{found[low]}, {value.strip()}" if low in found else value.strip()


Result = tuple[object, Reply | Failure, float]


def checked_url(url: str) -> str:
    """An address that libcurl need not guess about: it would take other schemes, and complete what lacks one."""
    if not url.isascii() or not url.lower().startswith(("http://", "https://")):
        raise ValueError("the address does not begin with http:// or https://, or is not ASCII")
    return url


def host_of(url: str) -> str:
    """The host for people, without credentials."""
    try:
        return urlsplit(url).hostname or "the target"
    except ValueError:
        return "the target"


def told(url: str, message: str) -> str:
    """What went wrong and where; what could quote credentials is left out."""
    return f"{host_of(url)}: {'the delivery failed' if '@' in url else message or 'the answer cannot be read'}."


def timed_out(sending: Sending, seconds: float) -> Failure:
    """Names the limit that was hit; connecting has its own, shorter one."""
    host = host_of(sending.url)
    if seconds < sending.timeout * 0.99:
        limit = format_duration(sending.connect_timeout)
        return network_failure("TIMEOUT", f"No connection to {host} within {limit} (connect_timeout).")
    limit = format_duration(sending.timeout)
    return network_failure("TIMEOUT", f"No whole answer from {host} within {limit} (delivery_timeout).")


def system_authorities() -> str:
    """The file of authorities that the system trusts, else the one that Python packages share."""
    paths = (ssl.get_default_verify_paths().cafile, *_SYSTEM_AUTHORITIES)
    return next((path for path in paths if path and Path(path).is_file()), certifi.where())
