"""What the files of deploy/ say, read as their own tools read them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "docker" / "compose.yaml"
KUBERNETES = DEPLOY / "kubernetes"
SYSTEMD = DEPLOY / "systemd"


class Instruction(NamedTuple):
    """A line of the Dockerfile: in which stage it stands, its word, and the rest."""

    stage: int
    word: str
    rest: str


def dockerfile() -> list[Instruction]:
    """Every instruction, continued lines joined."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "docker" / "Dockerfile").read_text(), flags=re.MULTILINE)
    found: list[Instruction] = []
    for line in filter(None, re.sub(r"\\\n\s*", " ", text).splitlines()):
        word, rest = line.split(maxsplit=1)
        stage = sum(one.word == "FROM" for one in found) + (word == "FROM") - 1
        found.append(Instruction(stage, word, rest))
    return found


def image(word: str) -> list[str]:
    """What the last stage says with this instruction."""
    last = dockerfile()[-1].stage
    return [one.rest for one in dockerfile() if one.word == word and one.stage == last]


def entrypoint() -> list[str]:
    """The program that every container of the image starts."""
    return [str(one) for one in json.loads(image("ENTRYPOINT")[0])]


def image_health() -> list[str]:
    """The command that tells whether a container is well."""
    return [str(one) for one in json.loads(image("HEALTHCHECK")[0].split(" CMD ")[1])]


def image_environment() -> dict[str, str]:
    """What the image sets, PATH extended as the shell of the base image would have it."""
    pairs = (pair.split("=", 1) for rest in image("ENV") for pair in rest.split())
    return {name: value.replace("$PATH", "/usr/local/bin:/usr/bin:/bin") for name, value in pairs}


def copied() -> list[tuple[int, list[str], str]]:
    """Every COPY from the source tree: its stage, what, and where to."""
    lines = [one for one in dockerfile() if one.word == "COPY" and "--from" not in one.rest]
    parts = [(one.stage, [word for word in one.rest.split() if not word.startswith("--")]) for one in lines]
    return [(stage, words[:-1], words[-1]) for stage, words in parts]


def compose(environment: Mapping[str, str]) -> dict[str, Any]:
    """The compose file with its variables put in; KeyError for one that must be set and is not."""
    found: dict[str, Any] = _interpolated(yaml.safe_load(COMPOSE.read_text()), environment)
    return found


def _interpolated(value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _interpolated(one, environment) for key, one in value.items()}
    if isinstance(value, list):
        return [_interpolated(one, environment) for one in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\$\{(\w+):([-?])([^}]*)\}", lambda found: _variable(found, environment), value)


def _variable(found: re.Match[str], environment: Mapping[str, str]) -> str:
    name, kind, otherwise = found.groups()
    if environment.get(name):
        return environment[name]
    if kind == "?":
        raise KeyError(f"{name} {otherwise}")
    return otherwise


def kustomization() -> dict[str, Any]:
    """Which manifests belong together."""
    found: dict[str, Any] = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    return found


def manifests() -> list[dict[str, Any]]:
    """Every object that the kustomization applies, and the example of the Secret."""
    names = [*kustomization()["resources"], "secret.example.yaml"]
    return [one for name in names for one in yaml.safe_load_all((KUBERNETES / name).read_text())]


def manifest(kind: str, name: str) -> dict[str, Any]:
    """One object."""
    return next(one for one in manifests() if (one["kind"], one["metadata"]["name"]) == (kind, name))


def unit(path: Path) -> dict[str, list[str]]:
    """A unit's keys with all their values; no key of ours stands in two sections."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def environment_file(path: Path) -> dict[str, str]:
    """NAME=VALUE lines, as systemd and compose read them."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {line.partition("=")[0]: line.partition("=")[2] for line in lines}


def seconds(text: str) -> float:
    """A time of compose or systemd that is written in seconds."""
    return float(text.removesuffix("s"))
