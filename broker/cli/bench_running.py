"""How every bench is run from the command line: a bar while it lasts, then one table or JSON; what stops it is told."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import click

from broker.bench.client import BenchFailed
from broker.bench.scratch import NoPlace
from broker.cli.errors import BadSettings, Refused
from broker.cli.output import show_json
from broker.config import Settings
from broker.runtime.cores import engine_workers


class Measured(Protocol):
    """What a bench gives."""

    def as_json(self) -> dict[str, object]: ...


Result = TypeVar("Result", bound=Measured)
Run = Callable[[Callable[[], None]], Result]
json_option = click.option("--json", "as_json", is_flag=True, help="For scripts.")
payload_option = click.option(
    "--payload", type=click.IntRange(20, 1_000_000), default=490, show_default=True, help="Bytes of a payload."
)
workers_option = click.option("--workers", type=click.IntRange(1, 64), help="Delivering processes; else by cores.")


def rounds_option(default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """How often everything is measured."""
    return click.option("--rounds", type=click.IntRange(1, 100), default=default, show_default=True)


def measure(label: str, steps: int, run: Run[Result], table: Callable[[Result], str], as_json: bool) -> None:
    """Run it, and show what came out."""
    hidden = not sys.stderr.isatty()
    shown = click.progressbar(length=steps, label=label, hidden=hidden, file=sys.stderr)
    with _told(), _stopped_by_signals(), shown as bar:
        result = run(lambda: bar.update(1))
    if as_json:
        show_json(result.as_json())
    else:
        click.echo(table(result))


def workers_of(settings: Settings, wanted: int | None) -> int:
    """As many as are wanted, configured, or fit."""
    return engine_workers(wanted or settings.delivery_workers, settings.database_url.startswith("sqlite"))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except NoPlace as error:
        raise BadSettings(" ".join(str(error).split())) from error
    except BenchFailed as error:
        raise Refused(f"The bench could not finish: {error}") from error


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Who tells it to end finds nothing left behind, as after Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
