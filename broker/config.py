"""The settings of one broker: defaults < TOML < `BROKER_…` environment < options; every problem at once."""

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from broker.domain.setting import NONE, Setting
from broker.domain.setting_addresses import HostPort, Network
from broker.domain.setting_types import JsonValue
from broker.domain.settings import BY_KEY, SETTINGS, check_together

CONFIG_VARIABLE = "BROKER_CONFIG"
DEFAULT_FILE = "broker.toml"
DEFAULT_SOURCE = "default"
_PREFIX = "BROKER_"
_CREDENTIALS = ("TOKEN", "CHANNEL_TOKEN", "PRODUCER_TOKEN", "CONSUMER_TOKEN")
_OTHER_VARIABLES = frozenset(
    {CONFIG_VARIABLE, "BROKER_URL", "BROKER_SUPERVISOR_PID", *(_PREFIX + name for name in _CREDENTIALS)}
)
_OTHER_PREFIXES = ("BROKER_TEST_", "BROKER_MYSQL_")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: with which setting, where it was given, and why."""

    key: str
    source: str
    message: str

    def __str__(self) -> str:
        where = "" if self.key == self.source else f" ({self.source})"
        return f"{self.key}{where}: {self.message}"


class ConfigError(Exception):
    """The settings cannot be used; has every problem of every source."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass(frozen=True)
class Explained:
    """A setting's value and the source that decided it."""

    key: str
    value: Any
    source: str


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Settings:
    """Every setting, typed; the fields are those of the table, in its order."""

    database_url: str
    database_pool: int
    listen: HostPort
    metrics_listen: HostPort | None
    http_workers: int | None
    http_threads: int | None
    admin_token: str | None
    monitor_token: str | None
    secret_key: str | None
    broker_id: str
    log_level: str
    max_payload_bytes: int
    schedule_min_ahead: float
    retry_policy: str
    max_retries: int
    retry_base: float | None
    retry_cap: float | None
    retry_schedule: tuple[float, ...]
    retry_jitter: float
    delivery_timeout: float
    connect_timeout: float
    delivery_workers: int | None
    delivery_concurrency: int
    consumer_concurrency: int
    consumer_rate: float | None
    delivery_allowed_networks: tuple[Network, ...]
    delivery_denied_networks: tuple[Network, ...]
    delivery_ca: str | None
    reads_success: bool
    consumer_token_header: str | None
    lease: float
    breaker_threshold: int
    breaker_open: float
    expire_after: float | None
    max_hops: int
    retry_processor_enabled: bool
    retry_interval: float
    dlq_enabled: bool
    dlq_strategy: str
    dead_letter_mode: str
    dead_channel: str | None
    dead_channel_template: str
    dlq_max_size: int
    dlq_full_policy: str
    dlq_summary_interval: float
    dlq_settle: float
    dlq_chunk: int
    dlq_archive_after: float | None
    dlq_undo_grace: float
    quarantine_after: int
    prune_after: float | None

    def to_environment(self) -> dict[str, str]:
        """Variables that make another process load exactly these settings, whatever files it finds."""
        values = {one.environment_name: one.to_text(getattr(self, one.key)) for one in SETTINGS}
        return {CONFIG_VARIABLE: NONE, **values}

    def masked(self) -> dict[str, JsonValue]:
        """Every value as it may be shown: no secret, no password."""
        return {one.key: one.masked(getattr(self, one.key)) for one in SETTINGS}

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{key}={value!r}' for key, value in self.masked().items())})"


def load(config_file: Path | None, environ: Mapping[str, str], options: Mapping[str, object]) -> Settings:
    """The settings that apply; raises ConfigError with every problem."""
    return Settings(**{one.key: one.value for one in explain(config_file, environ, options)})


def explain(config_file: Path | None, environ: Mapping[str, str], options: Mapping[str, object]) -> list[Explained]:
    """Each setting's value and where it came from, in the table's order; raises ConfigError."""
    reading = _Reading()
    reading.read_file(find_file(config_file, environ))
    reading.read_environment(environ)
    reading.read_options(options)
    return reading.finish()


def find_file(config_file: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read: the one given, else the variable's (`none`: no file), else broker.toml if there."""
    named = environ.get(CONFIG_VARIABLE, "")
    if config_file is not None or named:
        return config_file or (None if named == NONE else Path(named))
    return Path(DEFAULT_FILE) if Path(DEFAULT_FILE).exists() else None


@dataclass(frozen=True)
class _Source:
    """How a kind of source spells the settings and reads their values."""

    known: Mapping[str, Setting]
    parse: Callable[[Setting, Any], Any]


def _parse_given(setting: Setting, raw: object) -> Any:
    return setting.parse_text(raw) if isinstance(raw, str) else setting.parse_native(raw)


_FILE = _Source(BY_KEY, Setting.parse_native)
_ENVIRONMENT = _Source({one.environment_name: one for one in SETTINGS}, _parse_given)
_OPTIONS = _Source({one.option_name: one for one in SETTINGS}, _parse_given)


class _Reading:
    """What the sources said so far: the value that wins for each key, and all problems."""

    def __init__(self) -> None:
        self._found = {one.key: Explained(one.key, one.default, DEFAULT_SOURCE) for one in SETTINGS}
        self._problems: list[Problem] = []

    def read_file(self, path: Path | None) -> None:
        """A flat TOML file of keys."""
        for key, raw in self._parsed(path).items() if path else ():
            self._take(_FILE, key, str(path), raw)

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Every BROKER_ variable must be a setting, unless something else of ours goes by its name."""
        for name in sorted(filter(_is_setting_variable, environ)):
            self._take(_ENVIRONMENT, name, name, environ[name])

    def read_options(self, options: Mapping[str, object]) -> None:
        """Options of the command line by key; None is one that was not given."""
        for key, raw in options.items():
            name = "--" + key.replace("_", "-")
            if raw is not None:
                self._take(_OPTIONS, name, name, raw)

    def finish(self) -> list[Explained]:
        """The values, when there is no problem in any of them or between them."""
        self._shorten_default_connect_timeout()
        bad = {problem.key for problem in self._problems}
        values = {key: one.value for key, one in self._found.items() if key not in bad}
        for field, message in check_together(values):
            self._problems.append(Problem(field, self._found[field].source, message))
        if self._problems:
            raise ConfigError(self._problems)
        return list(self._found.values())

    def _shorten_default_connect_timeout(self) -> None:
        """Someone who asks for short deliveries should not have to say it twice."""
        connect, delivery = self._found["connect_timeout"], self._found["delivery_timeout"]
        if connect.source == DEFAULT_SOURCE and connect.value > delivery.value:
            self._found[connect.key] = replace(connect, value=delivery.value)

    def _parsed(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_text("utf-8-sig"))
        except OSError as error:
            self._problems.append(Problem("config", str(path), f"cannot be read: {error.strerror}"))
        except ValueError as error:
            self._problems.append(Problem("config", str(path), f"is not TOML: {error}"))
        return {}

    def _take(self, source: _Source, name: str, label: str, raw: Any) -> None:
        setting = source.known.get(name)
        try:
            if setting is None:
                raise ValueError(f"is not a setting{_similar(name, source.known)}")
            self._found[setting.key] = Explained(setting.key, source.parse(setting, raw), label)
        except ValueError as refusal:
            self._problems.append(Problem(setting.key if setting else name, label, str(refusal)))


def _is_setting_variable(name: str) -> bool:
    ours = name.startswith(_PREFIX) and not name.startswith(_OTHER_PREFIXES)
    return ours and name not in _OTHER_VARIABLES


def _similar(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
