"""The units, by systemd's own checks."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import run
from tests.support.deploy_files import SYSTEMD, environment_file, unit
from tests.support.private_server import free_port
from tests.support.tools import path_of

UNITS = ("broker-api", "broker-worker", "broker-migrate")
SERVICES = UNITS[:2]
WORST_EXPOSURE = 20  # of 100; a unit without any hardening has 96


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [path_of("systemd-analyze"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def placed(name: str, folder: Path, wrong: str = "") -> Path:
    """The unit where the program is: that of the tests' environment."""
    program = Path(sys.executable).with_name("broker")
    text = (SYSTEMD / f"{name}.service").read_text().replace("/opt/broker/bin/broker", str(program))
    (folder / f"{name}.service").write_text(text.replace("[Service]\n", f"[Service]\n{wrong}"))
    return folder / f"{name}.service"


@pytest.mark.tool("systemd-analyze")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_nothing_wrong(name: str, tmp_path: Path) -> None:
    done = analyze("verify", placed(name, tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "KilMode" in analyze("verify", placed(name, tmp_path, wrong="KilMode=mixed\n")).stderr


@pytest.mark.tool("systemd-analyze")
@pytest.mark.parametrize("name", UNITS)
def test_units_may_do_little(name: str, tmp_path: Path) -> None:
    security = ("security", "--offline=true", f"--threshold={WORST_EXPOSURE}")
    done = analyze(*security, placed(name, tmp_path))
    assert done.returncode == 0, done.stdout[-300:]
    (tmp_path / "bare.service").write_text("[Service]\nExecStart=/bin/true\n")
    assert analyze(*security, tmp_path / "bare.service").returncode != 0


@pytest.mark.parametrize("name", SERVICES)
def test_the_supervisor_alone_is_told_to_stop(name: str) -> None:
    assert unit(SYSTEMD / f"{name}.service")["KillMode"] == ["mixed"]


@pytest.mark.parametrize("name", SERVICES)
def test_settings_that_cannot_be_used_are_not_tried_again(name: str) -> None:
    """Those of the example, as they ship, for one."""
    keys = unit(SYSTEMD / f"{name}.service")
    command = keys["ExecStart"][0].removeprefix("/opt/broker/bin/broker ").split()
    told = run(*command, **environment_file(SYSTEMD / "broker.env.example"))
    assert "BROKER_DATABASE_URL" in told.stderr
    assert (str(told.exit_code), keys["Restart"]) == (keys["RestartPreventExitStatus"][0], ["always"])
    away = run(*command, BROKER_DATABASE_URL=f"mysql+pymysql://127.0.0.1:{free_port()}/broker")
    assert away.exit_code not in (0, told.exit_code)
