"""The API's description: valid, complete, and true to the rules in domain/."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from broker.domain.errors import BrokerError, Invalid
from broker.domain.names import check_public_id
from broker.domain.setting import Setting
from broker.domain.setting_texts import LARGEST_CERTIFICATES, Certificates
from broker.domain.setting_times import Duration, Durations
from broker.domain.setting_types import Choice, Flag, Integer, Number
from broker.domain.settings import overridable

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = yaml.safe_load((ROOT / "api-spec" / "openapi.yaml").read_text(encoding="utf-8"))
COMPONENTS = DOCUMENT["components"]
SCHEMAS = COMPONENTS["schemas"]
OPERATIONS: dict[str, dict[str, Any]] = {
    f"{method.upper()} {path}": {**operation, "shared": item["parameters"]}
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if method != "parameters"
}
PROBLEM_CODES = {
    "invalid-request",
    "invalid-cursor",
    "unauthorized",
    "forbidden",
    "not-found",
    "method-not-allowed",
    "duplicate-message",
    "unfinished-jobs",
    "in-use",
    "not-deletable",
    "not-dead",
    "length-required",
    "precondition-failed",
    "not-pull",
    "too-soon",
    "too-large",
    "unsupported-media-type",
    "unavailable",
    "internal",
}
SIZES = range(1, 12)
NUMBERS = [f"{first}{digit * (size - 1)}" for size in SIZES for first in "0123456789" for digit in "09"]
DURATION_TEXTS = [number + unit for number in NUMBERS for unit in ("", "ms", "s", "m", "h", "d")]


def _inside(node: Any) -> Iterator[Any]:
    """The node and everything below it."""
    yield node
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for child in children:
        yield from _inside(child)


def _resolved(node: Any) -> Any:
    """What a reference points at; anything else is itself."""
    while isinstance(node, dict) and "$ref" in node:
        found: Any = DOCUMENT
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def _problems(schema: Any, value: object) -> list[str]:
    """What the schema has against the value."""
    return [error.message for error in OAS31Validator({**schema, "components": COMPONENTS}).iter_errors(value)]


def _media() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every body, of requests and answers, with the operation it belongs to."""
    for name, operation in OPERATIONS.items():
        for body in (operation.get("requestBody", {}), *map(_resolved, operation["responses"].values())):
            for media in body.get("content", {}).values():
                yield name, media


def _examples(media: dict[str, Any]) -> list[Any]:
    named = [example["value"] for example in media.get("examples", {}).values()]
    return named + ([media["example"]] if "example" in media else [])


def _parameters(operation: dict[str, Any]) -> list[dict[str, Any]]:
    return [_resolved(one) for one in (*operation["shared"], *operation.get("parameters", []))]


def test_the_document_is_valid() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def test_it_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert DOCUMENT["info"]["version"] == project["version"]


def test_every_reference_leads_somewhere() -> None:
    references = [node for node in _inside(DOCUMENT) if isinstance(node, dict) and "$ref" in node]
    assert references and all(_resolved(reference) is not None for reference in references)


def test_nothing_that_is_defined_is_left_unused() -> None:
    used = {node["$ref"] for node in _inside(DOCUMENT) if isinstance(node, dict) and "$ref" in node}
    kinds = ("parameters", "headers", "responses", "schemas")
    assert {f"#/components/{kind}/{name}" for kind in kinds for name in COMPONENTS[kind]} - used == set()


def test_operation_ids_are_unique() -> None:
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(ids) == len(set(ids))


