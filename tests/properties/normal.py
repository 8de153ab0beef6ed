"""Makes the answers of two brokers comparable: what each made for itself gets a name, in the order of appearance."""

import re
from typing import Any

_CURSOR = re.compile(r"\b(next|previous)=[A-Za-z0-9_-]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_XID = re.compile(r"(?<![0-9A-Za-z])[0-9a-v]{19}[0g](?![0-9A-Za-z])")
_MADE_ONCE = ("token", "signingSecret")


class Normaliser:
    """The names of one broker's own times and ids; times that a caller gave stay as they are."""

    def __init__(self, given: set[str]) -> None:
        self._given = given
        self._names: dict[tuple[str, str], str] = {}

    def is_given(self, time: str) -> bool:
        """Whether a caller gave this time."""
        return time in self._given

    def text(self, text: str, about: str = "") -> str:
        """A text with every cursor, time and id of the broker's own replaced.

        Times are named anew for every address that they are about: whether two entries that one call changed have the
        same time depends on when the database looks at its clock, but a change must show on each.
        """
        text = _CURSOR.sub(r"\1=<cursor>", text)
        text = _TIME.sub(lambda found: self._name("time", found.group(), about), text)
        text = _SECOND.sub("<second>", text)
        return _XID.sub(lambda found: self._name("id", found.group()), text)

    def value(self, value: Any, about: str = "") -> Any:
        """A JSON value with every text in it replaced, and secrets that were made hidden.

        A death has a stamp of its own: that of its message's arrival, or a moment later.
        """
        if isinstance(value, dict):
            hidden = (*_MADE_ONCE, *(("statusChangedAt",) if value.get("status") == "DEAD" else ()))
            return {key: "<made>" if key in hidden else self.value(one, about) for key, one in value.items()}
        if isinstance(value, list):
            return [self.value(one, about) for one in value]
        return self.text(value, about) if isinstance(value, str) else value

    def own(self, text: str) -> str:
        """The reverse: a name in an address becomes what this broker calls so."""
        for (value, _), name in self._names.items():
            text = text.replace(name, value)
        return text

    def _name(self, kind: str, found: str, about: str = "") -> str:
        if found in self._given:
            return found
        known = sum(place == about for _, place in self._names)
        return self._names.setdefault((found, about), f"<{kind} {known}>")
