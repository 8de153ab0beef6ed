"""`broker up --demo`: loaded for it alone."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from broker.cli.context import CliContext
from broker.cli.errors import Refused
from broker.cli.welcome import address, page
from broker.config import Settings
from broker.demo.plan import A_SECOND, CHANNEL, HOST, MOST, NETWORK, consumers
from broker.demo.seeding import NotOurs, seed
from broker.operations.parts import Parts
from broker.runtime.ports import free_port

Companions = Callable[..., AbstractContextManager[object]]


def allow(context: CliContext, on_server: bool) -> None:
    """Deliveries may go to the address of the demo's target, to nothing else that they could not go to before."""
    settings = context.load_settings()
    if not settings.database_url.startswith("sqlite") and not on_server:
        where = settings.masked()["database_url"]
        raise Refused(f"The demo would write to {where}, which others may use. If it shall: --demo-on-server.")
    allowed = [str(one) for one in settings.delivery_allowed_networks]
    context.options["delivery_allowed_networks"] = [*allowed, NETWORK]


@contextmanager
def beside(parts: Parts, companion: Companions) -> Iterator[None]:
    """The demo plays beside the engine, which stops first, so that it finds its target to the end."""
    port = _port()
    try:
        seed(parts, port)
    except NotOurs as refusal:
        raise Refused(str(refusal)) from refusal
    finally:
        parts.database.dispose()
    with companion("demo", "play", "--port", str(port)), companion("work"):
        yield


def _port() -> int:
    try:
        return free_port(HOST)
    except OSError as error:
        raise Refused(f"The demo's target cannot listen at {HOST} on this machine: {error.strerror}.") from error


def greeting(settings: Settings) -> str:
    """What there is, and three lines to paste that look at it."""
    return page(settings, _told(settings), _lines(settings))


def _told(settings: Settings) -> str:
    *others, last = consumers(0)
    return f"""The demo: channel {CHANNEL!r} with the consumers {", ".join(others)} and {last}; {A_SECOND} messages a \
second, {MOST:,} at most.
  Its target listens at {HOST}, on this machine alone: while this runs, deliveries to that one address are allowed.
  To remove it:  {_broker(settings)} demo remove

  Three lines to paste into another terminal, a minute from now: who has dead, what Prometheus sees, a table."""


def _lines(settings: Settings) -> str:
    monitor = settings.monitor_token
    curl = "curl -sS" if monitor is None else f"curl -sS -H 'Authorization: Bearer {monitor}'"
    url = address(settings)
    return "\n".join(
        (
            f"{curl} {url}/dlq-status",
            f"{curl} {url}/metrics | grep ^dead_job_count",
            f"{_broker(settings)} dlq status --channel {CHANNEL}",
        )
    )


def _broker(settings: Settings) -> str:
    """The command as it can be called from here, on this broker."""
    program = "broker" if shutil.which("broker") else f"{sys.executable} -m broker"
    return f"{program} --url {address(settings)} --token {settings.admin_token}"
