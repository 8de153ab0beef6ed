"""What a caller may change in the registry: parsed from loose values, every problem named at once.

A field that is not given stays as it is. `None` for an override, a dead channel or a callback means: none of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from broker.domain.errors import FieldProblem, Invalid
from broker.domain.names import check_name, check_public_id, check_token
from broker.domain.overrides import parse_overrides
from broker.domain.setting_types import JsonValue
from broker.domain.states import ConsumerType
from broker.domain.urls import check_callback_url

Raw = Mapping[str, object]
Check = Callable[[str, object], object]


@dataclass(frozen=True, slots=True)
class Change:
    """The fields given (by their camelCase names) and the overrides given (by setting key)."""

    fields: Mapping[str, object] = field(default_factory=dict)
    overrides: Mapping[str, JsonValue] = field(default_factory=dict)

    def get(self, name: str, otherwise: object = None) -> object:
        """A given field, or what stands there now."""
        return self.fields.get(name, otherwise)


def parse_producer_change(raw: Raw) -> Change:
    """token, name."""
    return _parse(raw, PRODUCER_FIELDS, overridable=False)


def parse_channel_change(raw: Raw) -> Change:
    """token, name, paused, deadChannel and every setting that a channel may override."""
    return _parse(raw, CHANNEL_FIELDS, overridable=True)


def parse_consumer_change(raw: Raw) -> Change:
    """As a channel's, with type, callbackUrl and signingSecret."""
    return _parse(raw, CONSUMER_FIELDS, overridable=True)


def _parse(raw: Raw, known: Mapping[str, Check], overridable: bool) -> Change:
    problems: list[FieldProblem] = []
    fields = {name: _checked(check, name, raw[name], problems) for name, check in known.items() if name in raw}
    rest = {name: value for name, value in raw.items() if name not in known}
    if not overridable:
        problems += [FieldProblem(name, "is not a field of this resource") for name in rest]
    overrides = parse_overrides(rest, problems) if overridable else {}
    if problems:
        raise Invalid(problems)
    return Change(fields, overrides)


def _checked(check: Check, name: str, value: object, problems: list[FieldProblem]) -> object:
    try:
        return check(name, value)
    except Invalid as error:
        problems += error.problems
        return None


def _text(check: Callable[[str, str], str], optional: bool = False) -> Check:
    def checked(name: str, value: object) -> object:
        if optional and (value is None or value == ""):
            return None
        if not isinstance(value, str):
            raise Invalid.field(name, "must be text")
        return check(name, value)

    return checked


def _flag(name: str, value: object) -> object:
    if not isinstance(value, bool):
        raise Invalid.field(name, "must be true or false")
    return value


def _type(name: str, value: object) -> object:
    if value == "":
        return ConsumerType.PUSH
    if value not in tuple(ConsumerType):
        raise Invalid.field(name, "must be push or pull")
    return ConsumerType(str(value))


PRODUCER_FIELDS: Mapping[str, Check] = {"token": _text(check_token), "name": _text(check_name)}
CHANNEL_FIELDS: Mapping[str, Check] = {
    **PRODUCER_FIELDS,
    "paused": _flag,
    "deadChannel": _text(check_public_id, optional=True),
}
CONSUMER_FIELDS: Mapping[str, Check] = {
    **CHANNEL_FIELDS,
    "type": _type,
    "callbackUrl": _text(check_callback_url, optional=True),
    "signingSecret": _text(check_token),
}
