"""Whether a process of this machine lives."""

import os
from pathlib import Path

_ENDED = ("Z", "X")
_PROC = Path("/proc")


def is_alive(pid: int) -> bool:
    """One that ended and was not reaped is not: where nobody reaps orphans, as in many containers, it stays."""
    if (_PROC / "self" / "stat").exists():
        return _state(pid) not in (None, *_ENDED)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _state(pid: int) -> str | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(")")[2].split()[0]
