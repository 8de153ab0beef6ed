"""`broker dlq status --watch`: drawn anew in place on a terminal, appended elsewhere, honest when nobody answers."""

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import pytest

from broker.cli.screen import fitting
from tests.support.brokers import LiveBroker, make_broker
from tests.support.cli import Commands
from tests.support.dead_commands import falsify, make_dead, make_jobs
from tests.support.terminal import on_terminal

pytestmark = pytest.mark.xdist_group("cli")
WATCH = ("dlq", "status", "--watch", "--interval", "200ms")
SECONDS = 30


def line(consumer: str, dead: int, trend: str) -> str:
    """The beginning of a line, with one space between its cells."""
    return f"{consumer} {dead} {trend} "


class Watching:
    """A watch whose output goes to a program, read as it comes."""

    def __init__(self, commands: Commands, *arguments: str) -> None:
        self.process = commands.process(*WATCH, *arguments)
        self.lines: Queue[str] = Queue()
        self.seen: list[str] = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            self.lines.put(" ".join(text.decode().split()) + " ")

    def until(self, start: str) -> str:
        """The next line that begins so."""
        while True:
            try:
                self.seen.append(self.lines.get(timeout=SECONDS))
            except Empty:
                pytest.fail(f"no line begins with {start!r} in:\n" + "\n".join(self.seen))
            if self.seen[-1].startswith(start):
                return self.seen[-1]


@contextmanager
def watching(commands: Commands, *arguments: str) -> Iterator[Watching]:
    """It is ended with the block."""
    it = Watching(commands, *arguments)
    with it.process:
        try:
            yield it
        finally:
            it.process.kill()
            it.reader.join(SECONDS)


def test_every_look_is_appended_with_what_changed_since_the_one_before(each_commands: Commands, name: str) -> None:
    ids = make_jobs(each_commands, name, 5)
    with watching(each_commands, "--channel", name) as watch:
        watch.until(f"{name} c 0 - 0 ")
        watch.until(line(f"{name} c", 0, "="))
        each_commands.done("job", "fail", *ids[:3])
        watch.until(line(f"{name} c", 3, "↑3"))
        watch.until(line("total", 3, "↑3"))
        watch.until(line(f"{name} c", 3, "="))
        each_commands.done("dlq", "requeue", name, "c", "--all")
        watch.until(line(f"{name} c", 0, "↓3"))
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(SECONDS) == 130
        assert watch.process.stderr is not None and watch.process.stderr.read() == b"\n"


def test_a_terminal_is_drawn_anew_in_place(commands: Commands, name: str) -> None:
    ids = make_jobs(commands, name, 4)
    with on_terminal(commands, *WATCH, "--channel", name) as terminal:
        terminal.shows("Dead letters, every 200ms: ", "total 0 =")
        commands.done("job", "fail", *ids)
        terminal.shows("c 4 ↑4 ")
        commands.done("dlq", "requeue", name, "c", "--all")
        terminal.shows("c 0 ↓4 ")
        terminal.shows("c 0 = ")
        screen = terminal.screen
        assert (screen.wiped, screen.scrolled) == (1, 0)
        assert screen.text.count("Dead letters") == screen.text.count("total") == 1
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.ends() == 130


def test_a_small_terminal_shows_what_fits_and_the_total(commands: Commands, name: str) -> None:
    commands.set_up(name, *(f"c{number}" for number in range(9)))
    with on_terminal(commands, *WATCH, "--channel", name, "--count", "3", rows=8, columns=30) as terminal:
        assert terminal.ends() == 0
        shown = terminal.screen.text.splitlines()
        assert (len(shown), shown[-2], shown[-1].split()[0]) == (7, "... 7 more lines", "total")
        assert terminal.screen.scrolled == 0


def test_what_an_audit_found_off_is_told_at_every_look(commands: Commands, name: str) -> None:
    make_dead(commands, name, 2, counted=2)
    falsify(commands, name, 1)
    commands.run("dlq", "audit")
    told = commands.done(*WATCH, "--channel", name, "--count", "2")
    assert told.count(f"An audit found the count of {name}/c off by 1.") == 2
    commands.done("dlq", "audit", "--repair")


def test_an_output_that_has_no_arrows_gets_signs(commands: Commands, name: str) -> None:
    ids = make_jobs(commands, name, 1)
    plain = Commands(commands.database_url, commands.url, {**commands.environment, "PYTHONIOENCODING": "ascii"})
    with watching(plain, "--channel", name) as watch:
        watch.until(line(f"{name} c", 0, "="))
        commands.done("job", "fail", *ids)
        watch.until(line(f"{name} c", 1, "+1"))


def test_while_the_broker_is_away_old_values_stay_and_are_marked(sqlite_url: str, tmp_path: Path, name: str) -> None:
    make_broker(sqlite_url).parts.database.dispose()
    live = LiveBroker(sqlite_url, tmp_path / "broker.log")
    try:
        commands = Commands(sqlite_url, live.url)
        make_dead(Commands(sqlite_url), name, 3)
        with watching(commands) as watch:
            watch.until(line(f"{name} c", 3, "-"))
            live.kill()
            watch.until(f"AWAY: Cannot reach a broker at {live.url} (")
            assert re.fullmatch(r"Old values, of 20\S+Z: ", watch.until("Old values"))
            watch.until(line(f"{name} c", 3, "old"))
            watch.until(line("total", 3, "old"))
            live.start()
            watch.until(line(f"{name} c", 3, "="))
        live.kill()
        never = commands.run(*WATCH, "--count", "2")
        assert (never.exit_code, never.stdout.count("Nothing is known yet."), " 0 " in never.stdout) == (3, 2, False)
    finally:
        live.kill()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--watch", "--interval", "soon"), "--interval"),
        (("--watch", "--interval", "0s"), "not between 100ms and 1d"),
        (("--watch", "--count", "0"), "--count"),
        (("--watch", "--json"), "--watch shows a table, so it cannot be given with --format json."),
        (("--watch", "--format", "prometheus"), "it cannot be given with --format prometheus."),
        (("--interval", "1s"), "--interval is for --watch."),
        (("--count", "1"), "--count is for --watch."),
        (("--format", "xml"), "--format"),
        (("--format", "table", "--json"), "Give --json or --format table, not both."),
    ],
)
def test_a_bad_option_is_one_clear_line(commands: Commands, options: tuple[str, ...], says: str) -> None:
    told = commands.refused("dlq", "status", *options, code=2)
    assert says in told and told.count("Error:") == 1


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (4, ["1", "2", "3", "4"]),
        (3, ["1", "... 2 more lines", "4"]),
        (2, ["... 3 more lines", "4"]),
        (1, ["4"]),
        (0, ["4"]),
    ],
)
def test_what_does_not_fit_is_counted(rows: int, shown: list[str]) -> None:
    assert fitting(["1", "2", "3", "4"], rows) == shown
