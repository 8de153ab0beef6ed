"""What a message, channel or consumer sets for itself: read from JSON, stored by key, resolved over the broker's."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.setting import Setting, camel_case
from broker.domain.setting_types import Integer, JsonValue
from broker.domain.settings import BY_KEY, check_together, overridable

_FIELDS = {setting.json_name: setting for setting in overridable()}
_ATTEMPTS = replace(BY_KEY["max_retries"], kind=Integer(0, 100))
_RETRY_FIELDS = {"attempts": _ATTEMPTS, "cooldown": BY_KEY["retry_base"]}
_RETRY_KEYS = ("retry_policy", "max_retries", "retry_base")
_OF_MESSAGES = frozenset({"retry", *(name for name in _FIELDS if name.startswith("retry")), "maxRetries"})


def parse_overrides(raw: Mapping[str, object], problems: list[FieldProblem]) -> dict[str, JsonValue]:
    """Values to store by key, None to inherit again (the word `none` is a value); appends every problem."""
    flat = {name: value for name, value in raw.items() if name != "retry"}
    stored = _parse_fields(flat, _FIELDS, "", problems)
    if "retry" in raw:
        problems.extend(_conflicts(raw))
        stored |= _parse_retry_block(raw["retry"], problems)
    problems.extend(check_together(stored, camel_case))
    return stored


def parse_message_overrides(raw: object, field: str = "overrides") -> dict[str, JsonValue] | None:
    """What a message sets for its own retries, by key; None for nothing. Raises Invalid that names what is wrong."""
    if not isinstance(raw, Mapping):
        raise Invalid.field(field, "must be an object of retry settings")
    problems = [FieldProblem(name, "is not a retry setting") for name in raw if name not in _OF_MESSAGES]
    stored = parse_overrides({name: value for name, value in raw.items() if name in _OF_MESSAGES}, problems)
    if problems:
        raise Invalid([FieldProblem(f"{field}.{one.field}", one.message) for one in problems])
    return {key: value for key, value in stored.items() if value is not None} or None


def check_overrides(stored: Mapping[str, JsonValue]) -> None:
    """Rules between overrides that were not all given in one call."""
    problems = check_together(stored, camel_case)
    if problems:
        raise Invalid(problems)


def overrides_to_json(stored: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The overrides that are set, named as in JSON, in the table's order."""
    return {one.json_name: stored[one.key] for one in overridable() if stored.get(one.key) is not None}


def resolve(key: str, default: Any, *layers: Mapping[str, JsonValue]) -> Any:
    """The value that applies: of the first layer that sets it (message, consumer, channel), else the default."""
    for layer in layers:
        if layer.get(key) is not None:
            return BY_KEY[key].parse_native(layer[key])
    return default


def levels(setting: Setting) -> tuple[str, ...]:
    """Who may have an own value of it, the one that decides first; nobody but the broker where there is none."""
    own = ("consumer", "channel") if setting.overridable else ()
    return ("message", *own) if own and setting.json_name in _OF_MESSAGES else own


def _parse_fields(
    raw: Mapping[str, object], fields: Mapping[str, Setting], prefix: str, problems: list[FieldProblem]
) -> dict[str, JsonValue]:
    stored: dict[str, JsonValue] = {}
    for name, value in raw.items():
        try:
            setting = _known(fields, name)
            stored[setting.key] = _stored(setting, value)
        except ValueError as refusal:
            problems.append(FieldProblem(prefix + name, str(refusal)))
    return stored


def _known(fields: Mapping[str, Setting], name: str) -> Setting:
    if name not in fields:
        raise ValueError("is not a known field")
    return fields[name]


def _stored(setting: Setting, value: object) -> JsonValue:
    return None if value is None else setting.to_json(setting.parse_native(value))


def _conflicts(raw: Mapping[str, object]) -> list[FieldProblem]:
    names = [camel_case(key) for key in _RETRY_KEYS]
    return [FieldProblem(name, "cannot be given together with retry") for name in names if name in raw]


def _parse_retry_block(block: object, problems: list[FieldProblem]) -> dict[str, JsonValue]:
    """`retry: {attempts, cooldown}` is a fixed policy; null inherits all three again. The first attempt counts."""
    if block is None:
        return dict.fromkeys(_RETRY_KEYS)
    if not isinstance(block, Mapping):
        problems.append(FieldProblem("retry", "is not an object with attempts and cooldown"))
        return {}
    found = _parse_fields(block, _RETRY_FIELDS, "retry.", problems)
    if isinstance(attempts := found.get("max_retries"), int):
        found["max_retries"] = max(0, attempts - 1)
    return {"retry_policy": "fixed", **found}
