"""The least that must be true of a broker, kept in plain Python beside the two real ones."""

from typing import Any, TypeVar
from urllib.parse import unquote

from tests.properties.sides import Answer, Call

BUILT_IN = "dead-letters"
T = TypeVar("T")
Place = tuple[str, str]


class Model:
    """Which consumers live, and for which of them each message has a job. A consumer made anew is another one."""

    def __init__(self) -> None:
        self._made = 0
        self.consumers: dict[str, dict[str, int]] = {}
        self.messages: dict[Place, set[int]] = {}
        self.scheduled: list[Place] = []

    def job_counts(self) -> dict[Place, int]:
        """How many jobs every message must have: those made for it, less those of consumers that are gone."""
        living = {key for theirs in self.consumers.values() for key in theirs.values()}
        return {place: len(targets & living) for place, targets in self.messages.items()}

    def summaries(self) -> dict[Place, int]:
        """How many summary rows every consumer must have: one."""
        return {(channel, name): 1 for channel, theirs in self.consumers.items() for name in theirs}

    def some_consumer(self, which: int) -> Place:
        """One that lives, or now and then one that does not."""
        return _pick(which, [*self.summaries(), ("c", "nobody")])

    def some_channel(self, which: int) -> str:
        """One that lives, or now and then one that does not."""
        return _pick(which, [*self.consumers, "no channel"])

    def some_message(self, which: int) -> Place:
        """One that is there, or now and then one that is not."""
        return _pick(which, [*self.messages, ("c", "nothing")])

    def some_scheduled(self, which: int) -> Place:
        """One that was scheduled, due or not, there or not; or now and then another message."""
        return _pick(which, [*self.scheduled, self.some_message(which)])

    def put(self, call: Call, answer: Answer) -> None:
        """A channel or consumer was created or changed; naming a dead channel gives that one its built-in consumer."""
        if answer.status != 200:
            return
        _, channel, *rest = _segments(call.path)
        self.consumers.setdefault(channel, {})
        if rest:
            self._add(channel, rest[1])
        if answer.body["deadChannel"] is not None:
            self._add(answer.body["deadChannel"], BUILT_IN)

    def deleted(self, call: Call, answer: Answer) -> None:
        """A channel, consumer or scheduled message is gone."""
        if answer.status != 204:
            return
        _, channel, *rest = _segments(call.path)
        if not rest:
            del self.consumers[channel]
            self.messages = {place: targets for place, targets in self.messages.items() if place[0] != channel}
        elif rest[0] == "consumer":
            del self.consumers[channel][rest[1]]
        else:
            del self.messages[channel, rest[1]]

    def published(self, channel: str, message_id: str | None, answer: Answer) -> None:
        """201 for a new id only, 409 for a taken one only."""
        taken = (channel, message_id) in self.messages
        assert (answer.status == 409) <= taken, "a free id was refused"
        assert (answer.status == 201) <= (not taken), "an id was taken twice"
        if answer.status == 201:
            self._store(channel, answer.headers["Location"])

    def batch_published(self, channel: str, items: list[Any], answer: Answer) -> None:
        """As for single messages, item by item."""
        results = answer.body["results"] if answer.status == 200 else []
        for item, result in zip(items, results, strict=bool(results)):
            headers = {"Location": result.get("location", "")}
            self.published(channel, item.get("messageId"), Answer(result["status"], headers, None))

    def _store(self, channel: str, location: str) -> None:
        place = channel, _segments(location)[3]
        assert place not in self.messages
        self.messages[place] = set(self.consumers[channel].values())
        if "/scheduled-message/" in location:
            self.scheduled.append(place)

    def _add(self, channel: str, name: str) -> None:
        self._made += 1
        self.consumers[channel].setdefault(name, self._made)


def _segments(path: str) -> list[str]:
    return [unquote(segment) for segment in path.split("/")[1:]]


def _pick(which: int, known: list[T]) -> T:
    return known[which % len(known)]
