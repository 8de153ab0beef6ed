"""Requests that are more than a server reads at once."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from broker.cli.backend import Json
from broker.domain.errors import BrokerError, TooLarge

T = TypeVar("T")


def in_halves(send: Callable[[Sequence[Json]], list[T | BrokerError]], items: Sequence[Json]) -> list[T | BrokerError]:
    """In one request; when that is too large, in two halves. One item that is too large alone is refused."""
    try:
        return send(items)
    except TooLarge as refusal:
        if len(items) == 1:
            return [refusal]
    half = len(items) // 2
    return [*in_halves(send, items[:half]), *in_halves(send, items[half:])]
