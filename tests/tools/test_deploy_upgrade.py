"""Upgrading as docs/installing.md tells it: what runs goes on when a newer version changes the schema under it."""

import httpx
from sqlalchemy import create_engine

from tests.support.brokers import ADMIN, StartBroker
from tests.support.cli import run
from tests.support.deploy_files import manifest
from tests.support.engines import LOOPBACK, StartEngine
from tests.support.target import Target
from tests.support.walk import CHANNEL_TOKEN, PRODUCER_TOKEN, PUBLISHER

NEWER = ("ALTER TABLE message ADD COLUMN ofTheNewVersion INT NULL", "UPDATE alembic_version SET version_num = '9999'")


def test_instances_serve_on_while_a_newer_version_takes_over(
    server_url: str, start_broker: StartBroker, start_engine: StartEngine, target: Target
) -> None:
    url = start_broker(server_url, BROKER_DELIVERY_ALLOWED_NETWORKS=LOOPBACK).url
    start_engine(server_url)
    register(url, target)
    migrate(server_url)
    assert httpx.get(f"{url}/livez").status_code == 200
    assert httpx.get(f"{url}/readyz").status_code == 200
    assert httpx.post(f"{url}/channel/channel/broadcast", content=b"late", headers=PUBLISHER).status_code == 201
    assert [one.body for one in target.wait_for(1)] == [b"late"]
    for command in ("serve", "work"):
        refused = run("--database-url", server_url, command)
        assert (refused.exit_code, "Install the newer broker" in refused.stderr) == (1, True)


def test_no_pod_goes_before_another_is_ready() -> None:
    for name in ("broker", "broker-worker"):
        (container,) = manifest("Deployment", name)["spec"]["template"]["spec"]["containers"]
        ready, live = container["readinessProbe"], container["livenessProbe"]
        assert (ready["httpGet"]["path"], live["httpGet"]["path"]) == ("/readyz", "/livez")
        assert manifest("Deployment", name)["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def register(url: str, target: Target) -> None:
    with httpx.Client(base_url=url, headers=ADMIN) as client:
        client.put("/producer/producer", json={"token": PRODUCER_TOKEN})
        client.put("/channel/channel", json={"token": CHANNEL_TOKEN})
        made = client.put("/channel/channel/consumer/consumer", json={"callbackUrl": target.url()})
        assert made.status_code == 200, made.text


def migrate(database_url: str) -> None:
    """What a newer version's `broker db upgrade` may do: add."""
    with create_engine(database_url).begin() as connection:
        for statement in NEWER:
            connection.exec_driver_sql(statement)
