"""Leaves out, and says so, tests whose tools this machine lacks; `make test-tools` installs all and leaves out none."""

import pytest

from tests.support.tools import TOOLS, all_required, missing


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test names its tools: @pytest.mark.tool("prometheus", "promtool")."""
    if all_required():
        return
    lacking = [item for item in items if missing(_needed(item))]
    if lacking:
        config.hook.pytest_deselected(items=lacking)
        items[:] = [item for item in items if item not in lacking]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What could not be tried is told."""
    lack = [] if all_required() else missing(TOOLS)
    if lack:
        terminalreporter.write_line(f"Tests that need {', '.join(lack)} are left out; make test-tools installs these.")


def _needed(item: pytest.Item) -> list[str]:
    return [name for mark in item.iter_markers("tool") for name in mark.args]
