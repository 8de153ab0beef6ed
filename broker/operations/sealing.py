"""Signing secrets at rest: encrypted when a key is configured."""

import base64
import hashlib

from cryptography.fernet import Fernet

_SEALED = "sealed:"


class Sealer:
    """Seals what must be readable again, unlike a token."""

    def __init__(self, secret_key: str | None) -> None:
        self._fernet = None if secret_key is None else Fernet(_key(secret_key))

    def seal(self, secret: str) -> str:
        """What is stored."""
        return secret if self._fernet is None else _SEALED + self._fernet.encrypt(secret.encode()).decode()

    def unseal(self, stored: str) -> str:
        """What was sealed; needs the key it was sealed with."""
        if not stored.startswith(_SEALED):
            return stored
        if self._fernet is None:
            raise ValueError("This secret was stored encrypted. Configure the secret_key it was stored with.")
        return self._fernet.decrypt(stored.removeprefix(_SEALED)).decode()


def _key(secret_key: str) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(secret_key.encode()).digest())
