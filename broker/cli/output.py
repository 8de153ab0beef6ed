"""What commands print: the answer to standard output, everything else to standard error."""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import click

Row = Sequence[object]


def note(text: str) -> None:
    """For people only."""
    click.echo(text, err=True)


def show_json(value: object) -> None:
    """For programs."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def show_entry(entry: Mapping[str, Any], as_json: bool) -> None:
    """One thing: its JSON, or a line for each of its values."""
    if as_json:
        show_json(entry)
    else:
        click.echo(table(list(_values(entry))))


def table(rows: Sequence[Row], right: Container[int] = ()) -> str:
    """Columns as wide as their longest cell, but for the last; some of them with their cells at the right."""
    texts = [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    justify = [str.rjust if at in right else str.ljust for at in range(len(widths))]
    lines = ([place(text, width) for place, text, width in zip(justify, row, widths, strict=True)] for row in texts)
    return "\n".join("  ".join(line).rstrip() for line in lines)


def cell(value: object) -> str:
    """A value on one line; what could move the cursor or colour the screen is shown as its code."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _values(entry: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Objects are laid out as `settings.maxRetries`."""
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            yield key, value
