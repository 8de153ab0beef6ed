"""The `broker` command."""

import signal
import sys
from pathlib import Path
from types import FrameType

import click

from broker import __version__
from broker.cli.bench import bench
from broker.cli.channel import channel
from broker.cli.check_dlq import check_dlq
from broker.cli.checkpoint import checkpoint
from broker.cli.config import config
from broker.cli.consumer import consumer
from broker.cli.context import make_context
from broker.cli.database import db
from broker.cli.demo import demo
from broker.cli.dlq import dlq
from broker.cli.job import job
from broker.cli.message import message
from broker.cli.operation import operation
from broker.cli.plugin import TellingPlugins
from broker.cli.producer import producer
from broker.cli.publish import publish
from broker.cli.serving import serve, up
from broker.cli.work import work

INTERRUPTED = 130


@click.group(cls=TellingPlugins, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__)
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="A TOML file with settings.")
@click.option("--database-url", metavar="URL", help="sqlite:///FILE or mysql+pymysql://USER:PASSWORD@HOST/NAME.")
@click.option("--url", envvar="BROKER_URL", metavar="URL", help="Work on a running broker instead of the database.")
@click.option("--token", envvar="BROKER_TOKEN", metavar="TOKEN", help="The admin token for --url.")
@click.pass_context
def cli(
    ctx: click.Context, config_file: Path | None, database_url: str | None, url: str | None, token: str | None
) -> None:
    """A job broker whose dead letters can be counted on.

    \b
    broker up                          start everything on SQLite in ./var
    broker channel create orders       make a channel
    broker publish orders ...          publish to it
    broker dlq status                  how many are dead, of whom, since when
    broker check-dlq -w 10 -c 100      the same for Nagios, with the exit codes of its plugins
    broker --url http://HOST:8080 ...  work on a running broker instead of the database

    \b
    Exit codes:
      0  done
      1  refused by the broker, or not found
      2  wrong usage or settings
      3  the server or the database cannot be reached, or cannot serve now
    """
    ctx.obj = make_context(ctx, config_file, database_url, url, token)


for command in (
    bench,
    channel,
    check_dlq,
    checkpoint,
    config,
    consumer,
    db,
    demo,
    dlq,
    job,
    message,
    operation,
    producer,
    publish,
    serve,
    up,
    work,
):
    cli.add_command(command)


class _CtrlC:
    """Remembers it: a database's driver may turn the interruption of its callback into an error of its own."""

    def __init__(self) -> None:
        self.came = False

    def listen(self) -> None:
        """Unless somebody has decided that it is to be ignored."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt


def main() -> None:
    """Run a command; what the user can mend is told in a sentence, not in a traceback."""
    ctrl_c = _CtrlC()
    ctrl_c.listen()
    try:
        sys.exit(cli.main(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if ctrl_c.came:
            sys.exit(INTERRUPTED)
        if not isinstance(error, click.ClickException):
            raise
        error.show()
        sys.exit(error.exit_code)
