"""Options of the test servers that MariaDB and MySQL spell alike."""

SMALL = ("--skip-name-resolve", "--innodb-buffer-pool-size=256M", "--max-connections=400")
DURABLE = ("--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1")
FAST = ("--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--innodb-doublewrite=0")


def common_options(fast: bool) -> tuple[str, ...]:
    """A small server; a fast one may lose its last commits when it is killed, which most tests never do."""
    return (*SMALL, *(FAST if fast else DURABLE))
