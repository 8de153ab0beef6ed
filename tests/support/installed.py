"""The broker as the Dockerfile installs it: from a wheel, out of reach of this source tree."""

import os
import shutil
import signal
import site
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.support.accounts import reachable_parent
from tests.support.deploy_files import ROOT, copied

PLACE = "/opt/broker"
_CAPABILITIES = "-all,+dac_read_search"
_NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
_MAY_READ = (f"--inh-caps={_CAPABILITIES}", f"--ambient-caps={_CAPABILITIES}")
_READS_ONLY = (*_NOBODY, *_MAY_READ) if os.geteuid() == 0 else ()


class Installed:
    """The package in a folder that stands for /opt/broker; what it needs is borrowed from the tests' environment."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="broker-installed-", dir=reachable_parent()))
        self.folder.chmod(0o755)
        self.opt = self.folder / "opt"
        self.wheel = self._build()
        self._install()

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder)

    def here(self, word: str) -> str:
        """A word of a command or of an environment that may name the place."""
        return word.replace(PLACE, str(self.opt))

    def temporary(self) -> Path:
        """A folder that processes may write to: the only one."""
        path = Path(tempfile.mkdtemp(prefix="tmp-", dir=self.folder))
        path.chmod(0o777)
        return path

    def start(self, command: list[str], environment: Mapping[str, str], log: Path) -> "subprocess.Popen[bytes]":
        """Where the tests run as root: as nobody, who reads everything and writes to its temporary folder alone."""
        path = environment.get("PATH", os.defpath)
        program = shutil.which(command[0], path=path)
        assert program is not None, f"{command[0]} is not in {path}"
        with log.open("ab") as output:
            return subprocess.Popen(
                [*_READS_ONLY, program, *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.opt,
                env={"PATH": path, "TMPDIR": str(self.temporary()), **environment},
                start_new_session=True,
            )

    def _build(self) -> Path:
        """A wheel from exactly what the Dockerfile copies for it."""
        source = self.folder / "source"
        for stage, names, _ in copied():
            for name in names if stage == 0 else ():
                _copy(ROOT / name, source / name)
        _run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(self.folder), str(source)])
        shutil.rmtree(source)
        (wheel,) = self.folder.glob("*.whl")
        return wheel

    def _install(self) -> None:
        _run([sys.executable, "-m", "venv", "--without-pip", str(self.opt)])
        python = str(self.opt / "bin" / "python")
        _run([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", str(self.wheel)])
        (packages,) = self.opt.glob("lib/python3*/site-packages")
        (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
        for stage, names, to in copied():
            for name in names if stage else ():
                _copy(ROOT / name, Path(self.here(to)))


def end(process: "subprocess.Popen[bytes]") -> None:
    """The whole tree, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, to)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
