"""One setting: its names, its kind, and how a value of it is read and written."""

from dataclasses import dataclass
from typing import Any

from broker.domain.setting_types import JsonValue, Kind

NONE = "none"
MASK = "***"
_NONE_WORDS = frozenset({NONE, "off"})


@dataclass(frozen=True)
class Setting:
    """A row of the table; `optional`: can be none; `overridable`: channel and consumer can differ; `reserved`: nothing
    reads it yet."""

    key: str
    default: Any
    kind: Kind[Any]
    help: str
    optional: bool = False
    overridable: bool = False
    secret: bool = False
    reserved: bool = False

    @property
    def environment_name(self) -> str:
        """`BROKER_MAX_RETRIES` for max_retries."""
        return f"BROKER_{self.key.upper()}"

    @property
    def option_name(self) -> str:
        """`--max-retries` for max_retries."""
        return "--" + self.key.replace("_", "-")

    @property
    def json_name(self) -> str:
        """`maxRetries` for max_retries."""
        return camel_case(self.key)

    @property
    def limits(self) -> str:
        """The range or the choices, for people."""
        return self.kind.limits + (f", or {NONE}" if self.optional else "")

    @property
    def purpose(self) -> str:
        """What it is for, and whether it does that yet."""
        return f"reserved, no effect yet: {self.help}" if self.reserved else self.help

    def parse_text(self, text: str) -> Any:
        """A value from the environment or the command line; an empty one is none where that is allowed."""
        stripped = text.strip()
        return None if self._means_none(stripped or NONE) else self.kind.from_text(stripped)

    def parse_native(self, raw: object) -> Any:
        """A value from TOML or JSON, where types are known."""
        return None if isinstance(raw, str) and self._means_none(raw) else self.kind.from_native(raw)

    def to_text(self, value: Any) -> str:
        """What parse_text reads back to the same value."""
        return NONE if value is None else self.kind.to_text(value)

    def to_json(self, value: Any) -> JsonValue:
        """What parse_native reads back to the same value."""
        return NONE if value is None else self.kind.to_json(value)

    def masked(self, value: Any) -> JsonValue:
        """What may be shown to anyone: no secret, no password; None for none."""
        if value is None:
            return None
        return MASK if self.secret else self.kind.masked(value)

    def shown(self, value: Any) -> str:
        """The masked value as a line of text."""
        masked = self.masked(value)
        return masked if isinstance(masked, str) else self.to_text(value)

    def _means_none(self, text: str) -> bool:
        return self.optional and text.strip().lower() in _NONE_WORDS


def camel_case(key: str) -> str:
    """`maxRetries` for max_retries."""
    first, *others = key.split("_")
    return first + "".join(word.capitalize() for word in others)
