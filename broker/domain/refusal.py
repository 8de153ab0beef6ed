"""How a value that cannot be read is refused: one sentence that quotes it, shortened."""

_LONGEST_QUOTE = 60


def refused(raw: object, wanted: str) -> ValueError:
    """The error for a value that is not what was wanted."""
    return ValueError(f"{shortened(raw)} is not {wanted}")


def shortened(raw: object) -> str:
    """A refused value as a message may quote it."""
    text = repr(raw)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}..."
