"""Every setting there is, once: configuration, overrides and documentation derive from this table."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from broker.domain.durations import format_duration
from broker.domain.errors import FieldProblem
from broker.domain.setting import Setting
from broker.domain.setting_addresses import DatabaseUrl, HostPort, Listen, Networks
from broker.domain.setting_texts import Certificates, HeaderName, PublicId, Template, Token
from broker.domain.setting_times import Duration, Durations
from broker.domain.setting_types import Choice, Flag, Integer, Kind, Number

_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0
_WEEK, _MONTH, _YEARS = 7 * _DAY, 30 * _DAY, 3_650 * _DAY
_TIMEOUT = Duration(0.001, _HOUR)
_PARALLEL = Integer(1, 10_000)
_AGE = Duration(_MINUTE, _YEARS)
_POLICIES = Choice(("auto", "exponential", "linear", "fixed", "immediate", "schedule", "never"))
_STRATEGIES = Choice(("automatic", "selective", "manual", "disabled"))
_MODES = Choice(("retain", "move", "discard"))
_FULL_POLICIES = Choice(("alert", "reject", "archive_oldest"))
_LEVELS = Choice(("debug", "info", "warning", "error"))


def _broker(key: str, default: Any, kind: Kind[Any], about: str) -> Setting:
    """One value for the whole broker; a default of None means that it can be none."""
    return Setting(key, default, kind, about, optional=default is None)


def _local(key: str, default: Any, kind: Kind[Any], about: str) -> Setting:
    """Channel and consumer may have their own value; a default of None means that it can be none."""
    return Setting(key, default, kind, about, optional=default is None, overridable=True)


def _secret(key: str, kind: Kind[Any], about: str) -> Setting:
    """Never shown; none unless given."""
    return Setting(key, None, kind, about, optional=True, secret=True)


SETTINGS: tuple[Setting, ...] = (
    _broker("database_url", "sqlite:///var/broker.db", DatabaseUrl(), "where the database is"),
    _broker("database_pool", 10, Integer(1, 256), "database connections of one process"),
    _broker("listen", HostPort("127.0.0.1", 8080), Listen(), "where the HTTP server listens"),
    _broker("metrics_listen", None, Listen(), "where what serves no API shows metrics and health; none: nowhere"),
    _broker("http_workers", None, Integer(1, 64), "serving processes; none: by cores"),
    _broker("http_threads", None, Integer(1, 512), "threads of one serving process; none: by cores"),
    _secret("admin_token", Token(), "opens management calls; none: open to loopback only"),
    _secret("monitor_token", Token(), "opens monitoring calls; none: open to all"),
    _secret("secret_key", Token(shortest=16), "encrypts signing secrets at rest; none: not encrypted"),
    _broker("broker_id", "broker", PublicId(), "names this installation"),
    _broker("log_level", "info", _LEVELS, "the least serious event that is logged"),
    _broker("max_payload_bytes", 5_000_000, Integer(1_000, 16_000_000), "the largest payload accepted"),
    _broker("schedule_min_ahead", 0.0, Duration(0, _MONTH), "scheduling closer than this is refused"),
    _local("retry_policy", "auto", _POLICIES, "how the delay before the next retry is found"),
    _local("max_retries", 3, Integer(-1, 100), "retries after the first delivery; -1: unlimited"),
    _local("retry_base", None, Duration(0, _WEEK), "the delay that the policy starts from; none: by policy"),
    _local("retry_cap", None, Duration(1, _MONTH), "the longest delay; none: by policy"),
    _local("retry_schedule", (5.0, 30.0, 60.0), Durations(Duration(0, _WEEK)), "delays of policy schedule"),
    _local("retry_jitter", 0.0, Number(0, 1), "random share that is added to a delay"),
    _local("delivery_timeout", 30.0, _TIMEOUT, "the longest that a whole delivery may take"),
    _local("connect_timeout", 5.0, _TIMEOUT, "the longest that connecting may take, within delivery_timeout"),
    _broker("delivery_workers", None, Integer(1, 64), "delivering processes; none: by cores"),
    _broker("delivery_concurrency", 256, _PARALLEL, "deliveries at the same time in one process"),
    _local("consumer_concurrency", 64, _PARALLEL, "deliveries at the same time to one consumer"),
    _local("consumer_rate", None, Number(0.001, 1_000_000), "deliveries a second; none: no limit"),
    _broker("delivery_allowed_networks", (), Networks(), "networks that may be called though not public"),
    _broker("delivery_denied_networks", (), Networks(), "networks that are never called, public or not"),
    _local("delivery_ca", None, Certificates(), "authorities that deliveries trust, in PEM; none: the system's"),
    _local("reads_success", False, Flag(), "whether a body with success: false is an answered failure"),
    Setting(
        "consumer_token_header",
        "X-Broker-Consumer-Token",
        HeaderName(),
        "carries a consumer's token; none: not sent",
        optional=True,
    ),
    _local("lease", 60.0, Duration(1, 12 * _HOUR), "how long claimed work belongs to its claimer"),
    _local("breaker_threshold", 5, Integer(0, 1_000), "failures in a row that open the breaker; 0: off"),
    _local("breaker_open", 60.0, Duration(1, _DAY), "how long the breaker stays open before a probe"),
    _local("expire_after", None, Duration(1, _YEARS), "age at which an undelivered job dies; none: never"),
    _broker("max_hops", 20, Integer(0, 1_000), "hops after which a message's jobs are dead; 0: off"),
    _broker("retry_processor_enabled", True, Flag(), "whether failed jobs are retried by this broker"),
    _broker("retry_interval", 60.0, Duration(10, _HOUR), "the longest the engine sleeps when nothing is due"),
    _broker("dlq_enabled", True, Flag(), "whether dead jobs are kept at all"),
    _local("dlq_strategy", "automatic", _STRATEGIES, "which dead jobs are kept"),
    _local("dead_letter_mode", "retain", _MODES, "where dead jobs go"),
    _local("dead_channel", None, PublicId(), "the channel that dead jobs move to; none: by template"),
    _broker("dead_channel_template", "dlq.{broker_id}.{consumer_id}", Template(), "names a new dead channel"),
    _local("dlq_max_size", 10_000, Integer(0, 1_000_000_000), "dead jobs that are 100 % use; 0: no limit"),
    _local("dlq_full_policy", "alert", _FULL_POLICIES, "what happens when the dead jobs are too many"),
    _broker("dlq_summary_interval", 600.0, Duration(1, _DAY), "time between two checkpoints of the summary"),
    _broker("dlq_settle", 30.0, Duration(0.1, _HOUR), "how far a checkpoint stays behind the present"),
    _broker("dlq_chunk", 5_000, Integer(100, 50_000), "rows of one transaction of bulk work"),
    _broker("dlq_archive_after", None, _AGE, "age at which dead jobs are archived; none: never"),
    _broker("dlq_undo_grace", _DAY, Duration(0, _YEARS), "how long a purge can be undone"),
    _broker("quarantine_after", 3, Integer(0, 1_000), "deaths after replay that quarantine a job; 0: off"),
    _broker("prune_after", None, _AGE, "age at which delivered and archived jobs are removed; none: never"),
)
BY_KEY: Mapping[str, Setting] = MappingProxyType({setting.key: setting for setting in SETTINGS})

_NOT_LONGER = (("retry_base", "retry_cap"), ("connect_timeout", "delivery_timeout"))


def overridable() -> tuple[Setting, ...]:
    """What channel and consumer may override by value; the dead channel is a reference and handled as one."""
    return tuple(one for one in SETTINGS if one.overridable and one.key != "dead_channel")


def check_together(values: Mapping[str, Any], name: Callable[[str], str] = str) -> list[FieldProblem]:
    """Rules between settings; what is absent or none is not judged. `name` spells a key for the reader."""
    longer = [pair for pair in _NOT_LONGER if _is_longer(values, *pair)]
    return [_too_long(values, less, more, name) for less, more in longer]


def _is_longer(values: Mapping[str, Any], less: str, more: str) -> bool:
    both = (values.get(less), values.get(more))
    return all(isinstance(one, int | float) for one in both) and values[less] > values[more]


def _too_long(values: Mapping[str, Any], less: str, more: str, name: Callable[[str], str]) -> FieldProblem:
    shorter, longer = format_duration(values[more]), format_duration(values[less])
    return FieldProblem(name(less), f"{longer} is longer than {name(more)}, which is {shorter}")
