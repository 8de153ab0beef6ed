"""What a kind of setting is, and the kinds that are numbers, switches and choices."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from broker.domain.refusal import refused, shortened

T = TypeVar("T")
JsonValue: TypeAlias = bool | int | float | str | list[float] | list[str] | None

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


class Kind(ABC, Generic[T]):
    """Reads text (environment, options) and native values (TOML, JSON); a ValueError says what is wrong."""

    @property
    @abstractmethod
    def limits(self) -> str:
        """The range or the choices, for people."""

    @abstractmethod
    def from_text(self, text: str) -> T:
        """The value that the text means."""

    @abstractmethod
    def from_native(self, raw: object) -> T:
        """The value that came typed, without guessing across types."""

    def to_text(self, value: T) -> str:
        """Text that from_text reads back to the same value."""
        return str(value)

    @abstractmethod
    def to_json(self, value: T) -> JsonValue:
        """What is stored and shown; from_native reads it back to the same value."""

    def masked(self, value: T) -> JsonValue:
        """What may be shown to anyone."""
        return self.to_json(value)


@dataclass(frozen=True)
class Integer(Kind[int]):
    """A whole number within a range."""

    low: int
    high: int

    @property
    def limits(self) -> str:
        return f"{self.low} to {self.high}"

    def from_text(self, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise refused(text, "a whole number") from None
        return self._within(number)

    def from_native(self, raw: object) -> int:
        whole = isinstance(raw, int) or (isinstance(raw, float) and raw.is_integer())
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not whole:
            raise refused(raw, "a whole number")
        return self._within(int(raw))

    def to_json(self, value: int) -> JsonValue:
        return value

    def _within(self, number: int) -> int:
        if not self.low <= number <= self.high:
            raise ValueError(f"{shortened(number)} is out of range: {self.limits}")
        return number


@dataclass(frozen=True)
class Number(Kind[float]):
    """A number with a fraction, within a range."""

    low: float
    high: float

    @property
    def limits(self) -> str:
        return f"{compact(self.low)} to {compact(self.high)}"

    @property
    def _wanted(self) -> str:
        return f"a number from {self.limits}"

    def from_text(self, text: str) -> float:
        try:
            return self._within(float(text), text)
        except ValueError:
            raise refused(text, self._wanted) from None

    def from_native(self, raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise refused(raw, self._wanted)
        return self._within(raw, raw)

    def to_text(self, value: float) -> str:
        return repr(compact(value))

    def to_json(self, value: float) -> JsonValue:
        return compact(value)

    def _within(self, number: float, raw: object) -> float:
        if not self.low <= number <= self.high:
            raise refused(raw, self._wanted)
        return float(number)


@dataclass(frozen=True)
class Flag(Kind[bool]):
    """On or off."""

    @property
    def limits(self) -> str:
        return "true or false"

    def from_text(self, text: str) -> bool:
        if text.lower() not in _TRUE | _FALSE:
            raise refused(text, self.limits)
        return text.lower() in _TRUE

    def from_native(self, raw: object) -> bool:
        if not isinstance(raw, bool):
            raise refused(raw, self.limits)
        return raw

    def to_text(self, value: bool) -> str:
        return "true" if value else "false"

    def to_json(self, value: bool) -> JsonValue:
        return value


@dataclass(frozen=True)
class Choice(Kind[str]):
    """One of a few words."""

    choices: tuple[str, ...]

    @property
    def limits(self) -> str:
        return ", ".join(self.choices)

    def from_text(self, text: str) -> str:
        return self.from_native(text.lower())

    def from_native(self, raw: object) -> str:
        if not isinstance(raw, str) or raw not in self.choices:
            raise refused(raw, f"one of {self.limits}")
        return raw

    def to_json(self, value: str) -> JsonValue:
        return value


def compact(number: float) -> float:
    """The same number, as an int where it is whole, so that JSON says 60 and not 60.0."""
    return int(number) if number == int(number) else number
