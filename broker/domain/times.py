"""Times as text: RFC 3339, UTC, microseconds."""

import re
from datetime import UTC, datetime

from broker.domain.errors import Invalid

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
EARLIEST, LATEST = datetime(1970, 1, 2, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def parse_time(field: str, text: str) -> datetime:
    """A moment with its offset; digits beyond microseconds are dropped."""
    try:
        if not _RFC_3339.fullmatch(text):
            raise ValueError
        moment = datetime.fromisoformat(_six_digits(text.upper())).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid.field(field, "must be an RFC 3339 time like 2030-01-31T12:00:00Z") from None
    if not EARLIEST <= moment <= LATEST:
        raise Invalid.field(field, "must be between the years 1970 and 9999")
    return moment


def show_time(moment: datetime) -> str:
    """RFC 3339 in UTC with microseconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _six_digits(text: str) -> str:
    return re.sub(r"\.(\d{6})\d+", r".\1", text)
