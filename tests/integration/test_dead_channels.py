"""Dead channels: they exist, are nobody's own, have none themselves; whoever changes what, and in whichever order."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from werkzeug.test import TestResponse

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, get, parsed, put, send
from tests.support.rows import rows
from tests.support.walk import register

ROUNDS = 20


def try_put(broker: Broker, path: str, **fields: object) -> TestResponse:
    return broker.client.put(path, json=fields, headers=ADMIN)


def refusal(broker: Broker, path: str, **fields: object) -> str:
    """Why it was refused; that it names the field and stored nothing is checked here."""
    before = broker.client.get(path, headers=ADMIN).text
    answer = try_put(broker, path, **fields)
    assert faults(answer) == ["deadChannel"]
    after = broker.client.get(path, headers=ADMIN)
    assert after.status_code == 404 or after.text == before
    return str(parsed(answer)["detail"])


def make(broker: Broker, *channels: str) -> None:
    for name in channels:
        put(broker.client, f"/channel/{name}")


def consumer(broker: Broker, channel: str, dead: str | None = None) -> str:
    path = f"/channel/{channel}/consumer/k"
    put(broker.client, path, type="pull", **({} if dead is None else {"deadChannel": dead}))
    return path


def test_a_dead_channel_must_exist(broker: Broker) -> None:
    make(broker, "a")
    assert "does not exist; create it first" in refusal(broker, "/channel/a", deadChannel="missing")
    assert "does not exist; create it first" in refusal(broker, "/channel/new", deadChannel="missing")
    assert "does not exist; create it first" in refusal(broker, consumer(broker, "a"), deadChannel="missing")


def test_a_channel_cannot_be_its_own_dead_channel(broker: Broker) -> None:
    make(broker, "a")
    assert "cannot be the channel itself" in refusal(broker, "/channel/a", deadChannel="a")
    assert "cannot be the channel itself" in refusal(broker, "/channel/new", deadChannel="new")
    assert "cannot be the channel itself" in refusal(broker, consumer(broker, "a"), deadChannel="a")
    fresh = try_put(broker, "/channel/a/consumer/new", type="pull", deadChannel="a")
    assert faults(fresh) == ["deadChannel"]


def test_a_valid_dead_channel_is_kept_and_can_be_changed_and_taken_away(broker: Broker) -> None:
    make(broker, "dead", "dead2", "a")
    for path in ("/channel/a", consumer(broker, "a")):
        assert put(broker.client, path, deadChannel="dead")["deadChannel"] == "dead"
        assert put(broker.client, path, deadChannel="dead2")["deadChannel"] == "dead2"
        assert get(broker.client, path)["deadChannel"] == "dead2"
        assert put(broker.client, path, deadChannel=None)["deadChannel"] is None
    assert put(broker.client, "/channel/b", deadChannel="dead")["deadChannel"] == "dead"
    assert put(broker.client, "/channel/b", deadChannel="")["deadChannel"] is None


def test_no_chain_is_made_towards_a_channel_that_has_a_dead_channel(broker: Broker) -> None:
    make(broker, "c", "a")
    put(broker.client, "/channel/b", deadChannel="c")
    for path in ("/channel/a", "/channel/new", consumer(broker, "a")):
        assert "cannot have its own dead channel" in refusal(broker, path, deadChannel="b")
    put(broker.client, "/channel/b", deadChannel=None)
    assert put(broker.client, "/channel/a", deadChannel="b")["deadChannel"] == "b"


def test_no_chain_is_made_by_a_later_update_of_the_dead_channel(broker: Broker) -> None:
    make(broker, "c", "b")
    put(broker.client, "/channel/a", deadChannel="b")
    assert "is itself a dead channel" in refusal(broker, "/channel/b", deadChannel="c")
    assert "is itself a dead channel" in refusal(broker, consumer(broker, "b"), deadChannel="c")
    put(broker.client, "/channel/a", deadChannel=None)
    assert put(broker.client, "/channel/b", deadChannel="c")["deadChannel"] == "c"


def test_the_dead_channel_of_a_consumer_counts_in_both_directions(broker: Broker) -> None:
    make(broker, "a", "b", "c", "d")
    of_a = consumer(broker, "a", "b")
    assert "is itself a dead channel" in refusal(broker, "/channel/b", deadChannel="c")
    assert "is itself a dead channel" in refusal(broker, consumer(broker, "b"), deadChannel="c")
    assert "cannot have its own dead channel" in refusal(broker, "/channel/d", deadChannel="a")
    assert "cannot have its own dead channel" in refusal(broker, consumer(broker, "d"), deadChannel="a")
    assert broker.client.delete(of_a, headers=ADMIN).status_code == 204
    assert put(broker.client, "/channel/d", deadChannel="a")["deadChannel"] == "a"
    assert put(broker.client, "/channel/b", deadChannel="c")["deadChannel"] == "c"


def test_two_channels_cannot_be_each_others_dead_channel(broker: Broker) -> None:
    make(broker, "a", "b")
    put(broker.client, "/channel/a", deadChannel="b")
    assert "cannot have its own dead channel" in refusal(broker, "/channel/b", deadChannel="a")
    assert get(broker.client, "/channel/b")["deadChannel"] is None


def test_a_dead_channel_in_use_cannot_be_deleted_even_by_force(broker: Broker) -> None:
    make(broker, "dead", "a", "b")
    put(broker.client, "/channel/a", deadChannel="dead")
    of_b = consumer(broker, "b", "dead")
    for release in ("/channel/a", of_b):
        for query in ("", "?force=true"):
            assert code_of(broker.client.delete(f"/channel/dead{query}", headers=ADMIN)) == (409, "in-use")
        assert broker.client.delete(release, headers=ADMIN).status_code == 204
    assert code_of(broker.client.delete("/channel/dead", headers=ADMIN)) == (409, "in-use")
    assert broker.client.delete("/channel/dead?force=true", headers=ADMIN).status_code == 204


def test_a_dead_channel_has_a_built_in_pull_consumer_that_stays_while_it_is_in_use(broker: Broker) -> None:
    client, built_in = broker.client, "/channel/dead/consumer/dead-letters"
    make(broker, "dead")
    assert get(client, "/channel/dead/consumers")["result"] == []
    put(client, "/channel/a", deadChannel="dead")
    assert get(client, "/channel/dead/consumers")["result"] == [built_in]
    assert get(client, built_in)["type"] == "pull"
    consumer(broker, "a", "dead")
    assert len(get(client, "/channel/dead/consumers")["result"]) == 1
    assert [row["dead_count"] for row in rows(broker, "SELECT dead_count FROM dlq_summary")] == [0, 0]
    for query in ("", "?force=true"):
        assert code_of(client.delete(built_in + query, headers=ADMIN)) == (409, "in-use")
    assert client.delete("/channel/a?force=true", headers=ADMIN).status_code == 204
    assert client.delete(built_in, headers=ADMIN).status_code == 204
    put(client, "/channel/a", deadChannel="dead")
    assert get(client, "/channel/dead/consumers")["result"] == [built_in]


def test_the_built_in_consumer_is_protected_also_when_a_user_made_it_first(broker: Broker) -> None:
    make(broker, "dead")
    put(broker.client, "/channel/dead/consumer/dead-letters", type="pull", name="Mine")
    put(broker.client, "/channel/a", deadChannel="dead")
    assert get(broker.client, "/channel/dead/consumer/dead-letters")["name"] == "Mine"
    refused = broker.client.delete("/channel/dead/consumer/dead-letters", headers=ADMIN)
    assert code_of(refused) == (409, "in-use")


def test_a_refused_dead_channel_leaves_no_built_in_consumer_behind(broker: Broker) -> None:
    make(broker, "dead", "a")
    headers = {**ADMIN, "If-Match": '"stale"'}
    assert broker.client.put("/channel/a", json={"deadChannel": "dead"}, headers=headers).status_code == 412
    assert get(broker.client, "/channel/dead/consumers")["result"] == []


def test_what_is_published_to_a_dead_channel_reaches_its_built_in_consumer(broker: Broker) -> None:
    register(broker.client, "dead", ())
    put(broker.client, "/channel/a", deadChannel="dead")
    jobs = get(broker.client, send(broker.client, channel="dead").headers["Location"])["jobs"]
    assert [job["consumerId"] for job in jobs] == ["dead-letters"]


Step = tuple[str, dict[str, Any]]
RACES: dict[str, Callable[[int], tuple[Step, Step]]] = {
    "end to end": lambda n: (
        (f"/channel/a{n}", {"deadChannel": f"b{n}"}),
        (f"/channel/b{n}", {"deadChannel": f"c{n}"}),
    ),
    "in a circle": lambda n: (
        (f"/channel/a{n}", {"deadChannel": f"b{n}"}),
        (f"/channel/b{n}", {"deadChannel": f"a{n}"}),
    ),
    "by consumers": lambda n: (
        (f"/channel/a{n}/consumer/k", {"deadChannel": f"b{n}", "type": "pull"}),
        (f"/channel/b{n}/consumer/k", {"deadChannel": f"c{n}", "type": "pull"}),
    ),
    "with one being made": lambda n: (
        (f"/channel/new{n}", {"deadChannel": f"b{n}"}),
        (f"/channel/b{n}", {"deadChannel": f"c{n}"}),
    ),
}


def test_two_changes_at_once_never_make_a_chain_together(broker: Broker) -> None:
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS * len(RACES)):
            make(broker, f"a{number}", f"b{number}", f"c{number}")
            start = Barrier(2)

            def race(step: Step, start: Barrier = start) -> int:
                start.wait(10)
                return try_put(broker, step[0], **step[1]).status_code

            kind = [*RACES][number % len(RACES)]
            assert sorted(pool.map(race, RACES[kind](number))) == [200, 400], kind


def test_a_dead_channel_taken_while_it_is_deleted_is_either_kept_or_gone(broker: Broker) -> None:
    make(broker, "a")
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS // 2):
            make(broker, f"dead{number}")
            start = Barrier(2)

            def take(name: str, start: Barrier = start) -> int:
                start.wait(10)
                return try_put(broker, "/channel/a", deadChannel=name).status_code

            def drop(name: str, start: Barrier = start) -> int:
                start.wait(10)
                return broker.client.delete(f"/channel/{name}", headers=ADMIN).status_code

            taken, dropped = pool.submit(take, f"dead{number}"), pool.submit(drop, f"dead{number}")
            assert (taken.result(30), dropped.result(30)) in ((200, 409), (400, 204))
            put(broker.client, "/channel/a", deadChannel=None)
