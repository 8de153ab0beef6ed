"""Pages: every row exactly once in both directions, and a cursor that is not ours is a 400, never SQL."""

import base64
import json
from collections.abc import Iterator

from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, get, put, send_batch
from tests.support.walk import register

LATER = "2999-01-01T00:00:{:02}Z"
CHANNEL = "/channel/channel"
LISTS = ["/producers", "/channels", f"{CHANNEL}/consumers", f"{CHANNEL}/messages", f"{CHANNEL}/scheduled-messages"]


def walk(client: FlaskClient, start: str, direction: str) -> Iterator[list[str]]:
    """Pages from an address to the end in one direction."""
    address: str | None = start
    while address is not None:
        page = get(client, address)
        yield page["result"]
        address = page["pages"].get(direction)


def there_and_back(client: FlaskClient, start: str) -> list[str]:
    """All rows in order; the way back must show the same pages."""
    pages = list(walk(client, start, "next"))
    address = start
    for _ in pages[1:]:
        address = get(client, address)["pages"]["next"]
    back = list(walk(client, address, "previous"))
    assert back == pages[::-1]
    assert "previous" not in get(client, start)["pages"]
    return [row for page in pages for row in page]


def test_130_messages_are_each_shown_once_in_both_directions(broker: Broker) -> None:
    client = broker.client
    register(client)
    items = [{"messageId": f"m{n}", **({} if n % 2 else {"scheduledFor": LATER.format(n % 3)})} for n in range(130)]
    for half in (items[:65], items[65:]):
        send_batch(client, *half)
    for limit in ("limit=25", "limit=7", "limit=100"):
        everything = there_and_back(client, f"{CHANNEL}/messages?{limit}")
        assert sorted(everything) == sorted(f"{CHANNEL}/message/m{n}" for n in range(130))
        for status in (101, 102):
            listed = there_and_back(client, f"{CHANNEL}/messages?{limit}&status={status}")
            assert (len(listed), len(set(listed))) == (65, 65)
        scheduled = there_and_back(client, f"{CHANNEL}/scheduled-messages?{limit}")
        assert (len(scheduled), len(set(scheduled))) == (65, 65)
    times = [get(client, address)["dispatchSchedule"] for address in scheduled]
    assert times == sorted(times)


def test_registry_lists_show_each_entry_once_newest_first(broker: Broker) -> None:
    client = broker.client
    for number in range(10):
        put(client, f"/producer/{number}")
        put(client, f"/channel/{number}")
        put(client, f"/channel/0/consumer/{number}", type="pull")
    for path in ("/producer", "/channel", "/channel/0/consumer"):
        for limit in (1, 4, 10, 11):
            listed = there_and_back(client, f"{path}s?limit={limit}")
            assert listed == [f"{path}/{number}" for number in reversed(range(10))]
            assert len(get(client, f"{path}s?limit={limit}")["result"]) == min(limit, 10)


def test_a_page_has_25_rows_unless_told_otherwise_and_the_last_page_no_next(broker: Broker) -> None:
    for number in range(26):
        put(broker.client, f"/channel/{number}")
    first = get(broker.client, "/channels")
    assert (len(first["result"]), [*first["pages"]]) == (25, ["next"])
    last = get(broker.client, first["pages"]["next"])
    assert (len(last["result"]), [*last["pages"]]) == (1, ["previous"])
    broker.client.delete("/channel/0", headers=ADMIN)
    assert get(broker.client, "/channels")["pages"] == {}
    assert get(broker.client, first["pages"]["next"]) == {"result": [], "pages": {}}


def test_what_is_added_or_removed_while_someone_reads_shifts_no_page(broker: Broker) -> None:
    register(broker.client)
    send_batch(broker.client, *({"messageId": f"m{number}"} for number in range(10)))
    pages = walk(broker.client, f"{CHANNEL}/messages?limit=5", "next")
    first = next(pages)
    send_batch(broker.client, *[{}] * 3)
    assert sorted(first + [row for page in pages for row in page]) == [f"{CHANNEL}/message/m{n}" for n in range(10)]


def test_a_limit_is_a_whole_number_from_1_to_100(broker: Broker) -> None:
    register(broker.client)
    for path in LISTS:
        for limit in (
            "0",
            "101",
            "-1",
            "+5",
            "1.5",
            "x",
            "",
            " 5",
            "٣",
            "1e2",
            "9" * 30,
            "00000001000",
            "0" * 20 + "5",
        ):
            answer = broker.client.get(path, query_string={"limit": limit}, headers=ADMIN)
            assert faults(answer) == ["limit"], (path, limit)
        for limit in ("1", "007", "100"):
            assert broker.client.get(path, query_string={"limit": limit}, headers=ADMIN).status_code == 200


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


FORGED = [
    "1", "{}", "[]", "[null]", "[true]", "[-1]", "[1.5]", f"[{2**63}]", '["1"]', "[1, 2, 3]", "[[1]]", "[ 1]",
    '["2030-01-01T00:00:00Z", "\' OR 1=1 -- xxxxxxx"]', '["yesterday", "00000000000000000000"]', "[1e999]", "[NaN]",
    "[" * 3000, '["2030-01-01T00:00:00Z", 5]', '["2030-01-01T00:00:00Z", "00000000000000000000"]',
]  # fmt: skip


def real_cursors(broker: Broker) -> dict[str, str]:
    """A cursor that each list made itself."""
    client = broker.client
    register(client, "channel", ("one", "two"))
    register(client, "other")
    put(client, "/producer/second")
    send_batch(client, {}, {}, *[{"scheduledFor": LATER.format(n)} for n in range(2)])
    links = {path: get(client, f"{path}?limit=1")["pages"]["next"] for path in LISTS}
    return {path: link.split("next=")[1].split("&")[0] for path, link in links.items()}


def test_a_cursor_that_was_cut_or_forged_or_belongs_elsewhere_is_refused(broker: Broker) -> None:
    cursors = real_cursors(broker)
    for path, cursor in cursors.items():
        foreign = [one for other, one in cursors.items() if ("message" in other) != ("message" in path)]
        forged = ["x", "=", "%", "' OR 1=1", "null", *map(encoded, FORGED)]
        cut = [cursor[:length] for length in range(1, len(cursor))]
        for text in (*foreign, *forged, *cut, cursor + "A", cursor + "===", "A" + cursor):
            for direction in ("next", "previous"):
                answer = broker.client.get(path, query_string={direction: text}, headers=ADMIN)
                assert code_of(answer) == (400, "invalid-cursor"), (path, text)
        both = broker.client.get(path, query_string={"next": cursor, "previous": cursor}, headers=ADMIN)
        assert code_of(both) == (400, "invalid-cursor")
        assert broker.client.get(path, query_string={"next": cursor}, headers=ADMIN).status_code == 200


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.datetimes().map(lambda t: f"{t.isoformat()}Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
CURSORS = TEXTS | JSON.map(lambda one: encoded(json.dumps(one)))


def test_no_text_whatsoever_is_a_cursor_that_breaks_the_broker(broker: Broker) -> None:
    register(broker.client)

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.sampled_from(LISTS), st.sampled_from(["next", "previous"]), CURSORS)
    def probe(path: str, direction: str, cursor: str) -> None:
        answer = broker.client.get(path, query_string={direction: cursor}, headers=ADMIN)
        assert answer.status_code == 200 or code_of(answer) == (400, "invalid-cursor")

    probe()
    assert broker.client.get("/channels", headers=ADMIN).status_code == 200
