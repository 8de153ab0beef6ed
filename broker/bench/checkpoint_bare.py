"""The bare limit of a checkpoint: one transaction by the driver that locks the same rows, counts and updates them.

No named lock, no announcement, no history, no look for how many there are, no steps.
"""

from datetime import datetime, timedelta

from broker.bench.dlq_lots import Lots
from broker.bench.dlq_place import SETTLE_SECONDS, Ground
from broker.store.bulk import time_text
from broker.store.dead_tails import tails_of, within
from broker.store.moments import as_time


def count_and_update(ground: Ground) -> int:
    """Count the new dead of every consumer into its row; gives how many there were."""
    lots = ground.lots
    high, checked_at = _locked(lots)
    found = _counted(lots, checked_at, high)
    if found:
        cases = " ".join(f"WHEN {key} THEN {count}" for key, count in found.items())
        more = f"CASE consumerId {cases} ELSE 0 END"
        lots.run(f"UPDATE dlq_summary SET dead_count = dead_count + {more}, died_total = died_total + {more}")
    lots.run(f"UPDATE dlq_summary SET last_checked_at = '{time_text(high)}'")
    lots.connection.commit()
    return sum(found.values())


def _locked(lots: Lots) -> tuple[datetime, dict[int, datetime]]:
    """Every summary row, and the moment up to which is counted."""
    if lots.place.is_sqlite:
        lots.run("BEGIN IMMEDIATE")
    lock = "" if lots.place.is_sqlite else " FOR UPDATE"
    rows = lots.run(f"SELECT consumerId, last_checked_at FROM dlq_summary ORDER BY consumerId{lock}").fetchall()
    return lots.now() - timedelta(seconds=SETTLE_SECONDS), {row[0]: as_time(row[1]) for row in rows}


def _counted(lots: Lots, checked_at: dict[int, datetime], high: datetime) -> dict[int, int]:
    """By one range of job_dead for each consumer, waiting for those that are written and not yet committed."""
    share = "" if lots.place.is_sqlite else " LOCK IN SHARE MODE"
    where = within(tails_of(checked_at, high))
    query = f"SELECT consumerId, COUNT(*) FROM {lots.by_death} WHERE {where} GROUP BY consumerId{share}"
    return {row[0]: int(row[1]) for row in lots.run(query).fetchall()}
