"""A dashboard held against the types that Grafana generates from its own schemas: `grafana-foundation-sdk`."""

import json
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, ForwardRef, Union, get_args, get_origin, get_type_hints

PACKAGE = "grafana_foundation_sdk"


def problems(dashboard: dict[str, Any]) -> list[str]:
    """Keys that Grafana does not know, and values that are not of their type; panels' options and queries too."""
    import_module(f"{PACKAGE}.cog.plugins").register_default_plugins()
    typed = import_module(f"{PACKAGE}.models.dashboard").Dashboard.from_json(dashboard)
    encoder = import_module(f"{PACKAGE}.cog.encoder").JSONEncoder
    kept = json.loads(json.dumps(typed, cls=encoder))
    return [*_lost(dashboard, kept, "dashboard"), *_misfits(typed, type(typed), "dashboard")]


def _lost(given: Any, kept: Any, place: str) -> Iterator[str]:
    """What the types have no place for is not there any more after they took it over; defaults may have been added."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            if key in kept:
                yield from _lost(value, kept[key], f"{place}.{key}")
            else:
                yield f"{place}.{key} is not known"
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for number, (one, other) in enumerate(zip(given, kept, strict=True)):
            yield from _lost(one, other, f"{place}[{number}]")
    elif given != kept:
        yield f"{place} became {kept!r}"


def _misfits(value: Any, hint: Any, place: str) -> Iterator[str]:
    """Values that their type does not allow."""
    assert not isinstance(hint, ForwardRef | str), f"the type of {place} was not found"
    origin = get_origin(hint)
    if origin in {Union, UnionType}:
        yield from _one_of(value, get_args(hint), place)
    elif _is_ours(type(value)) and (hint in {object, Any} or isinstance(value, hint)):
        for name, inner in get_type_hints(type(value)).items():
            yield from _misfits(getattr(value, name), inner, f"{place}.{name}")
    elif origin in {list, dict} and isinstance(value, origin):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in entries:
            yield from _misfits(one, get_args(hint)[-1], f"{place}[{key}]")
    elif not _fits(value, hint, origin):
        yield f"{place} is {value!r}, not {hint}"


def _one_of(value: Any, hints: tuple[Any, ...], place: str) -> Iterator[str]:
    """Of several types the one that has the least against it."""
    if value is None and NoneType in hints:
        return
    nearest = [hint for hint in hints if hint is type(value)] or [hint for hint in hints if hint is not NoneType]
    yield from min((list(_misfits(value, hint, place)) for hint in nearest), key=len)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(PACKAGE) and not issubclass(kind, Enum)


def _fits(value: Any, hint: Any, origin: Any) -> bool:
    if hint in {object, Any}:
        return True
    if origin is not None:
        return str(origin) == "typing.Literal" and value in get_args(hint)
    if issubclass(hint, Enum):
        return value in {one.value for one in hint} or value in set(hint)
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
