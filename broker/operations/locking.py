"""A named lock in somebody's hands."""

import os
import re
import socket

from broker.operations.parts import Parts
from broker.store import locks as store
from broker.store.engine import Connection, Duplicate

_HOST_LENGTH = 24


class LockLost(Exception):
    """The lock ended or was taken over: whoever held it must change nothing any more."""


class NamedLock:
    """Held at most once at a time, by an owner that no other acquisition shares."""

    def __init__(self, parts: Parts, name: str, seconds: float) -> None:
        self._database, self._name, self._seconds = parts.database, name, seconds
        self.owner = f"{_here()}-{parts.ids.new()}"

    def acquire(self) -> bool:
        """Try to get it; False when another holds it. Whether a commit without an answer got it is read back."""
        take = lambda c: store.take(c, self._name, self.owner, self._seconds)  # noqa: E731
        try:
            return self._database.write("take lock", take, repeatable=True)
        except Duplicate:
            return False

    def renew(self) -> None:
        """Put its end off; raises LockLost."""
        renewed = self._database.write(
            "renew lock", lambda c: store.renew(c, self._name, self.owner, self._seconds), repeatable=True
        )
        if not renewed:
            raise LockLost(self._name)

    def require(self, connection: Connection) -> None:
        """Within a transaction: from here to its end nobody takes the lock over. Raises LockLost."""
        if not store.is_mine(connection, self._name, self.owner):
            raise LockLost(self._name)

    def release(self) -> None:
        """Let go, if it is still held."""
        self._database.write("release lock", lambda c: store.release(c, self._name, self.owner), repeatable=True)


def _here() -> str:
    host = re.sub(r"[^A-Za-z0-9.-]", "", socket.gethostname())[:_HOST_LENGTH] or "host"
    return f"{host}-{os.getpid()}"
