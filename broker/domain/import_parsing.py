"""A job that is brought in from elsewhere, as JSON spells it; every field at fault is named."""

import re

from broker.domain import pull_fields as field
from broker.domain.errors import Invalid
from broker.domain.failures import Failure
from broker.domain.importing import MOST_EVENTS, Arrival, ImportedJob, Origin, PastEvent
from broker.domain.items import FIELDS, parse_item
from broker.domain.messages import Publication
from broker.domain.names import check_public_id
from broker.domain.pull_reader import Reader
from broker.domain.states import DeadReason

MOST_RETRIES = 32_767
LONGEST_ACTOR = 255
_OF_THE_MESSAGE = FIELDS - {"messageId", "scheduledFor"}
_OF_THE_JOB = {"sourceJobId", "origin", "state", "deadReason", "error", "history"}
_SOURCE = re.compile(r"[0-9A-Za-z_-]{1,20}")
_EVENT = re.compile(r"[a-z-]{1,20}")


def parse_import(raw: object) -> ImportedJob:
    """A checked job; raises Invalid."""
    if not isinstance(raw, dict):
        raise Invalid.field("job", "must be an object")
    reader = Reader(raw, _OF_THE_MESSAGE | _OF_THE_JOB)
    publication = _publication(reader)
    source = reader.take("sourceJobId", _source, None)
    if raw.get("origin") is not None:
        reader.require("sourceJobId", source, "is needed with an origin")
    origin = reader.take("origin", _origin, Origin())
    reason, failure = _death(reader)
    history = reader.take("history", _history, ())
    reader.check()
    return ImportedJob(publication, source, origin, reason, failure, history)


def _publication(reader: Reader) -> Publication:
    try:
        return parse_item({name: value for name, value in reader.raw.items() if name in _OF_THE_MESSAGE})
    except Invalid as refusal:
        reader.problems += refusal.problems
        return Publication(b"")


def _death(reader: Reader) -> tuple[DeadReason | None, Failure | None]:
    """Only what is dead has a reason to be, and an error."""
    state = reader.take("state", _state, Arrival.QUEUED)
    reason, failure = reader.take("deadReason", _reason, None), reader.take("error", field.failure, None)
    if state is Arrival.DEAD:
        reader.require("deadReason", reason, f"must be one of {', '.join(DeadReason)}, for a job that is dead")
    for name, given in (("deadReason", reason), ("error", failure)):
        if state is Arrival.QUEUED and given is not None:
            reader.refuse(name, "is for a job whose state is dead")
    return reason, failure


def _source(name: str, value: object) -> str:
    if not isinstance(value, str) or not _SOURCE.fullmatch(value):
        raise ValueError("must be 1 to 20 letters, digits, - or _")
    return value


def _state(name: str, value: object) -> Arrival:
    if not isinstance(value, str) or value not in list(Arrival):
        raise ValueError(f"must be {' or '.join(Arrival)}")
    return Arrival(value)


def _reason(name: str, value: object) -> DeadReason:
    if not isinstance(value, str) or value not in list(DeadReason):
        raise ValueError(f"must be one of {', '.join(DeadReason)}")
    return DeadReason(value)


def _origin(name: str, value: object) -> Origin:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    known = {"channelId", "consumerId", "messageId", "errorType", "errorText", "failedAt", "retryCount"}
    reader = Reader(value, known, f"{name}.")
    found = Origin(
        channel_id=reader.take("channelId", _public_id, None),
        consumer_id=reader.take("consumerId", _public_id, None),
        message_id=reader.take("messageId", _public_id, None),
        error_type=reader.take("errorType", field.error_type, None),
        error_text=reader.take("errorText", field.text, None),
        failed_at=reader.take("failedAt", field.time, None),
        retry_count=reader.take("retryCount", _retries, 0),
    )
    reader.check()
    return found


def _history(name: str, value: object) -> tuple[PastEvent, ...]:
    if not isinstance(value, list) or len(value) > MOST_EVENTS:
        raise ValueError(f"must be a list of at most {MOST_EVENTS} events")
    return tuple(_past(f"{name}[{at}]", one) for at, one in enumerate(value))


def _past(name: str, value: object) -> PastEvent:
    if not isinstance(value, dict):
        raise Invalid.field(name, "must be an object")
    reader = Reader(value, {"at", "event", "actor", "errorType", "errorCategory", "detail"}, f"{name}.")
    at = reader.take("at", field.time, None)
    event, actor = reader.take("event", _event, None), reader.take("actor", _actor, None)
    for required, given in (("at", at), ("event", event), ("actor", actor)):
        reader.require(required, given, "is missing")
    past = PastEvent(
        at,
        event,
        actor,
        reader.take("errorType", field.error_type, None),
        reader.take("errorCategory", field.category, None),
        reader.take("detail", field.text, None),
    )
    reader.check()
    return past


def _public_id(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text")
    return check_public_id(name, value)


def _retries(name: str, value: object) -> int:
    return field.whole(value, 0, MOST_RETRIES)


def _event(name: str, value: object) -> str:
    if not isinstance(value, str) or not _EVENT.fullmatch(value):
        raise ValueError("must be 1 to 20 lower-case letters or -")
    return value


def _actor(name: str, value: object) -> str:
    return field.printable(value, LONGEST_ACTOR, "printable characters")
