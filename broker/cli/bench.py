"""`broker bench`: how fast it is here, beside the bare limit of the same run."""

import json
import sys
from collections.abc import Sequence

import click

from broker.bench import publish as bench_publish
from broker.bench.client import BenchFailed
from broker.bench.publish import Measure
from broker.cli.context import CliContext
from broker.cli.errors import Refused


@click.group()
def bench() -> None:
    """Measure this broker on this machine, on a scratch database that is removed afterwards."""


@bench.command()
@click.option(
    "--messages", type=click.IntRange(500, 10_000_000), default=4000, show_default=True, help="A round's single posts."
)
@click.option("--connections", type=click.IntRange(2, 1000), default=50, show_default=True)
@click.option("--consumers", type=click.IntRange(0, 100), default=1, show_default=True)
@click.option(
    "--payload", type=click.IntRange(20, 1_000_000), default=490, show_default=True, help="Bytes of a payload."
)
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@click.pass_obj
def publish(
    context: CliContext, messages: int, connections: int, consumers: int, payload: int, rounds: int, as_json: bool
) -> None:
    """Single posts and batches through HTTP, beside bare inserts of the same rows.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench publish
    broker bench publish --messages 20000 --connections 50 --json
    """
    plan = bench_publish.Plan(messages, connections, consumers, payload, rounds)
    settings = context.load_settings()
    with click.progressbar(length=bench_publish.steps(plan), label="publish", file=sys.stderr) as bar:
        try:
            result = bench_publish.run(settings, plan, lambda: bar.update(1))
        except BenchFailed as error:
            raise Refused(f"The bench could not finish: {error}") from error
    click.echo(json.dumps(result.as_json(), indent=2) if as_json else _table(result.measures))


COLUMNS = (
    ("what", "", 30),
    ("messagesPerSecond", "messages/s", 11),
    ("barePerSecond", "bare/s", 9),
    ("ratioToBare", "ratio", 7),
    ("brokerCpuPer1000", "broker CPU", 11),
    ("databaseCpuPer1000", "db CPU", 8),
    ("bareDatabaseCpuPer1000", "bare db CPU", 12),
    ("answerP50Ms", "p50 ms", 8),
    ("answerP99Ms", "p99 ms", 8),
)


def _table(measures: Sequence[Measure]) -> str:
    head = "".join(f"{title:>{width}}" for _, title, width in COLUMNS)
    lines = ["".join(_cell(row[name], width) for name, _, width in COLUMNS) for row in map(Measure.show, measures)]
    return "\n".join([head, *lines, "CPU: seconds per 1,000 messages. Ratio: to the bare inserts of the same run."])


def _cell(value: object, width: int) -> str:
    return f"{value:<{width}}" if isinstance(value, str) else f"{value:>{width}}"
