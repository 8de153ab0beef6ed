"""The server programs of this machine, and how each brand is set up and started."""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.support.errors import NotHere, ServerFailed

SERVERS = ("mariadbd", "mysqld")
INSTALLERS = ("mariadb-install-db", "mysql_install_db")
USUAL_FOLDERS = (
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/libexec",
    "/usr/local/mysql/bin",
    "/usr/local/mysql/scripts",
    "/opt/homebrew/bin",
)


@dataclass(frozen=True)
class ServerBinary:
    """A mysqld or mariadbd, with the program that fills an empty data folder if it needs one."""

    path: Path
    installer: Path | None

    def initialise_command(self, data: Path) -> list[str]:
        """What makes the system tables, with an administrator who needs no password on the socket."""
        if self.installer is None:
            return [*self._start(data), "--initialize-insecure"]
        return [
            str(self.installer),
            "--no-defaults",
            f"--basedir={self.path.parent.parent}",
            f"--datadir={data}",
            "--auth-root-authentication-method=socket",
            "--skip-test-db",
            "--skip-name-resolve",
            "--force",
        ]

    def serve_command(self, data: Path) -> list[str]:
        """What starts the server; the caller adds the address, the socket and the rest."""
        return self._start(data)

    def _start(self, data: Path) -> list[str]:
        command = [str(self.path), "--no-defaults", f"--datadir={data}"]
        return command if self.installer else [*command, "--secure-file-priv=NULL", "--loose-mysqlx=OFF"]


def search_folders(path: str) -> tuple[Path, ...]:
    """The folders of a PATH, then those where servers are usually installed."""
    named = [folder for folder in path.split(os.pathsep) if folder]
    return tuple(Path(folder) for folder in dict.fromkeys([*named, *USUAL_FOLDERS]))


def find_binary(folders: Iterable[Path] | None = None) -> ServerBinary:
    """The first server program in these folders, or in those of this machine."""
    folders = search_folders(os.environ.get("PATH", "")) if folders is None else tuple(folders)
    path = _find_program(SERVERS, folders)
    if path is None:
        raise NotHere(f"no {' or '.join(SERVERS)} on PATH or in the usual folders")
    if "MariaDB" not in _version(path):
        return ServerBinary(path, None)
    return ServerBinary(path, _installer_of(path, folders))


def _installer_of(path: Path, folders: tuple[Path, ...]) -> Path:
    base = path.parent.parent
    installer = _find_program(INSTALLERS, (path.parent, base / "bin", base / "scripts", *folders))
    if installer is None:
        raise ServerFailed(f"{path} is here, but {INSTALLERS[0]} is not: install the whole MariaDB server")
    return installer


def _find_program(names: Iterable[str], folders: Iterable[Path]) -> Path | None:
    names = tuple(names)
    candidates = (folder / name for folder in folders for name in names)
    found = (path for path in candidates if path.is_file() and os.access(path, os.X_OK))
    return next((path.resolve() for path in found), None)


def _version(path: Path) -> str:
    answer = subprocess.run([path, "--no-defaults", "--version"], capture_output=True, text=True, check=False)
    return answer.stdout
