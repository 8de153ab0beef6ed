"""`broker db`: the schema, and whether the server will do."""

import json

import click

from broker.cli.context import CliContext
from broker.store import schema
from broker.store.engine import Database
from broker.store.probe import Finding, probe


@click.group()
def db() -> None:
    """Bring the schema up to date and check the database."""


@db.command()
@click.option("--to", default="head", show_default=True, help="A revision.")
@click.pass_obj
def upgrade(context: CliContext, to: str) -> None:
    """Run the migrations that are missing. Safe to repeat.

    \b
    broker db upgrade
    """
    database = context.parts().database
    before = schema.current(database)
    schema.upgrade(database, to)
    click.echo(f"The schema is {schema.current(database)} (it was {before or 'not there'}).")


@db.command()
@click.option("--to", required=True, help="A revision, or base for an empty database.")
@click.confirmation_option(prompt="Taking migrations back loses what their tables hold. Go on?")
@click.pass_obj
def downgrade(context: CliContext, to: str) -> None:
    """Take migrations back."""
    database = context.parts().database
    schema.downgrade(database, to)
    click.echo(f"The schema is {schema.current(database) or 'gone'}.")


@db.command()
@click.option("--json", "as_json", is_flag=True, help="For scripts.")
@click.pass_context
def check(ctx: click.Context, as_json: bool) -> None:
    """Compare the live schema with the program's and probe the server; exit code 1 when something is wrong."""
    parts = ctx.obj.parts()
    findings = _schema_findings(parts.database)
    if all(finding.good for finding in findings):
        findings += probe(parts.database, parts.settings.max_payload_bytes)
    _show(findings, as_json)
    ctx.exit(0 if all(finding.good for finding in findings) else 1)


def _schema_findings(database: Database) -> list[Finding]:
    version, head = schema.current(database), schema.head()
    findings = [Finding("schema version", version or "none", version == head, "Run: broker db upgrade")]
    if version == head:
        different = schema.differences(database)
        advice = "The tables were changed by hand; compare them with the migrations."
        findings.append(Finding("tables", "; ".join(different) or "as they should be", not different, advice))
    return findings


def _show(findings: list[Finding], as_json: bool) -> None:
    if as_json:
        rows = [
            {"what": f.what, "found": f.found, "good": f.good, "advice": "" if f.good else f.advice} for f in findings
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for finding in findings:
        mark = click.style("ok ", fg="green") if finding.good else click.style("BAD", fg="red", bold=True)
        click.echo(f"{mark}  {finding.what:24} {finding.found}")
        if not finding.good:
            click.echo(f"     {finding.advice}")
