"""Whether there is anything to reap or to let expire: asked every second, so it locks nothing and opens nothing."""

from typing import NamedTuple

from broker.store.engine import Database


class Ends(NamedTuple):
    """Whether a lease has ended, and whether a job's life has."""

    leases: bool
    lives: bool


def ends_statement(sqlite: bool) -> str:
    """The first entry of each index alone. Indexes: lease_end, and the primary key of job_expiry."""
    now = "broker_now()" if sqlite else "NOW(6)"
    first = "COALESCE((SELECT MIN(expiresAt) FROM {}) <= {}, 0)"
    return f"SELECT {first.format('lease', now)}, {first.format('job_expiry', now)}"


def look_for_ends(database: Database) -> Ends:
    """By the database's clock."""
    ((leases, lives),) = database.look("look for ends", ends_statement(database.is_sqlite))
    return Ends(bool(leases), bool(lives))
