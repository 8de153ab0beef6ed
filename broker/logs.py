"""Logging: one line an event, to standard error."""

import logging
import time


def configure_logging(level: str) -> None:
    """Times in UTC, the level by setting."""
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(
        level=level.upper(),
        format="%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )
