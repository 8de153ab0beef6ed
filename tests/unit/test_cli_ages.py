"""How long ago something was, as tables tell it."""

from datetime import UTC, datetime

import pytest

from broker.cli.dlq_tables import age

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "told"),
    [
        (None, None),
        ("2030-01-31T12:00:00Z", "0s"),
        ("2030-01-31T12:00:05Z", "0s"),
        ("2030-01-31T11:59:59.500000Z", "0s"),
        ("2030-01-31T11:59:18Z", "42s"),
        ("2030-01-31T11:58:00Z", "2m"),
        ("2030-01-31T11:57:55Z", "2m 5s"),
        ("2030-01-31T10:00:00Z", "2h"),
        ("2030-01-31T09:59:55Z", "2h"),
        ("2030-01-31T09:30:00Z", "2h 30m"),
        ("2030-01-29T11:59:00Z", "2d"),
        ("2030-01-29T07:00:00Z", "2d 5h"),
        ("2028-01-31T12:00:00Z", "731d"),
    ],
)
def test_an_age_has_two_units_at_most(moment: str | None, told: str | None) -> None:
    assert age(moment, NOW) == told
