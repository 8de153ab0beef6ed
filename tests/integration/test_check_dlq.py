"""`broker check-dlq` tells a monitor how the dead stand: the same on a database and on a running broker."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import update

from broker.store.tables import dlq_summary
from tests.support import states
from tests.support.brokers import ADMIN_TOKEN, LiveBroker, make_broker
from tests.support.cli import Commands, run
from tests.support.dead_commands import make_dead, make_jobs, opened
from tests.support.plugins import LEVELS, Figure, PluginOutput

pytestmark = pytest.mark.xdist_group("cli")
MONITOR_TOKEN = "test-monitor-token"
METRICS = {"count": "", "oldest": "s", "growth": "", "checkpoint": "s", "utilization": "%"}


def check(commands: Commands, *arguments: str) -> PluginOutput:
    """What a check tells; its exit code says the same."""
    result = commands.run("check-dlq", *arguments)
    assert result.stderr == ""
    found = PluginOutput.parse(result.stdout)
    assert result.exit_code == LEVELS.index(found.level)
    return found


def make_two(commands: Commands, name: str, of_a: int, of_b: int) -> None:
    """A channel whose consumers `a` and `b` have so many dead."""
    commands.set_up(name, "a", "b")
    lines = "".join(f"{number}\n" for number in range(max(of_a, of_b)))
    commands.done("publish", name, "--producer", f"{name}-p", "--lines", input=lines)
    for consumer, count in (("a", of_a), ("b", of_b)):
        ids = [one["id"] for one in commands.json("job", "list", name, consumer, "--limit", "1000")]
        commands.done("job", "fail", *ids[:count])


def test_the_count_is_judged_by_both_ranges(each_commands: Commands, name: str) -> None:
    make_dead(each_commands, name, 5, counted=3)
    for ranges, level, told in (
        (("-w", "5", "-c", "10"), "OK", "5 dead"),
        (("-w", "4", "-c", "10"), "WARNING", "5 dead (warning range 4)"),
        (("-w", "2", "-c", "4"), "CRITICAL", "5 dead (critical range 4)"),
        (("-c", "~:5"), "OK", "5 dead"),
        (("-w", "6:"), "WARNING", "5 dead (warning range 6:)"),
        (("-c", "@5:7"), "CRITICAL", "5 dead (critical range @5:7)"),
        (("--warning", "0:9", "--critical", "0:9"), "OK", "5 dead"),
    ):
        found = check(each_commands, "--channel", name, *ranges)
        assert (found.level, found.text) == (level, f"{name}/c: {told}")
    found = check(each_commands, "--channel", name, "--consumer", "c", "-w", "4", "-c", "@10:20")
    assert found.figures == {"total": Figure(5, "", "", "", "0"), f"{name}/c": Figure(5, "", "4", "@10:20", "0")}


def test_the_worst_consumer_decides_and_the_sum_is_told(commands: Commands, name: str) -> None:
    make_two(commands, name, 3, 1)
    found = check(commands, "--channel", name, "-w", "0", "-c", "2")
    assert found.level == "CRITICAL"
    named = f"{name}/a: 3 dead (critical range 2), {name}/b: 1 dead (warning range 0)"
    assert found.text == f"{named}; alarms for 2 of 2 consumers, 4 dead in all"
    found = check(commands, "--channel", name, "-c", "3")
    assert (found.level, found.text) == ("OK", f"{name}/a: 3 dead; the most of 2 consumers, 4 dead in all")
    assert [one.value for one in found.figures.values()] == [4, 3, 1]
    assert check(commands, "--channel", name, "--consumer", "b", "-c", "1").level == "OK"
    assert check(commands, "--channel", name, "--consumer", "a", "-c", "1").level == "CRITICAL"


def test_with_total_the_sum_decides(commands: Commands, name: str) -> None:
    make_two(commands, name, 3, 1)
    for metric, words in (("count", "dead"), ("growth", "died in the last hour")):
        found = check(commands, "--channel", name, "--metric", metric, "--total", "-w", "3", "-c", "9")
        told = f"all 2 consumers: 4 {words} (warning range 3); of these {name}/a: 3 {words}"
        assert (found.level, found.text) == ("WARNING", told)
        assert found.figures["total"] == Figure(4, "", "3", "9", "0")
        assert found.figures[f"{name}/a"] == Figure(3, "", "", "", "0")
    assert check(commands, "--channel", name, "--total", "-c", "4").level == "OK"


@pytest.mark.parametrize(("metric", "unit"), METRICS.items())
def test_every_metric_has_its_unit_and_alarms(each_commands: Commands, name: str, metric: str, unit: str) -> None:
    make_dead(each_commands, name, 2)
    good = check(each_commands, "--channel", name, "--metric", metric, "-w", "1000", "-c", "2000")
    assert (good.level, good.figures[f"{name}/c"].unit) == ("OK", unit)
    assert ("total" in good.figures) is (metric in ("count", "growth"))
    bad = check(each_commands, "--channel", name, "--metric", metric, "-c", "100000:")
    assert (bad.level, bad.figures[f"{name}/c"].critical) == ("CRITICAL", "100000:")
    worse = check(each_commands, "--channel", name, "--metric", metric, "-w", "@~:100000", "-c", "100000")
    assert worse.level == "WARNING"


def test_ages_are_told_from_the_time_of_the_database(database_url: str) -> None:
    """The checkpoint is three hours old, a death after it two hours."""
    make_broker(database_url).parts.database.dispose()
    commands = Commands(database_url)
    (job_id,) = make_jobs(commands, "old", 1)
    with opened(commands) as broker:
        now = broker.clock.now()
        back = update(dlq_summary).values(last_checked_at=now - timedelta(hours=3))
        broker.parts.database.write("test", lambda c: c.execute(back))
        states.die(broker, job_id, at=now - timedelta(hours=2))
    for metric, ranges, level, told in (
        ("oldest", ("-w", "1h", "-c", "1d"), "WARNING", "oldest dead for 2h (warning range 1h)"),
        ("oldest", ("-w", "1h", "-c", "1h30m"), "CRITICAL", "oldest dead for 2h (critical range 1h30m)"),
        ("oldest", ("-c", "10000"), "OK", "oldest dead for 2h"),
        ("checkpoint", ("-w", "20m", "-c", "4h"), "WARNING", "last checkpoint 3h ago (warning range 20m)"),
        ("checkpoint", ("-w", "4h"), "OK", "last checkpoint 3h ago"),
    ):
        found = check(commands, "--metric", metric, *ranges)
        words = found.text.replace("2h 0m", "2h").replace("3h 0m", "3h")
        assert (found.level, words) == (level, f"old/c: {told}")
    figure = check(commands, "--metric", "oldest", "-w", "1h:1d", "-c", "~:2d").figures["old/c"]
    assert figure.value == pytest.approx(7200, abs=120)
    assert (figure.warning, figure.critical) == ("3600:86400", "~:172800")


def test_nobody_is_dead(commands: Commands, name: str) -> None:
    commands.set_up(name, "c")
    for metric, told in (
        ("count", "0 dead"),
        ("oldest", "none dead"),
        ("growth", "0 died in the last hour"),
        ("utilization", "0% full"),
    ):
        found = check(commands, "--channel", name, "--metric", metric, "-w", "0", "-c", "0")
        assert (found.level, found.text) == ("OK", f"{name}/c: {told}")
        assert found.figures[f"{name}/c"].value == 0


def test_who_has_no_limit_is_never_full(commands: Commands, name: str) -> None:
    commands.set_up(name, "free", "limited")
    commands.done("consumer", "update", name, "free", "--set", "dlqMaxSize=0")
    found = check(commands, "--channel", name, "--metric", "utilization", "-c", "80%")
    assert list(found.figures) == [f"{name}/limited"]
    unlimited = check(commands, "--channel", name, "--consumer", "free", "--metric", "utilization", "-c", "80")
    assert (unlimited.level, unlimited.figures) == ("UNKNOWN", {})
    assert "has a limit (dlqMaxSize)" in unlimited.text


def test_who_is_not_there_is_unknown(each_commands: Commands, name: str) -> None:
    each_commands.set_up(name, "c")
    for place, told in (
        (("--channel", "no-such"), "There is no channel 'no-such', or it has no consumers."),
        (("--consumer", "no-such"), "There is no consumer 'no-such'."),
        (("--channel", name, "--consumer", "no-such"), f"There is no consumer 'no-such' in a channel '{name}'."),
    ):
        found = check(each_commands, *place, "-c", "1")
        assert (found.level, found.text) == ("UNKNOWN", told)


def test_a_broker_without_consumers_is_unknown(database_url: str) -> None:
    make_broker(database_url).parts.database.dispose()
    found = check(Commands(database_url), "-c", "1")
    assert (found.level, found.text) == ("UNKNOWN", "There are no consumers.")


def test_names_cannot_break_the_line(commands: Commands, name: str) -> None:
    commands.set_up(name, "a|b'=c ;x")
    found = check(commands, "--channel", name, "-c", "1")
    assert found.text == rf"{name}/a\x7cb'=c ;x: 0 dead"
    assert list(found.figures) == ["total", rf"{name}/a\x7cb\x27\x3dc ;x"]


def test_with_verbose_there_is_a_line_for_each_consumer(commands: Commands, name: str) -> None:
    make_two(commands, name, 3, 1)
    lines = commands.run("check-dlq", "--channel", name, "-w", "2", "-v").stdout.splitlines()
    assert PluginOutput.parse(lines[0]).level == "WARNING"
    assert lines[1:] == [f"{name}/a: 3 dead (warning range 2)", f"{name}/b: 1 dead"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """A running broker that wants a monitor token, with a consumer."""
    folder = tmp_path_factory.mktemp("guarded")
    commands = Commands(f"sqlite:///{folder}/broker.db")
    make_broker(commands.database_url).parts.database.dispose()
    commands.set_up("orders", "c")
    live = LiveBroker(commands.database_url, folder / "log", BROKER_MONITOR_TOKEN=MONITOR_TOKEN)
    yield Commands(commands.database_url, live.url)
    live.kill()


def test_the_monitor_token_and_the_admin_token_open_it(guarded: Commands) -> None:
    url = str(guarded.url)
    for token in (MONITOR_TOKEN, ADMIN_TOKEN):
        for result in (
            run("check-dlq", "--url", url, "--token", token, "-c", "1"),
            run("--url", url, "--token", token, "check-dlq", "-c", "1"),
            run("--url", "http://127.0.0.1:1", "--token", "x", "check-dlq", "--url", url, "--token", token, "-c", "1"),
            run("check-dlq", "-c", "1", BROKER_URL=url, BROKER_TOKEN=token),
        ):
            assert (result.exit_code, PluginOutput.parse(result.stdout).text) == (0, "orders/c: 0 dead")


def test_a_token_that_is_missing_wrong_or_unfit_is_unknown(guarded: Commands) -> None:
    hint = "Give the monitor token or the admin token with --token or BROKER_TOKEN."
    for token, told in (
        ((), f"{hint} [unauthorized]"),
        (("--token", "wrong"), f"{hint} [forbidden]"),
        (("--token", ""), "--token: cannot be empty"),
        (("--token", "a\nb"), "--token: must be printable ASCII without blanks, since it travels in a header"),
    ):
        result = run("check-dlq", "--url", str(guarded.url), *token, "-c", "1")
        found = PluginOutput.parse(result.stdout)
        assert (result.exit_code, result.stderr, found.level) == (3, "", "UNKNOWN")
        assert found.text.endswith(told)
