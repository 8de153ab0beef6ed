"""Leaves out, and says so, what needs a tool that this machine lacks; `make test-tools` installs all and leaves out none."""

import pytest

from tests.support.tools import all_required, missing

_LEFT_OUT = pytest.StashKey[dict[str, int]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test names its tools: @pytest.mark.tool("prometheus", "promtool")."""
    left_out = config.stash.setdefault(_LEFT_OUT, {})
    if all_required():
        return
    lacking = {item: missing(_needed(item)) for item in items}
    for lack in lacking.values():
        for name in lack:
            left_out[name] = left_out.get(name, 0) + 1
    config.hook.pytest_deselected(items=[item for item in items if lacking[item]])
    items[:] = [item for item in items if not lacking[item]]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What was not tried is told."""
    for name, count in sorted(config.stash.get(_LEFT_OUT, {}).items()):
        terminalreporter.write_line(f"{count} tests left out: {name} is not here; make test-tools installs it")


def _needed(item: pytest.Item) -> list[str]:
    return [name for mark in item.iter_markers("tool") for name in mark.args]
