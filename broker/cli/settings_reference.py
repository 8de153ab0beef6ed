"""The reference of all settings, made from the table that the program itself reads: docs/settings.md."""

from collections.abc import Iterator, Sequence

from broker.cli.backend import Json
from broker.domain.overrides import levels
from broker.domain.setting import Setting
from broker.domain.setting_groups import Group, groups

_HEADING = ("key", "environment", "default", "range or choices", "own value", "what it is for")
_PREFACE = """\
# Settings

Made by `broker config reference` from the table that the program reads; do not change it by hand.

Defaults give way to a TOML file, the file to the environment, the environment to options of the command line. The file
is the one that `--config` or `BROKER_CONFIG` names (`none`: no file), else `broker.toml` in this folder; its keys
stand at the top level. Durations are written `250ms`, `30s`, `5m`, `2h`, `1d`, or in seconds; lists with commas, in
TOML as arrays. `none` takes a value away where the range says so.

`broker config check` names every problem of every source at once, and where each value came from that is no default;
`broker config show` lists all values.

"own value" says under which name a message, a consumer or a channel may have its own, for example
`broker consumer update orders billing --set maxRetries=5`. The message's goes first, then the consumer's, then the
channel's, then the broker's.
"""


def as_markdown() -> str:
    """The page."""
    return "\n".join([_PREFACE, *(_section(group) for group in groups())])


def as_json() -> list[Json]:
    """The same for programs."""
    return [_entry(group.title, one) for group in groups() for one in group.settings]


def _section(group: Group) -> str:
    rows = [_HEADING, ("---",) * len(_HEADING), *(tuple(_cells(one)) for one in group.settings)]
    return "\n".join([f"## {group.title}", "", *(_line(row) for row in rows), ""])


def _cells(one: Setting) -> Iterator[str]:
    yield f"`{one.key}`"
    yield f"`{one.environment_name}`"
    yield f"`{one.shown(one.default)}`"
    yield one.limits
    yield f"`{one.json_name}` of {', '.join(levels(one))}" if levels(one) else "-"
    yield one.purpose


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _entry(title: str, one: Setting) -> Json:
    return {
        "key": one.key,
        "environment": one.environment_name,
        "group": title,
        "default": one.masked(one.default),
        "range": one.limits,
        "ownValueOf": list(levels(one)),
        "ownValueName": one.json_name if levels(one) else None,
        "secret": one.secret,
        "reserved": one.reserved,
        "purpose": one.help,
    }
