"""`broker config check` and `broker config show` tell people and programs what the settings are."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from broker.cli.config import config
from broker.domain.settings import SETTINGS


@dataclass
class Context:
    """What the command line hands to its commands."""

    config_file: Path | None = None
    options: dict[str, object] = field(default_factory=dict)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.environ", {})


def _run(*arguments: str, env: dict[str, str] | None = None, **options: object) -> Result:
    return CliRunner().invoke(config, arguments, obj=Context(options=options), env=env)


def test_check_says_ok_and_where_each_value_came_from_that_is_no_default() -> None:
    Path("broker.toml").write_text("max_retries = 4\nlease = 30")
    result = _run("check", env={"BROKER_DLQ_CHUNK": "200"}, listen="127.0.0.1:0")
    assert result.exit_code == 0
    first, *table = result.stdout.splitlines()
    assert first == "The settings are ok (from --listen, broker.toml, BROKER_DLQ_CHUNK)."
    assert [line.split() for line in table] == [
        ["key", "value", "source"],
        ["listen", "127.0.0.1:0", "--listen"],
        ["max_retries", "4", "broker.toml"],
        ["lease", "30s", "broker.toml"],
        ["dlq_chunk", "200", "BROKER_DLQ_CHUNK"],
    ]
    assert result.stderr == ""


@pytest.mark.parametrize("arguments", [["check"], ["check", "--json"]])
def test_check_says_that_a_reserved_setting_has_no_effect_yet(arguments: list[str]) -> None:
    result = _run(*arguments, env={"BROKER_PRUNE_AFTER": "1d"})
    assert result.exit_code == 0
    assert result.stderr == "prune_after (BROKER_PRUNE_AFTER) is reserved: it has no effect yet.\n"


@pytest.mark.parametrize("command", ["check", "show", "reference"])
def test_the_help_of_each_command_has_an_example(command: str) -> None:
    assert f"broker config {command}" in _run(command, "--help").stdout


def test_check_says_when_only_defaults_apply() -> None:
    assert _run("check").stdout == "The settings are ok (from defaults only).\n"


@pytest.mark.parametrize("command", ["check", "show"])
def test_every_problem_goes_to_standard_error_with_exit_code_2(command: str) -> None:
    result = _run(command, env={"BROKER_LEASE": "soon"}, max_hops="-1")
    assert result.exit_code == 2
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith("lease (BROKER_LEASE): 'soon' is not a duration")
    assert second == "max_hops (--max-hops): -1 is out of range: 0 to 1000"


@pytest.mark.parametrize("command", ["check", "show"])
def test_every_problem_is_in_the_json(command: str) -> None:
    result = _run(command, "--json", env={"BROKER_MAX_HOPS": "-1"})
    message = "-1 is out of range: 0 to 1000"
    assert result.exit_code == 2
    assert json.loads(result.stdout) == {
        "ok": False,
        "problems": [{"key": "max_hops", "source": "BROKER_MAX_HOPS", "message": message}],
    }


def test_check_answers_in_json() -> None:
    result = _run("check", "--json", lease="5s")
    values = [{"key": "lease", "value": 5, "source": "--lease"}]
    assert json.loads(result.stdout) == {"ok": True, "sources": ["--lease"], "values": values, "problems": []}


def test_show_is_a_table_of_every_setting_with_its_source() -> None:
    lines = _run("show", env={"BROKER_LEASE": "90"}, retry_schedule="5,60").stdout.splitlines()
    cells = {line.split()[0]: line.split()[1:] for line in lines}
    assert list(cells) == ["key", *(one.key for one in SETTINGS)]
    assert cells["lease"] == ["1m30s", "BROKER_LEASE"]
    assert cells["retry_schedule"] == ["5s,1m", "--retry-schedule"]
    assert cells["prune_after"] == ["none", "default"]
    assert len({line.index(line.split()[-1], 30) for line in lines[:5]}) == 1


def test_show_in_json_has_typed_values() -> None:
    rows = {row.pop("key"): row for row in json.loads(_run("show", "--json", lease="90s").stdout)}
    assert list(rows) == [one.key for one in SETTINGS]
    assert rows["lease"] == {"value": 90, "source": "--lease"}
    assert rows["dlq_enabled"] == {"value": True, "source": "default"}


@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"], ["check"], ["check", "--json"]])
def test_no_secret_is_shown(arguments: list[str]) -> None:
    env = {"BROKER_ADMIN_TOKEN": "hunter2", "BROKER_DATABASE_URL": "mysql+pymysql://u:hunter2@db/broker"}
    result = _run(*arguments, env=env)
    assert result.exit_code == 0
    assert "hunter2" not in result.output
    assert "***" in result.output
