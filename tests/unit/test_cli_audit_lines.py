"""What an audit tells people."""

from typing import Any

import pytest

from broker.cli.dlq_tables import audit_lines

OFF = {"channelId": "orders", "consumerId": "billing", "stored": 5, "real": 4, "drift": 1, "repaired": False}
GONE = {"channelId": None, "consumerId": None, "checkpointAt": "2030-01-31T12:00:00.000000Z", "expected": 3, "found": 2}


@pytest.mark.parametrize(
    ("findings", "broken", "told"),
    [
        ([], [], ["all exact."]),
        ([OFF], [], ["orders/billing: the summary says 5 dead, 4 are: off by 1", "1 off."]),
        (
            [OFF, {**OFF, "repaired": True}],
            [],
            [
                "orders/billing: the summary says 5 dead, 4 are: off by 1",
                "orders/billing: the summary says 5 dead, 4 are: repaired",
                "1 off, 1 repaired.",
            ],
        ),
        (
            [],
            [GONE],
            [
                "a consumer that is deleted: the history at 2030-01-31T12:00:00.000000Z does not balance:"
                " should say 3, says 2",
                "1 lines of history that do not balance.",
            ],
        ),
    ],
)
def test_what_is_off_has_a_line_each(findings: list[Any], broken: list[Any], told: list[str]) -> None:
    *lines, total = audit_lines({"consumers": 7, "dead": 9, "findings": findings, "broken": broken})
    assert [*lines, total] == [*told[:-1], f"7 consumers, 9 counted dead, {told[-1]}"]
