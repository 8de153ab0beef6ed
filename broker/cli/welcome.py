"""What `broker up` tells a newcomer."""

import secrets
from pathlib import Path

import click

from broker.config import Settings

TOKEN_FILE = "admin-token"  # noqa: S105 - the name of a file
SQLITE = "sqlite:///"


def kept_token(settings: Settings) -> str:
    """The admin token made at the first start, kept beside the data and readable by its owner only."""
    url = settings.database_url
    file = (Path(url.removeprefix(SQLITE)).parent if url.startswith(SQLITE) else Path("var")) / TOKEN_FILE
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(24))
    return file.read_text().strip()


def address(settings: Settings) -> str:
    """Where a browser or curl on this machine finds the broker."""
    host = settings.listen.host
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - only told, not bound
        return f"http://127.0.0.1:{settings.listen.port}"
    return f"http://{settings.listen}"


def welcome(settings: Settings) -> str:
    """Address, token, and three lines to paste."""
    told = "Three lines to paste into another terminal: make a channel with a consumer, publish, see it stored."
    return page(settings, told, _lines(address(settings), str(settings.admin_token)))


def page(settings: Settings, told: str, lines: str) -> str:
    """Address, token, what there is to tell, and lines to paste."""
    return f"""
  The broker is up at  {click.style(address(settings), bold=True)}
  Admin token          {click.style(str(settings.admin_token), bold=True)}
  Database             {settings.masked()["database_url"]}

  {told}

{lines}

  Ctrl-C stops it.
"""


def _lines(url: str, token: str) -> str:
    admin = f"curl -sS -H 'Authorization: Bearer {token}'"
    tokens = (
        "-H 'X-Broker-Channel-Token: hello-token' -H 'X-Broker-Producer-ID: me' -H 'X-Broker-Producer-Token: my-token'"
    )
    registry = (("producer/me", "token=my-token"), ("channel/hello", "token=hello-token"))
    calls = [*registry, ("channel/hello/consumer/first", "type=pull")]
    return "\n".join(
        (
            "; ".join(f"{admin} -X PUT {url}/{path} -d {field}" for path, field in calls),
            f"curl -sS -i {url}/channel/hello/broadcast {tokens} -H 'Content-Type: text/plain' -d 'Hello, broker'",
            f"curl -sS {url}/channel/hello/messages-status -H 'X-Broker-Channel-Token: hello-token'",
        )
    )
