"""The manifests, by the schemas of Kubernetes and against each other."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cli import run
from tests.support.deploy_files import KUBERNETES, image, kustomization, manifest, manifests
from tests.support.tools import path_of

SCHEMA = Path(__file__).with_name("servicemonitor.schema.json")
WORKLOADS = (("Job", "broker-migrate"), ("Deployment", "broker"), ("Deployment", "broker-worker"))
DEPLOYMENTS = ("broker", "broker-worker")


def pod_of(kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = manifest(kind, name)["spec"]["template"]["spec"]
    return found


def fits(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


@pytest.mark.tool("kubernetes-validate")
@pytest.mark.parametrize("release", ["1.31", "1.37"])
def test_every_object_follows_the_schema(release: str, tmp_path: Path) -> None:
    files = [file for file in KUBERNETES.iterdir() if file.name not in ("kustomization.yaml", "servicemonitor.yaml")]
    command = (path_of("kubernetes-validate"), "-m", "kubernetes_validate", "--strict", "-k", release)
    told = done(*command, *files)
    assert (told.returncode, told.stdout.count(f"against version {release}")) == (0, 11), told.stdout
    wrong = (KUBERNETES / "api.yaml").read_text().replace("readinessProbe", "readinesProbe")
    (tmp_path / "wrong.yaml").write_text(wrong)
    assert done(*command, tmp_path / "wrong.yaml").returncode != 0


@pytest.mark.tool("check-jsonschema")
def test_the_service_monitor_follows_its_schema(tmp_path: Path) -> None:
    """Ours, of what we use: custom resources are not among the schemas of Kubernetes."""
    command = (path_of("check-jsonschema"), "--schemafile", SCHEMA)
    told = done(*command, KUBERNETES / "servicemonitor.yaml")
    assert told.returncode == 0, told.stdout
    (tmp_path / "wrong.yaml").write_text((KUBERNETES / "servicemonitor.yaml").read_text().replace("- port:", "- prot:"))
    assert done(*command, tmp_path / "wrong.yaml").returncode == 1


def done(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_kustomization_names_every_manifest() -> None:
    files = {file.name for file in KUBERNETES.iterdir()} - {"kustomization.yaml", "secret.example.yaml"}
    assert set(kustomization()["resources"]) == files


@pytest.mark.tool("kubectl")
def test_kubectl_puts_the_kustomization_together() -> None:
    """All of it in one namespace, and the image with the version that the kustomization names."""
    told = done(path_of("kubectl"), "kustomize", KUBERNETES)
    assert told.returncode == 0, told.stderr
    rendered = list(yaml.safe_load_all(told.stdout))
    assert sorted(one["kind"] for one in rendered) == sorted(
        one["kind"] for one in manifests() if one["kind"] != "Secret"
    )
    assert {one["metadata"].get("namespace") for one in rendered if one["kind"] != "Namespace"} == {"broker"}
    version = kustomization()["images"][0]["newTag"]
    assert set(re.findall(r"^ +(?:- )?image: (.+)$", told.stdout, re.MULTILINE)) == {f"dlq-broker:{version}"}


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_everything_that_selects_pods_finds_them(name: str) -> None:
    deployment = manifest("Deployment", name)["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    service = manifest("Service", name)
    spread = [one["labelSelector"]["matchLabels"] for one in pod_of("Deployment", name)["topologySpreadConstraints"]]
    budget = manifest("PodDisruptionBudget", name)["spec"]
    selectors = [deployment["selector"]["matchLabels"], service["spec"]["selector"], budget["selector"]["matchLabels"]]
    assert all(fits(selector, labels) for selector in (*selectors, *spread))
    assert len(spread) == 2
    (container,) = pod_of("Deployment", name)["containers"]
    assert [one["targetPort"] for one in service["spec"]["ports"]] == [one["name"] for one in container["ports"]]


def test_a_disruption_leaves_one_of_each() -> None:
    for name in DEPLOYMENTS:
        assert (
            manifest("Deployment", name)["spec"]["replicas"]
            > manifest("PodDisruptionBudget", name)["spec"]["maxUnavailable"]
        )


def test_prometheus_finds_every_instance() -> None:
    monitor = manifest("ServiceMonitor", "broker")["spec"]
    ports = [one["port"] for one in monitor["endpoints"]]
    for name in DEPLOYMENTS:
        service = manifest("Service", name)
        assert fits(monitor["selector"]["matchLabels"], service["metadata"]["labels"])
        assert service["metadata"]["labels"][monitor["jobLabel"]] == "broker"
        assert service["spec"]["ports"][0]["name"] in ports


@pytest.mark.parametrize(("kind", "name"), WORKLOADS)
def test_pods_may_do_little(kind: str, name: str) -> None:
    pod = pod_of(kind, name)
    (container,) = pod["containers"]
    user, group = map(int, image("USER")[0].split(":"))
    whole = pod["securityContext"]
    assert (whole["runAsNonRoot"], whole["runAsUser"], whole["runAsGroup"]) == (True, user, group)
    assert whole["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert "emptyDir" in pod["volumes"][0]
    assert pod["automountServiceAccountToken"] is False
    assert set(container["resources"]) == {"requests", "limits"}


@pytest.mark.parametrize(("kind", "name"), WORKLOADS)
def test_links_to_services_do_not_pass_for_settings(kind: str, name: str) -> None:
    """A Service `broker` is told to every Pod beside it as BROKER_SERVICE_HOST, which no broker knows."""
    told = run("config", "check", BROKER_SERVICE_HOST="10.0.0.1")
    assert (told.exit_code, "BROKER_SERVICE_HOST" in told.stderr) == (2, True)
    assert pod_of(kind, name)["enableServiceLinks"] is False


@pytest.mark.parametrize("secret", ["broker", "broker-migrate"])
def test_the_example_of_the_secret_starts_nothing(secret: str) -> None:
    blanks = manifest("Secret", secret)["stringData"]
    assert set(blanks.values()) == {""}
    told = run("config", "check", **blanks)
    assert (told.exit_code, "BROKER_DATABASE_URL" in told.stderr) == (2, True)
    assert "secret.example.yaml" not in kustomization()["resources"]


def test_the_settings_are_settings() -> None:
    told = run("config", "check", **manifest("ConfigMap", "broker")["data"])
    assert told.exit_code == 0, told.stderr
