"""What creating or changing a registry entry has in common."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from broker.domain.changes import Change
from broker.domain.overrides import check_overrides
from broker.domain.registry import Overrides
from broker.domain.tokens import hash_token, make_token
from broker.store.engine import Duplicate

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Saved(Generic[T]):
    """The entry as it now stands, and the secrets that were made for it: they are shown this once."""

    entry: T
    made: Mapping[str, str] = field(default_factory=dict)


def save(attempt: Callable[[], Saved[T]]) -> Saved[T]:
    """Another caller may create the same id in between: then the second try finds it there."""
    try:
        return attempt()
    except Duplicate:
        return attempt()


def token_columns(change: Change, is_new: bool, made: dict[str, str]) -> dict[str, Any]:
    """The token's hash when one was given, or had to be made."""
    token = change.get("token")
    if token is None and is_new:
        token = made["token"] = make_token()
    return {} if token is None else {"tokenHash": hash_token(str(token))}


def given_columns(change: Change, *names: str) -> dict[str, Any]:
    """The fields that were given, under their own names."""
    return {name: change.fields[name] for name in names if name in change.fields}


def settings_column(change: Change, stored: Overrides) -> dict[str, Any]:
    """Overrides laid over the stored ones; None takes one away."""
    if not change.overrides:
        return {}
    merged = {key: value for key, value in {**stored, **change.overrides}.items() if value is not None}
    check_overrides(merged)
    return {"settings": json.dumps(merged)}
