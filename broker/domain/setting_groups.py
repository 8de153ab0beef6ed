"""The settings in groups, for people: a group runs from the key it begins with to the next one."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from broker.domain.setting import Setting
from broker.domain.settings import SETTINGS

_TITLES = {
    "database_url": "Database",
    "listen": "Serving",
    "admin_token": "Secrets",
    "broker_id": "This installation",
    "max_payload_bytes": "Publishing",
    "retry_policy": "Retrying",
    "delivery_timeout": "Delivering",
    "expire_after": "How long a job lives",
    "dlq_enabled": "Dead letters",
    "dlq_summary_interval": "Counting and keeping the dead",
}


class Group(NamedTuple):
    """Settings that belong together."""

    title: str
    settings: tuple[Setting, ...]


def groups() -> Iterator[Group]:
    """All settings, in the table's order."""
    keys = [one.key for one in SETTINGS]
    starts = [*(keys.index(key) for key in _TITLES), len(keys)]
    for title, (start, end) in zip(_TITLES.values(), pairwise(starts), strict=True):
        yield Group(title, SETTINGS[start:end])
