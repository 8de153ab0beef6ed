"""The image and the compose file, without a container engine."""

import shutil
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.deploy_files import (
    COMPOSE,
    DEPLOY,
    ROOT,
    compose,
    copied,
    dockerfile,
    environment_file,
    image,
    kustomization,
)
from tests.support.tools import path_of

SECRETS = dict.fromkeys(environment_file(DEPLOY / "docker" / ".env.example"), "secret")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.tool("hadolint")
def test_the_dockerfile_is_as_hadolint_wants_it(tmp_path: Path) -> None:
    done = run(path_of("hadolint"), DEPLOY / "docker" / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")
    (tmp_path / "Dockerfile").write_text("FROM python\nRUN cd /tmp && pip install flask\n")
    assert run(path_of("hadolint"), tmp_path / "Dockerfile").returncode == 1


@pytest.mark.tool("check-jsonschema")
def test_the_compose_file_follows_the_specification(tmp_path: Path) -> None:
    check = (path_of("check-jsonschema"), "--builtin-schema", "vendor.compose-spec")
    done = run(*check, COMPOSE)
    assert done.returncode == 0, done.stdout
    wrong = yaml.safe_load(COMPOSE.read_text())
    wrong["services"]["broker"]["comand"] = ["serve"]
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump(wrong))
    assert run(*check, tmp_path / "compose.yaml").returncode == 1


@pytest.mark.parametrize("name", SECRETS)
def test_nothing_starts_without_a_secret_of_ones_own(name: str) -> None:
    """The example leaves each empty, and there is no default."""
    assert environment_file(DEPLOY / "docker" / ".env.example")[name] == ""
    with pytest.raises(KeyError, match=f"{name} is not set"):
        compose({**SECRETS, name: ""})


def test_the_compose_file_has_all_the_parts() -> None:
    services = compose(SECRETS)["services"]
    assert set(services) == {"mysql", "migrate", "broker", "worker", "prometheus", "grafana"}
    assert services["worker"]["deploy"]["replicas"] == 2
    for name in ("broker", "worker"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert services["migrate"]["depends_on"] == {"mysql": {"condition": "service_healthy"}}


def test_ports_are_open_to_this_machine_only() -> None:
    services = compose(SECRETS)["services"].values()
    ports = [port for service in services for port in service.get("ports", ())]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_containers_of_the_broker_may_do_little() -> None:
    services = compose(SECRETS)["services"]
    for name in ("migrate", "broker", "worker"):
        service = services[name]
        assert (service["read_only"], service["tmpfs"], service["cap_drop"]) == (True, ["/tmp"], ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_image_runs_as_somebody_who_is_not_root() -> None:
    """By number, so that Kubernetes can tell."""
    assert [int(number) > 0 for number in image("USER")[0].split(":")] == [True, True]


def test_what_the_image_is_built_from_is_let_in_and_nothing_else() -> None:
    for _, sources, _ in copied():
        assert [source for source in sources if not let_in(source)] == []
    for path in (".git/config", ".venv/bin/python", "var/broker.db", "deploy/docker/.env", "tests/conftest.py"):
        assert not let_in(path)
    assert let_in("broker/cli/main.py")
    assert not let_in("broker/cli/__pycache__/main.pyc")


def let_in(path: str) -> bool:
    """By the rules of .dockerignore: a pattern names a path with all below it, and the last one that does decides."""
    allowed = True
    for pattern in filter(None, (ROOT / ".dockerignore").read_text().splitlines()):
        bare = pattern.lstrip("!")
        if not pattern.startswith("#") and any(_matches(str(one), bare) for one in (Path(path), *Path(path).parents)):
            allowed = pattern.startswith("!")
    return allowed


def _matches(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatch(Path(path).name, pattern[3:])
    return path != "." and path.count("/") == pattern.count("/") and fnmatch(path, pattern)


def test_every_version_is_that_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    (argument,) = [one.rest for one in dockerfile() if one.word == "ARG" and one.rest.startswith("VERSION=")]
    assert argument == f"VERSION={version}"
    assert compose(SECRETS)["services"]["broker"]["image"] == f"dlq-broker:{version}"
    assert kustomization()["images"] == [{"name": "dlq-broker", "newTag": version}]


def test_the_wheels_of_the_image_are_those_of_the_constraints() -> None:
    (install,) = [one.rest for one in dockerfile() if one.word == "RUN" and "pip wheel" in one.rest]
    assert "--constraint constraints.txt" in install
    assert install.count("--no-cache-dir") == install.count("pip wheel") + install.count(" install ")


@pytest.mark.tool("promtool")
def test_prometheus_of_the_compose_file_knows_every_instance_and_the_rules(tmp_path: Path) -> None:
    file = Path(shutil.copy(DEPLOY / "docker" / "prometheus.yml", tmp_path))
    shutil.copytree(DEPLOY / "prometheus" / "rules", tmp_path / "rules")
    done = run(path_of("promtool"), "check", "config", file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("rules found") == len(list((tmp_path / "rules").iterdir()))
    (scraping,) = yaml.safe_load(file.read_text())["scrape_configs"]
    (shipped,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    assert scraping["job_name"] == shipped["job_name"]
    services = compose(SECRETS)["services"]
    found = {one["names"][0]: one["port"] for one in scraping["dns_sd_configs"]}
    assert {name: f"{port}" in _words(services[name]) for name, port in found.items()} == {
        "broker": True,
        "worker": True,
    }


def _words(service: dict[str, Any]) -> str:
    return f"{service['command']} {service['healthcheck']}"


def test_every_file_that_is_mounted_is_there() -> None:
    mounted = [
        one.split(":")[0] for service in compose(SECRETS)["services"].values() for one in service.get("volumes", ())
    ]
    files = [one for one in mounted if one.startswith(".")]
    assert len(files) == 5
    assert [one for one in files if not (COMPOSE.parent / one).exists()] == []
