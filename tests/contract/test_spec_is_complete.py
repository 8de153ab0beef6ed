"""The description of the API says all that the program does, and nothing that it does not."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV31SpecValidator

from broker.api.problems import STATUS
from broker.domain.errors import FieldProblem
from broker.domain.overrides import parse_overrides
from broker.domain.setting import Setting
from broker.domain.setting_texts import LARGEST_CERTIFICATES, Certificates
from broker.domain.setting_times import Duration, Durations
from broker.domain.setting_types import Choice, Flag, Integer, Number
from broker.domain.settings import overridable
from broker.resources import resource
from tests.support.brokers import make_broker

METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}
NOT_SETTINGS = {"token", "name", "paused", "deadChannel", "type", "callbackUrl", "signingSecret", "retry"}
SETTINGS = pytest.mark.parametrize("setting", overridable(), ids=lambda setting: setting.key)


@pytest.fixture(scope="module")
def spec() -> Mapping[str, Any]:
    """The description as it is served."""
    found: Mapping[str, Any] = yaml.safe_load(resource("api-spec/openapi.yaml").read_bytes())
    return found


def test_it_is_a_valid_openapi_document(spec: Mapping[str, Any]) -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(dict(spec)).iter_errors()] == []


def test_routes_and_described_operations_are_the_same(spec: Mapping[str, Any], sqlite_url: str) -> None:
    rules = make_broker(sqlite_url, upgrade=False).app.url_map.iter_rules()
    served = {
        (method.lower(), _camel(rule.rule)) for rule in rules for method in (rule.methods or ()) if method != "HEAD"
    }
    described = {(method, path) for path, item in spec["paths"].items() for method in item if method in METHODS}
    assert served == described


def test_problem_codes_are_the_same(spec: Mapping[str, Any]) -> None:
    assert set(spec["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]) == set(STATUS)


def test_described_problems_have_the_status_of_their_code(spec: Mapping[str, Any]) -> None:
    pairs = {pair for response in spec["components"]["responses"].values() for pair in _codes(response)}
    assert pairs == {(code, status) for code, (status, _) in STATUS.items()} - {
        ("method-not-allowed", 405),
        ("internal", 500),
    }, "those two are described in the introduction"


def test_every_operation_has_its_own_id_and_known_answers(spec: Mapping[str, Any]) -> None:
    operations = [one for item in spec["paths"].values() for name, one in item.items() if name in METHODS]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    assert all(min(operation["responses"]) in {"200", "201", "202", "204"} for operation in operations)


@pytest.mark.parametrize("kind", ["ChannelInput", "ConsumerInput", "Settings"])
def test_settings_that_can_be_overridden_are_the_same(spec: Mapping[str, Any], kind: str) -> None:
    described = set(spec["components"]["schemas"][kind]["properties"]) - NOT_SETTINGS
    assert described == {setting.json_name for setting in overridable()}


@SETTINGS
def test_shown_settings_have_the_ranges_of_the_program(spec: Mapping[str, Any], setting: Setting) -> None:
    shown = spec["components"]["schemas"]["Settings"]["properties"][setting.json_name]
    alternatives = shown.get("anyOf", [shown])
    assert ({"const": "none"} in alternatives) == setting.optional
    assert {name: value for name, value in alternatives[0].items() if name != "pattern"} == _schema_of(setting)


@SETTINGS
@pytest.mark.parametrize("kind", ["ChannelInput", "ConsumerInput"])
def test_taken_settings_have_the_ranges_of_the_program(spec: Mapping[str, Any], setting: Setting, kind: str) -> None:
    schema = _resolved(spec, spec["components"]["schemas"][kind]["properties"][setting.json_name])
    wanted = _schema_of(setting)
    assert {name: schema[name] for name in wanted if name not in ("type", "enum", "items")} == {
        name: value for name, value in wanted.items() if name not in ("type", "enum", "items")
    }
    assert schema.get("enum", []) == [*wanted["enum"], None] if "enum" in wanted else "null" in schema["type"]


@SETTINGS
@given(data=st.data())
def test_described_texts_of_settings_are_taken(spec: Mapping[str, Any], setting: Setting, data: st.DataObject) -> None:
    schema = _resolved(spec, spec["components"]["schemas"]["ChannelInput"]["properties"][setting.json_name])
    taken = [] if "pattern" not in schema else [data.draw(st.from_regex(schema["pattern"], fullmatch=True))]
    assert [problem for text in taken for problem in _problems(setting, text)] == []
    assert ("none" in schema.get("pattern", "")) == setting.optional


def _problems(setting: Setting, value: object) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    parse_overrides({setting.json_name: value}, problems)
    return problems


def _schema_of(setting: Setting) -> dict[str, Any]:
    kind = setting.kind
    if isinstance(kind, Choice):
        return {"enum": list(kind.choices)}
    if isinstance(kind, Flag):
        return {"type": "boolean"}
    if isinstance(kind, Certificates):
        return {"type": "string", "maxLength": LARGEST_CERTIFICATES}
    if isinstance(kind, Integer):
        return {"type": "integer", "minimum": kind.low, "maximum": kind.high}
    if isinstance(kind, Durations):
        item = {"type": "number", "minimum": kind.item.low, "maximum": kind.item.high}
        return {"type": "array", "minItems": 1, "maxItems": 50, "items": item}
    assert isinstance(kind, Number | Duration), kind
    return {"type": "number", "minimum": kind.low, "maximum": kind.high}


def _resolved(spec: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema["$ref"].rpartition("/")[2]
    found: Mapping[str, Any] = spec["components"]["schemas"][name]
    return found


def _codes(response: Mapping[str, Any]) -> set[tuple[str, int]]:
    parts = response.get("content", {}).get("application/problem+json", {}).get("schema", {}).get("allOf", [])
    found = set()
    for properties in (part["properties"] for part in parts if "properties" in part):
        codes = properties["code"].get("enum", [properties["code"].get("const")])
        found |= {(code, properties["status"]["const"]) for code in codes}
    return found


def _camel(rule: str) -> str:
    """`/producer/<producer_id>` as the description writes it."""
    return re.sub(r"<(\w+)_id>", r"{\1Id}", rule)
