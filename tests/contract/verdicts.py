"""Findings that are none, each with its reason: rules that a schema cannot say, or that depend on what is stored."""

import json
from typing import Any

from schemathesis import Response
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.openapi.checks import RejectedPositiveData, UseAfterFree

from tests.contract.shaping import AnyCase
from tests.contract.world import CHANNEL

# What is stored decides: the id is unknown or taken, the entry is in use, was changed, or the time has passed.
BY_STATE = {
    "not-found",
    "duplicate-message",
    "unfinished-jobs",
    "in-use",
    "not-deletable",
    "not-dead",
    "precondition-failed",
    "too-soon",
    "not-pull",
    "invalid-cursor",
}
# Rules across fields and calendars, told in the description of the field; (field, what its message says).
BY_RULE = (
    ("If-Unmodified-Since", "must be an HTTP date"),  # the pattern cannot know that February has no 30th
    ("X-Broker-Expires-At", "must be later"),
    ("X-Broker-Metadata-Headers", "is set by the broker"),
    ("X-Broker-Metadata", "contains characters"),
    ("callbackUrl", "is needed for a push consumer"),
    ("callbackUrl", "must be ASCII"),
    ("callbackUrl", "is not an address"),
    ("callbackUrl", "must be an address like"),
    ("callbackUrl", "cannot contain a user name"),
    ("deadChannel", "does not exist"),
    ("deadChannel", "has none of its own"),
    ("deadChannel", "cannot be the channel itself"),
    ("retryBase", "is longer than"),
    ("X-Broker-Overrides.retryBase", "is longer than"),
    ("connectTimeout", "is longer than"),
    ("", "cannot be given together with retry"),
    ("", "is the start of several ids"),
    ("", "is missing: give it here or beside the list"),
    ("jobs", "names a job twice"),
    ("target", "has no consumer"),
    ("channel", "is another one in the body"),
    ("channel", "is needed: there is a consumer"),
    ("NextState", "cannot become"),
    ("NextState", "is not due"),
)


def is_finding(failure: Failure, case: AnyCase, response: Response) -> bool:
    """Whether a failed check says that description and program differ."""
    body = _json(response)
    if isinstance(failure, RejectedPositiveData):
        return not (body.get("code") in BY_STATE or _has_another_token(body, case) or _breaks_a_rule(body))
    if isinstance(failure, AcceptedNegativeData):
        return not body.get("rejected")  # a batch answers for each item on its own
    if isinstance(failure, UseAfterFree):
        return "/known-" not in case.formatted_path  # these tests put it back themselves, see world.py
    return True


def _has_another_token(body: dict[str, Any], case: AnyCase) -> bool:
    """Another generated call has made this channel, and not with the token that is sent."""
    return body.get("code") == "forbidden" and CHANNEL not in case.formatted_path


def _breaks_a_rule(body: dict[str, Any]) -> bool:
    errors = body.get("errors", [])
    return bool(errors) and all(any(_is(error, *rule) for rule in BY_RULE) for error in errors)


def _is(error: dict[str, str], field: str, message: str) -> bool:
    return (not field or error["field"] == field) and message in error["message"]


def _json(response: Response) -> dict[str, Any]:
    try:
        found = json.loads(response.content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
