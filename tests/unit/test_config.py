"""Settings come from defaults, file, environment and options, in that order; all problems come at once."""

import dataclasses
import inspect
import json
import os
from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.config import ConfigError, Problem, Settings, explain, load
from broker.domain.setting import Setting
from broker.domain.setting_addresses import HostPort
from broker.domain.settings import SETTINGS, check_together
from tests.unit.setting_values import certificate, values_of

SECRETS = {
    "admin_token": "hunter2-admin",
    "monitor_token": "hunter2-monitor",
    "secret_key": "hunter2-key-of-rest",
}


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(text: str, name: str = "broker.toml") -> Path:
    Path(name).write_text(text, "utf-8")
    return Path(name)


def _problems(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
) -> list[Problem]:
    with pytest.raises(ConfigError) as refusal:
        load(file, environ or {}, options or {})
    return refusal.value.problems


def test_the_fields_are_those_of_the_table_in_its_order() -> None:
    assert [field.name for field in dataclasses.fields(Settings)] == [one.key for one in SETTINGS]


def test_a_field_can_be_none_exactly_when_its_setting_can() -> None:
    fields = inspect.get_annotations(Settings)
    optional = [key for key, kind in fields.items() if type(None) in getattr(kind, "__args__", ())]
    assert optional == [one.key for one in SETTINGS if one.optional]


def test_without_any_source_every_default_applies() -> None:
    assert explain(None, {}, {}) == [*explain(None, {"PATH": "x"}, {"listen": None})]
    assert {one.key: one.value for one in explain(None, {}, {})} == {one.key: one.default for one in SETTINGS}
    assert {one.source for one in explain(None, {}, {})} == {"default"}


SOURCES = [
    ((), 3, "default"),
    (("file",), 4, "broker.toml"),
    (("file", "environment"), 5, "BROKER_MAX_RETRIES"),
    (("file", "environment", "option"), 6, "--max-retries"),
    (("file", "option"), 6, "--max-retries"),
    (("environment",), 5, "BROKER_MAX_RETRIES"),
    (("environment", "option"), 6, "--max-retries"),
    (("option",), 6, "--max-retries"),
]


@pytest.mark.parametrize(("given_by", "value", "source"), SOURCES)
def test_the_strongest_source_decides(given_by: tuple[str, ...], value: int, source: str) -> None:
    if "file" in given_by:
        _write("max_retries = 4")
    environ = {"BROKER_MAX_RETRIES": "5"} if "environment" in given_by else {}
    options = {"max_retries": 6} if "option" in given_by else {}
    found = {one.key: one for one in explain(None, environ, options)}["max_retries"]
    assert (found.value, found.source) == (value, source)
    assert load(None, environ, options).max_retries == value


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.key)
def test_every_setting_can_come_from_file_environment_and_option(setting: Setting) -> None:
    raw, value = _other_than_default(setting)
    file = _write(f"{setting.key} = {raw}")
    environ = {setting.environment_name: setting.to_text(value)}
    for found in (load(file, {}, {}), load(None, {"BROKER_CONFIG": "none", **environ}, {})):
        assert getattr(found, setting.key) == value
    assert getattr(load(None, {}, {setting.key: setting.to_text(value)}), setting.key) == value


def _other_than_default(setting: Setting) -> tuple[str, Any]:
    """A value in TOML and as it is read, made without the code under test where that is possible."""
    texts = {
        "database_url": "sqlite:///x.db", "listen": "[::1]:9", "metrics_listen": "[::1]:9",
        "retry_policy": "never", "log_level": "error",
        "dlq_strategy": "manual", "dead_letter_mode": "move", "dlq_full_policy": "reject", "broker_id": "b",
        "dead_channel": "d", "dead_channel_template": "d", "consumer_token_header": "Authorization",
        "delivery_ca": certificate(), **SECRETS,
    }  # fmt: skip
    if setting.key in texts:
        return json.dumps(texts[setting.key]), setting.parse_native(texts[setting.key])
    lists = {
        "retry_schedule": '["7s"]',
        "delivery_allowed_networks": '["::/0"]',
        "delivery_denied_networks": '["::/0"]',
    }
    if setting.key in lists:
        return lists[setting.key], setting.parse_native([lists[setting.key][2:-2]])
    if isinstance(setting.default, bool):
        return ("false", False) if setting.default else ("true", True)
    low = setting.kind.low  # type: ignore[attr-defined]
    changed = low + 1 if low == setting.default else low
    return str(changed), changed


