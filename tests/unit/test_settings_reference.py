"""The reference of the settings is what the program makes of its own table, and tells which of them do nothing yet."""

import json
import re
from pathlib import Path

from click.testing import CliRunner

from broker.cli.config import config
from broker.domain.setting_groups import groups
from broker.domain.settings import SETTINGS

ROOT = Path(__file__).parents[2]
NOT_READERS = {"domain/settings.py", "domain/setting_groups.py", "config.py"}


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(config, ["reference", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def _rows() -> dict[str, list[str]]:
    """The cells of each setting's line, by its key."""
    lines = (line for line in _run().splitlines() if line.startswith("| `"))
    cells = ([cell.strip().strip("`") for cell in line.strip("| ").split(" | ")] for line in lines)
    return {row[0]: row for row in cells}


def test_the_committed_page_is_what_the_command_prints() -> None:
    assert (ROOT / "docs/settings.md").read_text() == _run(), "Run: broker config reference > docs/settings.md"


def test_every_setting_has_a_line_with_its_names_default_and_range() -> None:
    rows = _rows()
    assert list(rows) == [one.key for one in SETTINGS]
    assert rows["dlq_settle"][1:4] == ["BROKER_DLQ_SETTLE", "30s", "100ms to 1h"]
    assert rows["dlq_full_policy"][3:5] == ["alert, reject, archive_oldest", "dlqFullPolicy` of consumer, channel"]
    assert rows["max_retries"][4] == "maxRetries` of message, consumer, channel"
    assert rows["dlq_chunk"][4] == "-"


def test_every_setting_is_in_one_group_and_the_table_keeps_its_order() -> None:
    assert [one for group in groups() for one in group.settings] == list(SETTINGS)
    assert all(group.settings for group in groups())


def test_the_json_tells_the_same_to_programs() -> None:
    entries = {entry["key"]: entry for entry in json.loads(_run("--json"))}
    assert list(entries) == [one.key for one in SETTINGS]
    assert entries["retry_schedule"] == {
        "key": "retry_schedule",
        "environment": "BROKER_RETRY_SCHEDULE",
        "group": "Retrying",
        "default": [5, 30, 60],
        "range": "1 to 50 durations, each 0s to 7d",
        "ownValueOf": ["message", "consumer", "channel"],
        "ownValueName": "retrySchedule",
        "secret": False,
        "reserved": False,
        "purpose": "delays of policy schedule",
    }
    assert [key for key, entry in entries.items() if entry["reserved"]] == [o.key for o in SETTINGS if o.reserved]


def test_what_nothing_reads_says_that_it_has_no_effect_yet_and_nothing_else_does() -> None:
    package = ROOT / "broker"
    files = [path for path in package.rglob("*.py") if str(path.relative_to(package)) not in NOT_READERS]
    source = "\n".join(path.read_text() for path in files)
    unread = {one.key for one in SETTINGS if not re.search(rf"settings\.{one.key}\b", source)}
    assert unread == {one.key for one in SETTINGS if one.reserved}
    assert {key for key, row in _rows().items() if row[5].startswith("reserved, no effect yet: ")} == unread
