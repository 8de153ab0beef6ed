"""Installs packages on Debian, without starting what is in them as a service."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.errors import NotHere

LOG_LINES = 10
POLICY = Path("/usr/sbin/policy-rc.d")
DO_NOT_START_SERVICES = "#!/bin/sh\nexit 101\n"


def may_install() -> bool:
    """Whether this is Debian, or made from it, and we are root."""
    return os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get") is not None


def install(*packages: str) -> None:
    """Install packages from the system's own sources; nothing to do for none."""
    if packages:
        with _services_kept_still():
            _apt_get("update")
            _apt_get("install", "-y", "--no-install-recommends", *packages)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let only one test process install; the others wait and then find what it installed."""
    lock = Path(tempfile.gettempdir()) / "broker-test-install.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _services_kept_still() -> Iterator[None]:
    if POLICY.exists():
        yield
        return
    POLICY.write_text(DO_NOT_START_SERVICES)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def _apt_get(*arguments: str) -> None:
    run = subprocess.run(
        ["apt-get", "-o", "DPkg::Lock::Timeout=300", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode:
        tail = "\n".join(run.stdout.splitlines()[-LOG_LINES:])
        raise NotHere(f"apt-get {arguments[0]} failed:\n{tail}")
