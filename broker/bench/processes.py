"""CPU seconds of process trees, read from /proc."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int | None) -> float | None:
    """User and system time of a process and its living descendants; None when it cannot be seen from here."""
    if pid is None or not Path(f"/proc/{pid}").exists():
        return None
    return sum(_own_seconds(one) for one in _tree(pid))


def peak_megabytes(pid: int) -> float:
    """The most memory that one process of the tree ever held."""
    return max(_peak(one) for one in _tree(pid))


def _peak(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


def _tree(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found.extend(children.get(one, []))
    return found


def _own_seconds(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def _stat(pid: int) -> list[str]:
    """The fields after the command's name: state, parent, …"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []
