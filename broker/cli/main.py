"""The `broker` command."""

import sys
from pathlib import Path

import click

from broker import __version__
from broker.cli.config import config
from broker.cli.context import CliContext
from broker.cli.database import db
from broker.cli.serving import serve, up
from broker.config import ConfigError
from broker.domain.errors import BrokerError
from broker.store.schema import SchemaMismatch


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__)
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="A TOML file with settings.")
@click.option("--database-url", metavar="URL", help="sqlite:///FILE or mysql+pymysql://USER:PASSWORD@HOST/NAME.")
@click.option("--url", envvar="BROKER_URL", metavar="URL", help="Work on a running broker instead of the database.")
@click.option("--token", envvar="BROKER_TOKEN", metavar="TOKEN", help="The admin token for --url.")
@click.pass_context
def cli(ctx: click.Context, config_file: Path | None, database_url: str | None, url: str | None, token: str | None) -> None:
    """A job broker whose dead letters can be counted on.

    \b
    broker up                          start everything on SQLite in ./var
    broker channel create orders       make a channel
    broker --url http://HOST:8080 ...  work on a running broker
    """
    options: dict[str, object] = {} if database_url is None else {"database_url": database_url}
    ctx.obj = CliContext(config_file, options, url, token)


for command in (config, db, serve, up):
    cli.add_command(command)


def main() -> None:
    """Run a command; what the user can mend is told in a sentence, not in a traceback."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (BrokerError, ConfigError, SchemaMismatch) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
