"""The real tools that tests drive. `python -m tests.support.tools` installs what is missing."""

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.support import debian
from tests.support.errors import NotHere

REQUIRED = "BROKER_TEST_TOOLS"
_FOLDERS = ("/usr/sbin", "/usr/lib/nagios/plugins")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of a Debian package, a module that `pip install '.[tools]'` brings, or an environment of its own."""

    program: str | None = None
    package: str | None = None
    module: str | None = None
    environment: str | None = None

    def find(self) -> Path | None:
        """Where it is; None when it is not here."""
        if self.environment is not None:
            python = Path(sys.prefix) / self.environment / "bin" / "python"
            return python if python.exists() else None
        if self.module is not None:
            return Path(sys.executable) if find_spec(self.module) else None
        places = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""), *_FOLDERS))
        found = shutil.which(str(self.program), path=places)
        return None if found is None else Path(found)


TOOLS = {
    "nagios": Tool("nagios4", "nagios4-core"),
    "check_http": Tool("check_http", "monitoring-plugins-basic"),
    "prometheus": Tool("prometheus", "prometheus"),
    "promtool": Tool("promtool", "prometheus"),
    "systemd-analyze": Tool("systemd-analyze", "systemd"),
    "mariadbd": Tool("mariadbd", "mariadb-server"),
    "shellcheck": Tool("shellcheck", "shellcheck"),
    "hadolint": Tool("hadolint"),
    "kubectl": Tool("kubectl", "kubernetes-client"),
    "kubernetes-validate": Tool(module="kubernetes_validate"),
    "check-jsonschema": Tool("check-jsonschema"),
    "datadog": Tool(environment="datadog"),
    "grafana-foundation-sdk": Tool(module="grafana_foundation_sdk"),
}


def path_of(name: str) -> Path:
    """A tool that the test said it needs."""
    found = TOOLS[name].find()
    if found is None:
        raise NotHere(f"{name} is not on this machine; `make test-tools` installs it")
    return found


def missing(names: Iterable[str]) -> list[str]:
    """Those that are not here."""
    return [name for name in names if TOOLS[name].find() is None]


def all_required() -> bool:
    """Whether a missing tool fails its tests instead of leaving them out."""
    return os.environ.get(REQUIRED) == "all"


def main() -> None:
    """Install the packages of all tools that are missing."""
    packages = {TOOLS[name].package for name in missing(TOOLS)} - {None}
    with debian.one_at_a_time():
        debian.install(*sorted(map(str, packages)))
    left = missing(TOOLS)
    sys.exit(f"Still missing: {', '.join(left)}" if left else 0)


if __name__ == "__main__":
    main()
