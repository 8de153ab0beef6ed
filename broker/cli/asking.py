"""Asking before something is destroyed."""

import click

from broker.cli.errors import Refused


def confirm(question: str, verb: str, past: str) -> None:
    """Without an answer nothing is done."""
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        agreed = False
    if not agreed:
        raise Refused(f"Nothing was {past}. Give --yes to {verb} without being asked.")