def test_values_are_typed() -> None:
    _write('lease = "2m"\nretry_schedule = ["1s", 2]\nprune_after = "off"\nmax_hops = 7')
    environ = {"BROKER_LISTEN": "[::1]:81", "BROKER_DLQ_ENABLED": "no"}
    found = load(None, environ, {"consumer_rate": 2, "delivery_allowed_networks": ["10.0.0.0/8"]})
    assert (found.lease, found.retry_schedule, found.prune_after) == (120.0, (1.0, 2.0), None)
    assert (found.listen, found.dlq_enabled, found.consumer_rate) == (HostPort("::1", 81), False, 2.0)
    assert found.delivery_allowed_networks == (IPv4Network("10.0.0.0/8"),)


def test_a_stronger_source_can_say_none() -> None:
    _write('admin_token = "of-the-file"\nexpire_after = "1h"')
    found = load(None, {"BROKER_ADMIN_TOKEN": "", "BROKER_EXPIRE_AFTER": "none"}, {})
    assert (found.admin_token, found.expire_after) == (None, None)


def test_the_file_given_goes_before_the_variable_and_that_before_the_folder() -> None:
    _write("max_hops = 1")
    named, given_file = _write("max_hops = 2", "named.toml"), _write("max_hops = 3", "given.toml")
    environ = {"BROKER_CONFIG": str(named)}
    assert load(None, {}, {}).max_hops == 1
    assert load(None, environ, {}).max_hops == 2
    assert load(given_file, environ, {}).max_hops == 3
    assert load(None, {"BROKER_CONFIG": "none"}, {}).max_hops == 20
    assert load(None, {"BROKER_CONFIG": ""}, {}).max_hops == 1


def test_all_problems_of_all_sources_come_at_once() -> None:
    _write('max_retries = 101\nlease = true\ncolour = "red"\n[database]\nurl = "x"')
    environ = {"BROKER_DLQ_CHUNK": "99", "BROKER_LISTN": "x", "BROKER_RETRY_BASE": "2m"}
    problems = _problems(None, environ, {"listen": "nowhere", "retry_cap": "1m"})
    assert [(problem.key, problem.source) for problem in problems] == [
        ("max_retries", "broker.toml"),
        ("lease", "broker.toml"),
        ("colour", "broker.toml"),
        ("database", "broker.toml"),
        ("dlq_chunk", "BROKER_DLQ_CHUNK"),
        ("BROKER_LISTN", "BROKER_LISTN"),
        ("listen", "--listen"),
        ("retry_base", "BROKER_RETRY_BASE"),
    ]


def test_the_error_lists_each_problem_on_its_line() -> None:
    unknown = Problem("BROKER_X", "BROKER_X", "is not a setting")
    error = ConfigError([Problem("lease", "--lease", "is odd"), unknown])
    assert str(error) == "lease (--lease): is odd\nBROKER_X: is not a setting"


@pytest.mark.parametrize(
    ("text", "environ", "options", "hint"),
    [
        ("max_retrys = 3", {}, {}, "is not a setting; did you mean max_retries?"),
        ("", {"BROKER_MAX_RETRYS": "3"}, {}, "is not a setting; did you mean BROKER_MAX_RETRIES?"),
        ("", {"BROKER_max_retries": "3"}, {}, "is not a setting"),
        ("", {}, {"max_retrys": "3"}, "is not a setting; did you mean --max-retries?"),
        ("xyzzy = 3", {}, {}, "is not a setting"),
    ],
)
def test_an_unknown_name_is_a_problem_with_a_hint(
    text: str, environ: dict[str, str], options: dict[str, object], hint: str
) -> None:
    [problem] = _problems(_write(text), environ, options)
    assert problem.message.startswith(hint)


