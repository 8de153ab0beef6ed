"""The processes that the files of deploy/ describe: their commands, environments, health checks and grace times."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.support.brokers import ADMIN_TOKEN
from tests.support.deploy_files import (
    DEPLOY,
    SYSTEMD,
    compose,
    entrypoint,
    environment_file,
    image_environment,
    image_health,
    manifest,
    manifests,
    seconds,
    unit,
)

PASSWORD = "a1b2c3d4e5f60718293a4b5c"
FILLED_IN = {"BROKER_ADMIN_TOKEN": ADMIN_TOKEN, "BROKER_SECRET_KEY": PASSWORD}


class Get(NamedTuple):
    """A health check by HTTP."""

    port: int
    path: str


Health = Get | list[str]


@dataclass(frozen=True)
class Process:
    """One process tree, as its files describe it."""

    command: list[str]
    environment: dict[str, str]
    stop_seconds: float
    health: tuple[Health, ...] = ()


@dataclass(frozen=True)
class Deployment:
    """One way to run the broker."""

    migrate: Process
    api: Process
    worker: Process


def by_compose() -> Deployment:
    """compose.yaml, on the image."""
    services = compose({**FILLED_IN, "MYSQL_PASSWORD": PASSWORD, "GRAFANA_PASSWORD": PASSWORD})["services"]
    return Deployment(*(_service(services[name]) for name in ("migrate", "broker", "worker")))


def _service(service: dict[str, Any]) -> Process:
    test = service["healthcheck"].get("test", ["CMD"])[1:]
    health: tuple[Health, ...] = (test, image_health()) if service["command"] == ["serve"] else (test,) if test else ()
    environment = {**image_environment(), **service["environment"]}
    return Process([*entrypoint(), *service["command"]], environment, seconds(service["stop_grace_period"]), health)


def by_kubernetes() -> Deployment:
    """The manifests, on the image."""
    kinds = (("Job", "broker-migrate"), ("Deployment", "broker"), ("Deployment", "broker-worker"))
    return Deployment(*(_pod(manifest(*one)["spec"]["template"]["spec"]) for one in kinds))


def _pod(pod: dict[str, Any]) -> Process:
    (container,) = pod["containers"]
    environment = {**image_environment(), **_service_links(pod)}
    for source in container["envFrom"]:
        environment |= _given_by(source)
    probes = [one["httpGet"] for name, one in container.items() if name.endswith("Probe")]
    ports = {one["name"]: one["containerPort"] for one in container.get("ports", ())}
    health = tuple(Get(ports[one["port"]], one["path"]) for one in probes)
    stop_seconds = pod.get("terminationGracePeriodSeconds", 30)
    return Process([*entrypoint(), *container["args"]], environment, stop_seconds, health)


def _given_by(source: dict[str, dict[str, str]]) -> dict[str, str]:
    if "configMapRef" in source:
        found: dict[str, str] = manifest("ConfigMap", source["configMapRef"]["name"])["data"]
        return found
    secret = manifest("Secret", source["secretRef"]["name"])["stringData"]
    text = (DEPLOY / "kubernetes" / "secret.example.yaml").read_text()
    return filled_in(secret, text.split("---")[source["secretRef"]["name"] != "broker"])


def _service_links(pod: dict[str, Any]) -> dict[str, str]:
    """What Kubernetes tells each Pod of the Services beside it, unless asked not to."""
    if pod.get("enableServiceLinks") is False:
        return {}
    names = [one["metadata"]["name"].upper().replace("-", "_") for one in manifests() if one["kind"] == "Service"]
    return {f"{name}_SERVICE_HOST": "10.0.0.1" for name in names}


def by_systemd() -> Deployment:
    """The units, on a machine where the package is installed in /opt/broker."""
    return Deployment(*(_unit(name) for name in ("broker-migrate", "broker-api", "broker-worker")))


def _unit(name: str) -> Process:
    keys = unit(SYSTEMD / f"{name}.service")
    environment: dict[str, str] = {}
    for file in keys["EnvironmentFile"]:
        example = SYSTEMD / f"{file.rpartition('/')[2]}.example"
        environment |= filled_in(environment_file(example), example.read_text())
    stop_seconds = seconds(keys.get("TimeoutStopSec", ["90"])[0])
    return Process(shlex.split(keys["ExecStart"][0]), environment, stop_seconds)


def filled_in(values: Mapping[str, str], text: str) -> dict[str, str]:
    """An example with its blanks filled in as its comments say."""
    (url,) = re.findall(r"mysql\+pymysql://\S+", text)
    blanks = {**FILLED_IN, "BROKER_DATABASE_URL": url.replace("PASSWORD", PASSWORD)}
    return {name: value or blanks[name] for name, value in values.items()}


WAYS = {"compose": by_compose, "kubernetes": by_kubernetes, "systemd": by_systemd}
