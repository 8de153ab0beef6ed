"""`broker bench`: how fast it is here, beside the bare limit of the same run."""

import click

from broker.bench import deliver as bench_deliver
from broker.bench import latency as bench_latency
from broker.bench import publish as bench_publish
from broker.bench import together
from broker.cli.bench_dead import checkpoint, dlq
from broker.cli.bench_running import json_option, measure, payload_option, rounds_option, workers_of, workers_option
from broker.cli.bench_tables import all_table, deliver_table, latency_table, publish_table
from broker.cli.context import CliContext


@click.group()
@click.pass_obj
def bench(context: CliContext) -> None:
    """Measure this broker on this machine, on a scratch database that is removed afterwards.

    The user of --database-url must be allowed to create databases; the database named there is not touched. What cannot
    be begun ends with exit code 2, what could not be finished with 1.
    """
    context.refuse_server()


@bench.command("all")
@click.option(
    "--scale", type=click.FloatRange(0.1, 1000), default=1, show_default=True, help="So many times the small sizes."
)
@rounds_option(2)
@workers_option
@json_option
@click.pass_obj
def everything(context: CliContext, scale: float, rounds: int, workers: int | None, as_json: bool) -> None:
    """Every bench in small sizes, in about two minutes, and one table of all figures.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench all
    broker bench all --scale 10 --rounds 5 --json
    """
    settings = context.load_settings()
    plan = together.Plan(scale, rounds, workers_of(settings, workers))
    measure("all", together.steps(plan), lambda on: together.run(settings, plan, on), all_table, as_json)


@bench.command()
@click.option(
    "--messages", type=click.IntRange(500, 10_000_000), default=4000, show_default=True, help="A round's single posts."
)
@click.option("--connections", type=click.IntRange(2, 1000), default=50, show_default=True)
@click.option("--consumers", type=click.IntRange(0, 100), default=1, show_default=True)
@payload_option
@rounds_option(3)
@json_option
@click.pass_obj
def publish(
    context: CliContext, messages: int, connections: int, consumers: int, payload: int, rounds: int, as_json: bool
) -> None:
    """Single posts and batches through HTTP, beside bare inserts of the same rows.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench publish
    broker bench publish --messages 20000 --connections 50 --json
    """
    settings, plan = context.load_settings(), bench_publish.Plan(messages, connections, consumers, payload, rounds)
    measure(
        "publish", bench_publish.steps(plan), lambda on: bench_publish.run(settings, plan, on), publish_table, as_json
    )


@bench.command()
@click.option(
    "--jobs", type=click.IntRange(100, 10_000_000), default=40_000, show_default=True, help="Each side's in a round."
)
@workers_option
@click.option("--consumers", type=click.IntRange(1, 1000), default=5, show_default=True)
@payload_option
@rounds_option(3)
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
@json_option
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
    plan = bench_deliver.Plan(workers=workers_of(settings, workers), payload_bytes=payload, **amounts)
    measure(
        "deliver", bench_deliver.steps(plan), lambda on: bench_deliver.run(settings, plan, on), deliver_table, as_json
    )


@bench.command()
@click.option("--rate", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Messages a second.")
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=10, show_default=True)
@workers_option
@payload_option
@json_option
@click.pass_obj
def latency(context: CliContext, rate: int, seconds: float, workers: int | None, payload: int, as_json: bool) -> None:
    """From a message's commit to its arrival at a local target, and what the engine costs at rest.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench latency
    broker bench latency --rate 20 --seconds 30 --json
    """
    settings = context.load_settings()
    plan = bench_latency.Plan(rate, seconds, workers=workers_of(settings, workers), payload_bytes=payload)
    measure("latency", bench_latency.STEPS, lambda on: bench_latency.run(settings, plan, on), latency_table, as_json)


bench.add_command(dlq)
bench.add_command(checkpoint)
