"""Everything that can go wrong for a caller, each with a stable code that every face shows."""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, NamedTuple, TypeVar

T = TypeVar("T")


class FieldProblem(NamedTuple):
    """One thing that is wrong with one named field."""

    field: str
    message: str


class BrokerError(Exception):
    """A refusal with a stable code; the message is for people and says what to do."""

    code: ClassVar[str] = "internal"

    def __init__(self, detail: str, **members: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.members: Mapping[str, object] = members


class Invalid(BrokerError):
    """What was given breaks a rule; names every field at fault."""

    code = "invalid-request"

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"{p.field}: {p.message}" for p in self.problems))

    @classmethod
    def field(cls, field: str, message: str) -> "Invalid":
        """The common case of a single field at fault."""
        return cls([FieldProblem(field, message)])


class InvalidCursor(BrokerError):
    """A page cursor that this broker did not make."""

    code = "invalid-cursor"


class Unauthorized(BrokerError):
    """Credentials are missing."""

    code = "unauthorized"


class Forbidden(BrokerError):
    """Credentials are wrong."""

    code = "forbidden"


class NotFound(BrokerError):
    """There is no such thing."""

    code = "not-found"


class DuplicateMessage(BrokerError):
    """The channel has a message of this id; `location` points at the first."""

    code = "duplicate-message"


class UnfinishedJobs(BrokerError):
    """A consumer still has work; `unfinishedJobs` says how much."""

    code = "unfinished-jobs"


class InUse(BrokerError):
    """Something else refers to it, so it cannot go or change."""

    code = "in-use"


class NotDeletable(BrokerError):
    """It is too late to delete it."""

    code = "not-deletable"


class NotDead(BrokerError):
    """Only what is dead can be requeued."""

    code = "not-dead"


class PreconditionFailed(BrokerError):
    """It changed since the caller last saw it."""

    code = "precondition-failed"


class NotPull(BrokerError):
    """A consumer whose jobs are pushed."""

    code = "not-pull"


class TooSoon(BrokerError):
    """Scheduled closer than schedule_min_ahead allows."""

    code = "too-soon"


class LengthRequired(BrokerError):
    """A body in chunks: one that breaks off cannot be told from one that ends."""

    code = "length-required"


class TooLarge(BrokerError):
    """More bytes than the broker accepts."""

    code = "too-large"


class UnsupportedMediaType(BrokerError):
    """A content type that this call does not read."""

    code = "unsupported-media-type"


class Unavailable(BrokerError):
    """The database cannot serve now; the same call may succeed in a moment."""

    code = "unavailable"


def judged(raw: object, parse: Callable[[object], T]) -> T | BrokerError:
    """One of many, parsed or refused; what is refused already keeps its refusal."""
    try:
        return raw if isinstance(raw, BrokerError) else parse(raw)
    except BrokerError as refusal:
        return refusal
