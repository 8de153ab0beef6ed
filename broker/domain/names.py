"""The ids that users choose, and other short texts: what they may contain."""

import unicodedata

from broker.domain.errors import Invalid

LONGEST = 255
_FORBIDDEN = frozenset("/\\?#")


def check_public_id(field: str, value: str) -> str:
    """A channel, producer, consumer or message id; raises Invalid with the field's name."""
    return _checked(field, value, _length_problem(value) or _character_problem(value) or _path_problem(value))


def check_name(field: str, value: str) -> str:
    """A name for people: anything printable."""
    return _checked(field, value, _length_problem(value) or _character_problem(value))


def check_token(field: str, value: str) -> str:
    """A token travels in a header, so it is printable ASCII without blanks."""
    problem = _length_problem(value)
    if problem is None and not all("!" <= c <= "~" for c in value):
        problem = "must be printable ASCII without blanks, since it travels in a header"
    return _checked(field, value, problem)


def _checked(field: str, value: str, problem: str | None) -> str:
    if problem is not None:
        raise Invalid.field(field, problem)
    return value


def _length_problem(value: str) -> str | None:
    if not value:
        return "cannot be empty"
    if len(value) > LONGEST:
        return f"has {len(value)} characters, at most {LONGEST} are allowed"
    return None


def _character_problem(value: str) -> str | None:
    if value.isascii() and value.isprintable():
        return None
    for character in value:
        if unicodedata.category(character) in {"Cc", "Cs"} or character == "\ufffd":
            return f"contains the character U+{ord(character):04X}, which is not allowed"
    return None


def _path_problem(value: str) -> str | None:
    if value in {".", ".."}:
        return "cannot be '.' or '..'"
    if value != value.strip():
        return "cannot begin or end with white space"
    if not _FORBIDDEN.isdisjoint(value):
        return "cannot contain / \\ ? or #"
    return None
