"""`broker check-dlq`: the dead as a monitoring plugin tells them."""

from pathlib import Path

import click

from broker import __version__
from broker.cli import options
from broker.cli.check_dlq_measures import MEASURES
from broker.cli.check_dlq_question import Question, placed, seconds_of, thresholds_of
from broker.cli.check_dlq_report import report
from broker.cli.context import CliContext
from broker.cli.plugin import Plugin


@click.command("check-dlq", cls=Plugin)
@options.id_option("channel_id", "Only consumers of this channel.")
@options.id_option("consumer_id", "Only consumers of this id.")
@click.option(
    "--metric", type=click.Choice(list(MEASURES)), default="count", show_default=True, help="What is checked."
)
@click.option("-w", "--warning", metavar="RANGE", help="Where it is a warning.")
@click.option("-c", "--critical", metavar="RANGE", help="Where it is critical.")
@click.option("--total", is_flag=True, help="Check the sum over all consumers, not each; for count and growth.")
@click.option("--url", metavar="URL", help="The broker's address; without it (and BROKER_URL) the database is asked.")
@click.option("--token", metavar="TOKEN", help="The monitor token or the admin token; else BROKER_TOKEN.")
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Certificates to trust instead of the system's.",
)
@click.option("-t", "--timeout", metavar="DURATION", default="10s", show_default=True, help="Unknown after so long.")
@click.option("-v", "--verbose", count=True, help="Add a line for each consumer.")
@click.version_option(__version__, "-V", "--version", message="broker check-dlq %(version)s")
@click.pass_obj
def check_dlq(  # noqa: PLR0913 - the options of a plugin
    context: CliContext,
    *,
    channel_id: str | None,
    consumer_id: str | None,
    metric: str,
    warning: str | None,
    critical: str | None,
    total: bool,
    url: str | None,
    token: str | None,
    ca_file: Path | None,
    timeout: str,
    verbose: int,
) -> None:
    """A monitoring plugin: tells in one line, with figures behind a bar, whether there are too many dead.

    Every consumer is checked by itself and the worst decides; the sum is told too. With --total the sum decides.

    \b
    Metrics:
      count        how many are dead, exact at this moment
      oldest       how long the longest dead is dead; bounds are durations like 1h
      growth       how many died in the last hour
      checkpoint   how long ago the dead were last counted; bounds are durations
      utilization  the dead in percent of dlqMaxSize; consumers without a limit are left out

    \b
    A RANGE says what is good; both its ends are good:
      10           0 to 10
      10:          10 and more
      ~:10         10 and less
      10:20        10 to 20
      @10:20       all but 10 to 20

    \b
    broker check-dlq --url http://HOST:8080 --token TOKEN -w 10 -c 100
    broker check-dlq --url http://HOST:8080 --channel orders --consumer billing --metric oldest -w 1h -c 1d
    broker check-dlq --metric growth --total -c 500

    \b
    Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (also for this help, wrong usage, and a broker that cannot tell)
    """
    measure = MEASURES[metric]
    thresholds, seconds = thresholds_of(measure, warning, critical), seconds_of(timeout)
    if total and not measure.adds_up:
        raise click.UsageError(f"--total is for count and growth: there is no sum of {metric}.")
    status = Question(channel_id, consumer_id).ask(placed(context, url, token, ca_file), seconds)
    told = report(measure, measure.readings(status), thresholds, total)
    click.echo("\n".join([told.line, *(told.details if verbose else ())]))
    click.get_current_context().exit(told.level)
