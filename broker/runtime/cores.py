"""How many hands fit this machine."""

import os


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def http_workers(wanted: int | None, one_writer: bool) -> int:
    """Processes that serve: as many as cores, at most four; one where the database has one writer anyway."""
    if wanted is not None:
        return wanted
    return 1 if one_writer else min(4, usable_cores())


def http_threads(wanted: int | None) -> int:
    """Threads of one serving process: most of them wait for a commit that they share."""
    return 32 if wanted is None else wanted


def engine_workers(wanted: int | None, one_writer: bool) -> int:
    """Processes that deliver: as many as cores, at most four; one where the database has one writer anyway."""
    return http_workers(wanted, one_writer)