def test_variables_of_ours_that_are_no_settings_are_left_alone() -> None:
    tokens = [f"BROKER_{whose}TOKEN" for whose in ("", "CHANNEL_", "PRODUCER_", "CONSUMER_")]
    others = ["BROKER_URL", "BROKER_TEST_DATABASE_URL", "BROKER_MYSQL_VERSION", "BROKERAGE", "MY_BROKER_X"]
    environ = dict.fromkeys(tokens + others, "x")
    assert load(None, environ, {}) == load(None, {}, {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        (b"max_retries = ", "is not TOML: Invalid value"),
        (b"broker_id = '\xff'", "is not TOML: 'utf-8"),
        (b"max_retries = 3\nmax_retries = 4", "is not TOML: Cannot overwrite"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_of_the_problems(content: bytes | None, message: str) -> None:
    if content is not None:
        Path("given.toml").write_bytes(content)
    file, other = _problems(Path("given.toml"), {"BROKER_LEASE": "soon"})
    assert (file.key, file.source, other.key) == ("config", "given.toml", "lease")
    assert file.message.startswith(message)


def test_a_folder_is_not_a_file_of_settings() -> None:
    [problem] = _problems(None, {"BROKER_CONFIG": os.curdir})
    assert problem == Problem("config", os.curdir, "cannot be read: Is a directory")


def test_a_file_with_a_byte_order_mark_is_read() -> None:
    Path("broker.toml").write_bytes(b"\xef\xbb\xbfmax_hops = 1")
    assert load(None, {}, {}).max_hops == 1


def test_settings_that_contradict_each_other_are_a_problem_with_its_source() -> None:
    [problem] = _problems(None, {"BROKER_CONNECT_TIMEOUT": "40"})
    message = "40s is longer than delivery_timeout, which is 30s"
    assert problem == Problem("connect_timeout", "BROKER_CONNECT_TIMEOUT", message)


def test_the_default_connect_timeout_keeps_within_a_shorter_delivery_timeout() -> None:
    found = load(None, {}, {"delivery_timeout": "2s"})
    assert (found.delivery_timeout, found.connect_timeout) == (2.0, 2.0)
    assert load(None, found.to_environment(), {}) == found


def test_a_contradiction_with_a_value_that_is_itself_wrong_is_not_reported() -> None:
    [problem] = _problems(_write("delivery_timeout = 2\nconnect_timeout = -1"))
    assert (problem.key, problem.message) == ("connect_timeout", "-1 is negative, and a duration cannot be")


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load(None, {}, {}).lease = 1.0  # type: ignore[misc]


def test_no_secret_and_no_password_is_shown() -> None:
    found = load(None, {}, {"database_url": "mysql+pymysql://u:hunter2@db/broker", **SECRETS})
    assert "hunter2" not in f"{found!r} {found} {found.masked()} {[found]}"
    assert found.masked()["admin_token"] == "***"
    assert found.masked()["database_url"] == "mysql+pymysql://u:***@db/broker"
    assert load(None, {}, {}).masked()["admin_token"] is None


def test_no_secret_is_in_a_problem() -> None:
    bad = {"admin_token": "hunter2 hunter2", "secret_key": "hunter2", "database_url": "pg://u:hunter2@db"}
    assert "hunter2" not in "\n".join(map(str, _problems(options=bad)))


def test_masked_is_ready_for_json() -> None:
    masked = load(None, {}, {"lease": "90s", "delivery_denied_networks": "10.0.0.0/8"}).masked()
    assert list(masked) == [one.key for one in SETTINGS]
    assert (masked["lease"], masked["delivery_denied_networks"]) == (90, ["10.0.0.0/8"])
    assert (masked["listen"], masked["prune_after"]) == ("127.0.0.1:8080", None)


ANY_VALUES = st.fixed_dictionaries({one.key: values_of(one) for one in SETTINGS})


@settings(max_examples=10)
@given(ANY_VALUES.filter(lambda values: not check_together(values)))
def test_the_environment_of_any_settings_gives_the_same_settings_again(values: dict[str, Any]) -> None:
    first = Settings(**values)
    environ = first.to_environment()
    assert load(None, {os.fsdecode(os.fsencode(k)): v for k, v in environ.items()}, {}) == first
    assert not any("\0" in text for text in environ.values())


def test_a_process_with_that_environment_ignores_the_files_it_finds() -> None:
    first = load(None, {}, {})
    _write("max_retries = 9\nthis is not TOML")
    assert load(None, first.to_environment(), {}) == first
