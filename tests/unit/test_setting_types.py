"""Each kind of setting reads what people write, in text and typed, and refuses the rest with a sentence."""

import pytest

from broker.domain.setting import Setting
from broker.domain.setting_addresses import HostPort
from broker.domain.settings import BY_KEY, SETTINGS

OPTIONAL = [one for one in SETTINGS if one.optional]


@pytest.mark.parametrize("setting", OPTIONAL, ids=lambda one: one.key)
def test_none_off_and_empty_mean_none_where_that_is_allowed(setting: Setting) -> None:
    assert [setting.parse_text(text) for text in ("none", "off", "", " None ")] == [None] * 4
    assert [setting.parse_native(text) for text in ("none", "off")] == [None] * 2


@pytest.mark.parametrize("key", ["max_retries", "lease", "broker_id", "retry_schedule", "listen"])
def test_empty_is_refused_where_there_must_be_a_value(key: str) -> None:
    with pytest.raises(ValueError, match=r"is not|cannot be empty"):
        BY_KEY[key].parse_text("")


READ_AS_TEXT = [
    ("listen", "0.0.0.0:0", HostPort("0.0.0.0", 0)),
    ("listen", "[::1]:8080", HostPort("::1", 8080)),
    ("listen", "[0:0::1]:80", HostPort("::1", 80)),
    ("listen", "broker.example:65535", HostPort("broker.example", 65_535)),
    ("dlq_enabled", "No", False),
    ("dlq_enabled", "on", True),
    ("dlq_enabled", "1", True),
    ("log_level", "INFO", "info"),
    ("max_retries", " 7 ", 7),
    ("max_payload_bytes", "2_000_000", 2_000_000),
    ("consumer_rate", "0.5", 0.5),
    ("delivery_denied_networks", "none", ()),
    ("delivery_denied_networks", "", ()),
    ("retry_schedule", "5s, 1m,2h", (5, 60, 7_200)),
    ("database_url", "mysql+pymysql://u:p@h/d", "mysql+pymysql://u:p@h/d"),
]
REFUSED_AS_TEXT = [
    ("listen", "8080"),
    ("listen", ":8080"),
    ("listen", "host:"),
    ("listen", "host:65536"),
    ("listen", "host:-1"),
    ("listen", "::1:8080"),
    ("listen", "[host]:80"),
    ("listen", "[::zz]:80"),
    ("listen", "999.1.1.1:80"),
    ("listen", "a b:80"),
    ("dlq_enabled", "maybe"),
    ("max_retries", "3.5"),
    ("max_retries", "many"),
    ("retry_jitter", "nan"),
    ("retry_jitter", "much"),
    ("consumer_rate", "0"),
    ("consumer_rate", "inf"),
    ("retry_schedule", "5s,,6s"),
    ("retry_schedule", ",".join(["1s"] * 51)),
    ("delivery_allowed_networks", "10.0.0.1/8"),
    ("delivery_denied_networks", "example.org"),
    ("database_url", "postgresql://h/d"),
    ("database_url", "mysql://h/d"),
    ("database_url", "var/broker.db"),
    ("broker_id", "a/b"),
    ("dead_channel", ".."),
    ("admin_token", "two words"),
    ("admin_token", "pässword"),
    ("secret_key", "too-short"),
    ("dead_channel_template", "dlq.{consumer}"),
    ("dead_channel_template", "dlq.{}"),
    ("dead_channel_template", "dlq.{consumer_id"),
    ("dead_channel_template", "dlq.{consumer_id!r}"),
    ("dead_channel_template", "dlq.{consumer_id:>9}"),
    ("dead_channel_template", "dlq.{consumer_id.__class__}"),
    ("dead_channel_template", "dlq/{consumer_id}"),
]
REFUSED_NATIVE = [
    ("max_retries", "3"),
    ("max_retries", True),
    ("max_retries", 3.5),
    ("max_retries", float("nan")),
    ("retry_jitter", "0.5"),
    ("retry_jitter", True),
    ("dlq_enabled", 1),
    ("dlq_enabled", "true"),
    ("lease", True),
    ("lease", [60]),
    ("retry_policy", "AUTO"),
    ("retry_policy", ["auto"]),
    ("retry_schedule", "5s"),
    ("retry_schedule", []),
    ("retry_schedule", [5, True]),
    ("delivery_allowed_networks", "10.0.0.0/8"),
    ("delivery_allowed_networks", [10]),
    ("listen", 8080),
    ("broker_id", 7),
    ("database_url", {"host": "h"}),
    ("admin_token", ""),
]


@pytest.mark.parametrize(("key", "text", "value"), READ_AS_TEXT)
def test_text_is_read_as_people_write_it(key: str, text: str, value: object) -> None:
    assert BY_KEY[key].parse_text(text) == value


@pytest.mark.parametrize(("key", "text"), REFUSED_AS_TEXT)
def test_text_that_means_nothing_is_refused(key: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        BY_KEY[key].parse_text(text)


@pytest.mark.parametrize(("key", "raw"), REFUSED_NATIVE)
def test_a_typed_value_of_another_type_is_refused(key: str, raw: object) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        BY_KEY[key].parse_native(raw)


def test_a_whole_number_may_be_written_with_a_fraction_of_zero() -> None:
    value = BY_KEY["max_retries"].parse_native(3.0)
    assert (value, type(value)) == (3, int)


def test_networks_are_networks_of_both_families() -> None:
    value = BY_KEY["delivery_allowed_networks"].parse_text("10.0.0.0/8, fd00::/8 192.0.2.1")
    assert [str(one) for one in value] == ["10.0.0.0/8", "fd00::/8", "192.0.2.1/32"]


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("sqlite:///var/a:b@c.db", "sqlite:///var/a:b@c.db"),
        ("mysql+pymysql://u@h:3306/d", "mysql+pymysql://u@h:3306/d"),
        ("mysql+pymysql://u:s3cret@h:3306/d", "mysql+pymysql://u:***@h:3306/d"),
        ("mysql+pymysql://u:s3/c:r@et@h/d", "mysql+pymysql://u:***@h/d"),
        ("mysql+pymysql://u@h/d?password=s3cret&x=1", "mysql+pymysql://u@h/d?password=***&x=1"),
    ],
)
def test_the_password_in_the_database_url_is_masked(url: str, masked: str) -> None:
    assert BY_KEY["database_url"].masked(BY_KEY["database_url"].parse_text(url)) == masked


@pytest.mark.parametrize(("key", "raw"), [("admin_token", "hunter2 x"), ("database_url", "pg://u:hunter2@h")])
def test_a_refusal_never_quotes_a_secret(key: str, raw: str) -> None:
    with pytest.raises(ValueError, match=r"\w+") as refusal:
        BY_KEY[key].parse_text(raw)
    assert "hunter2" not in str(refusal.value)


def test_a_secret_is_shown_as_a_mask_and_its_absence_as_none() -> None:
    token = BY_KEY["admin_token"]
    assert (token.masked("hunter2"), token.shown("hunter2")) == ("***", "***")
    assert (token.masked(None), token.shown(None)) == (None, "none")
