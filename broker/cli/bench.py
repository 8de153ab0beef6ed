"""`broker bench`: how fast it is here, beside the bare limit of the same run."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from broker.bench import deliver as bench_deliver
from broker.bench import dlq as bench_dlq
from broker.bench import latency as bench_latency
from broker.bench import publish as bench_publish
from broker.bench.client import BenchFailed
from broker.cli.bench_dlq_table import dlq_table
from broker.cli.bench_tables import deliver_table, latency_table, publish_table
from broker.cli.context import CliContext
from broker.cli.errors import Refused
from broker.config import Settings
from broker.runtime.cores import engine_workers


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
    with _progress("publish", bench_publish.steps(plan)) as advance:
        result = bench_publish.run(settings, plan, advance)
    click.echo(json.dumps(result.as_json(), indent=2) if as_json else publish_table(result.measures))


@bench.command()
@click.option(
    "--jobs", type=click.IntRange(100, 10_000_000), default=40_000, show_default=True, help="Each side's in a round."
)
@click.option("--workers", type=click.IntRange(1, 64), help="Delivering processes; else by cores.")
@click.option("--consumers", type=click.IntRange(1, 1000), default=5, show_default=True)
@click.option(
    "--payload", type=click.IntRange(20, 1_000_000), default=490, show_default=True, help="Bytes of a payload."
)
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option(
    "--target-ms", type=click.FloatRange(0, 10_000), default=0, show_default=True, help="The target answers so late."
)
@click.option(
    "--backlog",
    type=click.IntRange(0, 100_000_000),
    default=0,
    show_default=True,
    help="More jobs, due but of a consumer that is paused.",
)
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@click.pass_obj
def deliver(context: CliContext, /, workers: int | None, payload: int, as_json: bool, **amounts: int) -> None:
    """`broker work` to a local target, beside bare claims, POSTs and completions of the same jobs.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench deliver
    broker bench deliver --jobs 20000 --workers 1 --json
    broker bench deliver --target-ms 50
    broker bench deliver --backlog 1000000
    """
    settings = context.load_settings()
    plan = bench_deliver.Plan(workers=_workers(settings, workers), payload_bytes=payload, **amounts)
    with _progress("deliver", bench_deliver.steps(plan)) as advance:
        result = bench_deliver.run(settings, plan, advance)
    click.echo(json.dumps(result.as_json(), indent=2) if as_json else deliver_table(result))


@bench.command()
@click.option("--rate", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Messages a second.")
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=10, show_default=True)
@click.option("--workers", type=click.IntRange(1, 64), help="Delivering processes; else by cores.")
@click.option(
    "--payload", type=click.IntRange(20, 1_000_000), default=490, show_default=True, help="Bytes of a payload."
)
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@click.pass_obj
def latency(context: CliContext, rate: int, seconds: float, workers: int | None, payload: int, as_json: bool) -> None:
    """From a message's commit to its arrival at a local target, and what the engine costs at rest.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench latency
    broker bench latency --rate 20 --seconds 30 --json
    """
    settings = context.load_settings()
    plan = bench_latency.Plan(rate, seconds, workers=_workers(settings, workers), payload_bytes=payload)
    with _progress("latency", bench_latency.STEPS) as advance:
        result = bench_latency.run(settings, plan, advance)
    click.echo(json.dumps(result.as_json(), indent=2) if as_json else latency_table(result))


@bench.command()
@click.option(
    "--dead", type=click.IntRange(1000, 100_000_000), default=100_000, show_default=True, help="Dead jobs to be there."
)
@click.option("--rounds", type=click.IntRange(1, 100), default=5, show_default=True)
@click.option(
    "--requests", type=click.IntRange(10, 100_000), default=300, show_default=True, help="A round's /dlq-status."
)
@click.option(
    "--deaths", type=click.IntRange(1, 50_000), default=10_000, show_default=True, help="New ones at a checkpoint."
)
@click.option(
    "--rows", type=click.IntRange(100, 10_000_000), default=50_000, show_default=True, help="To purge, and to requeue."
)
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@click.pass_obj
def dlq(context: CliContext, /, as_json: bool, **amounts: int) -> None:
    """What dead letters cost, with none and with many: asking, counting, purging and requeueing.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench dlq
    broker bench dlq --dead 1000000 --json
    """
    settings, plan = context.load_settings(), bench_dlq.Plan(**amounts)
    with _progress("dlq", bench_dlq.steps(plan)) as advance:
        result = bench_dlq.run(settings, plan, advance)
    click.echo(json.dumps(result.as_json(), indent=2) if as_json else dlq_table(result))


@contextmanager
def _progress(label: str, steps: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error; what stops the bench is told in a sentence."""
    with click.progressbar(length=steps, label=label, file=sys.stderr) as bar:
        try:
            yield lambda: bar.update(1)
        except BenchFailed as error:
            raise Refused(f"The bench could not finish: {error}") from error


def _workers(settings: Settings, wanted: int | None) -> int:
    return engine_workers(wanted or settings.delivery_workers, settings.database_url.startswith("sqlite"))
