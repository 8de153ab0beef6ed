"""Durations as people write them: `500ms`, `30s`, `1h30m`, or plain seconds."""

import math
import re

from broker.domain.refusal import refused, shortened

LONGEST = 1_000 * 365 * 86_400.0
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_PARTS = re.compile(r"\s*".join(rf"(?:{_NUMBER}\s*{unit})?" for unit in _UNITS))
_PLAIN = re.compile(_NUMBER)
_WANTED = "a duration: write for example 30s, 5m, 1h30m or a number of seconds"


def parse_duration(text: object) -> float:
    """Seconds, exact to the microsecond; units go from the largest to the smallest, each at most once."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise refused(text, _WANTED)
    seconds = _from_text(text) if isinstance(text, str) else _from_number(text)
    if seconds < 0:
        raise ValueError(f"{shortened(text)} is negative, and a duration cannot be")
    if seconds > LONGEST:
        raise ValueError(f"{shortened(text)} is longer than a thousand years")
    return round(seconds, 6)


def format_duration(seconds: float) -> str:
    """The shortest usual way to write it; parse_duration reads it back to the same number."""
    if seconds == int(seconds):
        return _format_whole(int(seconds))
    if seconds < 1 and round(seconds * 1000, 3) == int(round(seconds * 1000, 3)):
        return f"{round(seconds * 1000)}ms"
    return f"{seconds:.6f}".rstrip("0") + "s"


def _from_number(number: float) -> float:
    if isinstance(number, int):
        return float(max(-1, min(number, int(LONGEST) + 1)))
    if not math.isfinite(number):
        raise refused(number, _WANTED)
    return number


def _from_text(text: str) -> float:
    stripped = text.strip().lower()
    if stripped.startswith("-"):
        return -1.0
    if _PLAIN.fullmatch(stripped):
        return float(stripped)
    parts = _PARTS.fullmatch(stripped) if stripped else None
    if parts is None:
        raise refused(text, _WANTED)
    return sum(float(n) * size for n, size in zip(parts.groups(), _UNITS.values(), strict=True) if n)


def _format_whole(seconds: int) -> str:
    parts = []
    for unit, size in list(_UNITS.items())[:4]:
        count, seconds = divmod(seconds, int(size))
        parts.append(f"{count}{unit}" if count else "")
    return "".join(parts) or "0s"