def test_links_lead_to_operations_and_their_parameters() -> None:
    by_id = {operation["operationId"]: operation for operation in OPERATIONS.values()}
    answers = [answer for operation in OPERATIONS.values() for answer in operation["responses"].values()]
    links = [link for answer in answers for link in answer.get("links", {}).values()]
    for link in links:
        names = {parameter["name"] for parameter in _parameters(by_id[link["operationId"]])}
        assert set(link["parameters"]) <= names
    assert links


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_says_what_it_is(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation["operationId"]
    assert "\n" not in operation["summary"]
    assert set(operation["tags"]) <= {tag["name"] for tag in DOCUMENT["tags"]}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_lists_the_refusals_that_can_happen(name: str) -> None:
    operation = OPERATIONS[name]
    places = {parameter["in"] for parameter in _parameters(operation)}
    expected = {"400"} if places & {"path", "query"} or "requestBody" in operation else set()
    expected |= {"404"} if "path" in places else set()
    expected |= {"401", "403", "503"} if operation.get("security", DOCUMENT["security"]) else set()
    expected |= {"413"} if "requestBody" in operation else set()
    assert expected <= operation["responses"].keys()


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_answer_carries_the_request_id_and_every_refusal_is_a_problem(name: str) -> None:
    for status, answer in OPERATIONS[name]["responses"].items():
        assert _resolved(answer)["headers"]["X-Request-ID"] == {"$ref": "#/components/headers/X-Request-ID"}
        if status >= "400":
            assert list(_resolved(answer)["content"]) == ["application/problem+json"]


def test_examples_obey_their_schemas() -> None:
    found = [(name, media["schema"], example) for name, media in _media() for example in _examples(media)]
    assert [(name, _problems(schema, example)) for name, schema, example in found if _problems(schema, example)] == []
    assert len(found) > 10


def test_every_problem_code_is_listed() -> None:
    assert set(SCHEMAS["Problem"]["properties"]["code"]["enum"]) == PROBLEM_CODES
    assert {error.code for error in BrokerError.__subclasses__()} <= PROBLEM_CODES


def test_an_answer_to_a_reader_cannot_hold_a_secret() -> None:
    assert _problems(SCHEMAS["NoSecret"], {"id": "x"}) == []
    assert _problems(SCHEMAS["NoSecret"], {"id": "x", "token": "secret"}) != []
    assert _problems(SCHEMAS["NoSecret"], {"id": "x", "signingSecret": "secret"}) != []


def test_the_pattern_of_ids_is_the_rule_of_ids() -> None:
    pattern = re.compile(SCHEMAS["PublicId"]["pattern"])
    characters = [chr(code) for code in (*range(0x3100), 0xFEFF, 0xFFFD, 0x1F600)]
    ids = [form.format(c) for c in characters for form in ("{}", "{}b", "a{}", "a{}b")]
    ids += [".", "..", "...", ".a", ". ."]
    assert [one for one in ids if bool(pattern.fullmatch(one)) is not _is_public_id(one)] == []


def _is_public_id(text: str) -> bool:
    try:
        return check_public_id("id", text) == text
    except Invalid:
        return False


@pytest.mark.parametrize("place", ["ChannelInput", "ConsumerInput", "Settings"])
def test_every_overridable_setting_is_described(place: str) -> None:
    described = set(SCHEMAS[place]["properties"])
    assert {setting.json_name for setting in overridable()} <= described


@pytest.mark.parametrize("setting", overridable(), ids=lambda setting: setting.key)
def test_settings_have_the_ranges_and_choices_of_the_code(setting: Setting) -> None:
    for place in ("ChannelInput", "ConsumerInput", "Settings"):
        schema = _resolved(SCHEMAS[place]["properties"][setting.json_name])
        assert _limits(schema) == _expected_limits(setting.kind)
        assert _problems(schema, None) == [] if place != "Settings" else _problems(schema, None) != []
        assert bool(_problems(schema, "none")) is not setting.optional


def _limits(schema: dict[str, Any]) -> object:
    ranges = [
        (node["minimum"], node["maximum"]) for node in _inside(schema) if isinstance(node, dict) and "minimum" in node
    ]
    lengths = [node["maxLength"] for node in _inside(schema) if isinstance(node, dict) and "maxLength" in node]
    found = [*ranges, *lengths]
    return found[0] if found else set(schema.get("enum", ["boolean"])) - {None}


def _expected_limits(kind: object) -> object:
    if isinstance(kind, Durations):
        kind = kind.item
    if isinstance(kind, Duration | Integer | Number):
        return kind.low, kind.high
    if isinstance(kind, Flag | Certificates):
        return {"boolean"} if isinstance(kind, Flag) else LARGEST_CERTIFICATES
    assert isinstance(kind, Choice)
    return set(kind.choices)


@pytest.mark.parametrize("setting", overridable(), ids=lambda setting: setting.key)
def test_a_duration_text_that_is_described_is_accepted(setting: Setting) -> None:
    schema = _resolved(SCHEMAS["ChannelInput"]["properties"][setting.json_name])
    pattern = schema.get("pattern") or schema.get("items", {}).get("pattern", "^$")
    kind = setting.kind.item if isinstance(setting.kind, Durations) else setting.kind
    described = [text for text in DURATION_TEXTS if re.search(pattern, text)]
    assert all(isinstance(kind.from_native(text), float) for text in described)
    assert bool(described) is isinstance(kind, Duration)
