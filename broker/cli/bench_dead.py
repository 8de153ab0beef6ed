"""`broker bench dlq` and `broker bench checkpoint`: what dead letters cost."""

import click

from broker.bench import checkpoint as bench_checkpoint
from broker.bench import dlq as bench_dlq
from broker.cli.bench_running import json_option, measure, rounds_option
from broker.cli.bench_tables import checkpoint_table, dlq_table
from broker.cli.context import CliContext

_DEAD = click.option(
    "--dead", type=click.IntRange(1000, 100_000_000), default=100_000, show_default=True, help="Dead jobs to be there."
)
_DEATHS = click.option(
    "--deaths", type=click.IntRange(1, 50_000), default=10_000, show_default=True, help="New ones at a checkpoint."
)


@click.command()
@_DEAD
@rounds_option(5)
@click.option(
    "--requests", type=click.IntRange(10, 100_000), default=300, show_default=True, help="A round's /dlq-status."
)
@_DEATHS
@click.option(
    "--rows", type=click.IntRange(100, 10_000_000), default=50_000, show_default=True, help="To purge, and to requeue."
)
@json_option
@click.pass_obj
def dlq(context: CliContext, /, as_json: bool, **amounts: int) -> None:
    """What dead letters cost, with none and with many: asking, counting, purging and requeueing.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench dlq
    broker bench dlq --dead 1000000 --json
    """
    settings, plan = context.load_settings(), bench_dlq.Plan(**amounts)
    measure("dlq", bench_dlq.steps(plan), lambda on: bench_dlq.run(settings, plan, on), dlq_table, as_json)


@click.command()
@_DEAD
@rounds_option(5)
@_DEATHS
@json_option
@click.pass_obj
def checkpoint(context: CliContext, /, as_json: bool, **amounts: int) -> None:
    """Counting the new dead and, in steps, all of them, beside a bare locking count and update, and a full GROUP BY.

    \b
    broker --database-url mysql+pymysql://root@127.0.0.1:3306/ bench checkpoint
    broker bench checkpoint --dead 1000000 --deaths 50000 --json
    """
    settings, plan = context.load_settings(), bench_checkpoint.Plan(**amounts)
    measure(
        "checkpoint",
        bench_checkpoint.steps(plan),
        lambda on: bench_checkpoint.run(settings, plan, on),
        checkpoint_table,
        as_json,
    )
