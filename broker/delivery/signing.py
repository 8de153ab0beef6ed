"""Signatures as the Standard Webhooks specification has them, so that any receiver's library can check them."""

import base64
import binascii
import hmac
from collections.abc import Iterable, Sequence

_PREFIX = "whsec_"


def signing_keys(secrets: Sequence[str]) -> tuple[bytes, ...]:
    """The keys in the order of their secrets; made once per consumer, not per delivery."""
    return tuple(_key(secret) for secret in secrets)


def signature(keys: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """One part for every key: while a secret is being changed, receivers of the old and the new are both content."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join(["v1," + _encoded(hmac.digest(key, signed, "sha256")) for key in keys])


def _encoded(digest: bytes) -> str:
    return binascii.b2a_base64(digest, newline=False).decode()


def _key(secret: str) -> bytes:
    """Read as leniently as receivers' libraries read it; what is no base64 is its own key."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX) + "==") or secret.encode()
    except binascii.Error:
        return secret.encode()
