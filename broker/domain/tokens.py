"""Tokens: made with enough entropy to need no slow hash, stored salted, compared in constant time."""

import hashlib
import hmac
import secrets

_SALT_BYTES = 16
_NOBODY = "00" * _SALT_BYTES + "$" + "00" * 32


def make_token() -> str:
    """A new token of 256 bits."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """What is stored in place of the token: `salt$digest`, both in hexadecimal."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"{salt.hex()}${_digest(salt, token)}"


def token_matches(token: str, stored: str | None) -> bool:
    """Compare in constant time; costs the same when there is nothing to compare with."""
    salt, digest = (stored or _NOBODY).split("$")
    same = hmac.compare_digest(_digest(bytes.fromhex(salt), token), digest)
    return same and stored is not None


def secrets_equal(given: str, expected: str) -> bool:
    """Compare two secrets held in memory in constant time, whatever their lengths."""
    return hmac.compare_digest(_digest(b"", given), _digest(b"", expected))


def _digest(salt: bytes, token: str) -> str:
    return hashlib.sha256(salt + token.encode("utf-8", "surrogatepass")).hexdigest()
