"""Whom a server runs as, and where that account can reach a folder."""

import os
import pwd
import tempfile
from pathlib import Path

_OTHERS_MAY_ENTER = 0o001


def unprivileged_account() -> pwd.struct_passwd | None:
    """For root the account `mysql`, or `nobody` where there is none; for everybody else no other account."""
    if os.geteuid() != 0:
        return None
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    return accounts.get("mysql") or accounts["nobody"]


def reachable_parent() -> str:
    """A temporary folder that other accounts can reach too."""
    candidates = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    return next((folder for folder in candidates if others_reach(Path(folder))), candidates[0])


def others_reach(folder: Path) -> bool:
    """Whether every folder on the way lets other accounts pass."""
    way = [folder.resolve(), *folder.resolve().parents]
    return all(step.is_dir() and step.stat().st_mode & _OTHERS_MAY_ENTER for step in way)
