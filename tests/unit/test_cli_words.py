"""How words become values, and how values and refusals become words."""

import click
import pytest

from broker.cli.errors import Refused, Unreachable, sentence, told
from broker.cli.output import cell, table
from broker.cli.parameters import settings
from broker.cli.problems import refusal_of
from broker.domain.errors import BrokerError, FieldProblem, Invalid, Unavailable, UnfinishedJobs

CONTEXT = click.Context(click.Command("x"))
OPTION = click.Option(["--set"])


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("5", 5),
        ("-1", -1),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ('{"attempts": 2}', {"attempts": 2}),
        ("30s", "30s"),
        ("linear", "linear"),
        ('"quoted"', '"quoted"'),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_a_setting_is_json_or_text(word: str, value: object) -> None:
    assert settings(CONTEXT, OPTION, (f"key={word}",)) == (("key", value),)


@pytest.mark.parametrize("word", ["", "key", "=value"])
def test_a_setting_needs_a_key_and_a_value(word: str) -> None:
    with pytest.raises(click.BadParameter, match="is not of the form key=value"):
        settings(CONTEXT, OPTION, (word,))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (True, "yes"),
        (False, "no"),
        (1.5, "1.5"),
        (["ü"], '["ü"]'),
        ("plain ü 🐇", "plain ü 🐇"),
        ("\x1b[2J\r\n\x9b", "\\x1b[2J\\r\\n\\x9b"),
        ("\u202e", "\\u202e"),
    ],
)
def test_a_cell_is_one_harmless_line(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    assert table([("id", "state"), ("long-one", None)]) == "id        state\nlong-one  -"


def _every_kind() -> list[BrokerError]:
    made: list[BrokerError] = [kind("Why.") for kind in BrokerError.__subclasses__() if kind is not Invalid]
    return [*made, Invalid([FieldProblem("a", "is odd")])]


@pytest.mark.parametrize("error", _every_kind(), ids=lambda error: error.code)
def test_a_problem_document_becomes_the_error_it_was(error: BrokerError) -> None:
    errors = {"errors": [found._asdict() for found in error.problems]} if isinstance(error, Invalid) else {}
    document = {"type": "x", "title": "x", "status": 400, "code": error.code, "detail": error.detail, **errors}
    found = refusal_of(document)
    assert (type(found), found.detail, sentence(found)) == (type(error), error.detail, sentence(error))


def test_members_of_a_problem_are_kept() -> None:
    found = refusal_of({"code": "unfinished-jobs", "detail": "Wait, or force=true.", "unfinishedJobs": 3})
    assert isinstance(found, UnfinishedJobs)
    assert found.members == {"unfinishedJobs": 3}
    assert sentence(found) == "Wait, or --force. [unfinished-jobs]"


def test_only_what_cannot_serve_is_unreachable() -> None:
    for error in _every_kind():
        expected = Unreachable if isinstance(error, Unavailable) else Refused
        assert type(told(error)) is expected


def test_what_the_driver_said_comes_first() -> None:
    cause = RuntimeError("INSERT secret")
    cause.orig = OSError(2003, "Can't connect")  # type: ignore[attr-defined]
    error = Unavailable("Try again.")
    error.__cause__ = cause
    assert told(error).message == "Can't connect. Try again. [unavailable]"
