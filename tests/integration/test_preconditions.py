"""Changes under conditions: nobody overwrites what they have not seen."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from threading import Barrier

from tests.support.brokers import ADMIN, Broker
from tests.support.calls import code_of, faults, get, parsed, put

PLACES = ["/producer/p", "/channel/c", "/channel/c/consumer/k"]
FAILED = (412, "precondition-failed")


def furnish(broker: Broker) -> None:
    for path in PLACES:
        put(broker.client, path, **({"type": "pull"} if path.endswith("/k") else {}))


def http_date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


def change(broker: Broker, path: str, name: str, **conditions: str) -> tuple[int, str]:
    headers = {**ADMIN, **{header.replace("_", "-"): text for header, text in conditions.items()}}
    answer = broker.client.put(path, json={"name": name}, headers=headers)
    return (200, "") if answer.status_code == 200 else code_of(answer)


def test_last_modified_is_the_time_of_the_change_to_the_second(broker: Broker) -> None:
    furnish(broker)
    for path in PLACES:
        answer = broker.client.get(path, headers=ADMIN)
        changed = datetime.fromisoformat(parsed(answer)["changedAt"])
        assert answer.headers["Last-Modified"] == http_date(changed.replace(microsecond=0))
        made = broker.client.put(path, json={}, headers=ADMIN)
        assert made.headers["Last-Modified"] == answer.headers["Last-Modified"]
        assert made.headers["ETag"] == answer.headers["ETag"]


def test_a_change_is_made_when_its_conditions_hold_and_refused_when_not(broker: Broker) -> None:
    furnish(broker)
    for path in PLACES:
        answer = broker.client.get(path, headers=ADMIN)
        tag, modified = answer.headers["ETag"], parsedate_to_datetime(answer.headers["Last-Modified"])
        earlier, later = http_date(modified - timedelta(seconds=1)), http_date(modified + timedelta(seconds=1))
        for conditions in (
            {"If_Match": '"other"'},
            {"If_Match": f"W/{tag}"},
            {"If_Match": tag.strip('"')},
            {"If_None_Match": "*"},
            {"If_Unmodified_Since": earlier},
            {"If_Match": tag, "If_Unmodified_Since": earlier},
            {"If_Match": '"other"', "If_Unmodified_Since": later},
        ):
            assert change(broker, path, "refused", **conditions) == FAILED, conditions
        assert get(broker.client, path)["name"] != "refused"
        for conditions in (
            {"If_Match": tag},
            {"If_Match": "*"},
            {"If_Unmodified_Since": http_date(modified + timedelta(hours=1))},
            {},
        ):
            assert change(broker, path, f"made with {[*conditions]}", **conditions) == (200, ""), conditions
        assert change(broker, path, "stale", If_Match=tag) == FAILED
        fresh = broker.client.get(path, headers=ADMIN).headers["ETag"]
        assert change(broker, path, "one of many", If_Match=f'"other", {fresh}') == (200, "")


def test_the_second_that_was_shown_is_late_enough(broker: Broker) -> None:
    furnish(broker)
    for path in PLACES:
        shown = broker.client.get(path, headers=ADMIN).headers["Last-Modified"]
        assert change(broker, path, "again", If_Unmodified_Since=shown) == (200, "")


def test_a_condition_on_what_does_not_exist(broker: Broker) -> None:
    furnish(broker)
    for path in ("/producer/new", "/channel/new", "/channel/c/consumer/new"):
        fields = {"type": "pull"} if "consumer" in path else {}
        for condition in ('"r1"', "*"):
            refused = broker.client.put(path, json=fields, headers={**ADMIN, "If-Match": condition})
            assert code_of(refused) == FAILED
            assert broker.client.get(path, headers=ADMIN).status_code == 404
        made = broker.client.put(path, json=fields, headers={**ADMIN, "If-None-Match": "*"})
        assert made.status_code == 200


def test_a_condition_that_cannot_be_read_is_refused_by_name(broker: Broker) -> None:
    furnish(broker)
    for date in (
        "yesterday",
        "2030-01-01T00:00:00Z",
        "Fri, 31 Dec 9999 23:59:59 -0100",
        "Mon, 01 Jan 2020 0:0 +" + "9" * 30,
    ):
        headers = {**ADMIN, "If-Unmodified-Since": date}
        assert faults(broker.client.put("/channel/c", json={}, headers=headers)) == ["If-Unmodified-Since"], date
    headers = {**ADMIN, "If-None-Match": '"r1"'}
    assert faults(broker.client.put("/channel/c", json={}, headers=headers)) == ["If-None-Match"]


def test_a_delete_respects_the_same_conditions(broker: Broker) -> None:
    furnish(broker)
    for path in reversed(PLACES):
        tag = broker.client.get(path, headers=ADMIN).headers["ETag"]
        put(broker.client, path, name="changed")
        assert code_of(broker.client.delete(path, headers={**ADMIN, "If-Match": tag})) == FAILED
        old = {**ADMIN, "If-Unmodified-Since": "Tue, 01 Jan 2019 00:00:00 GMT"}
        assert code_of(broker.client.delete(path, headers=old)) == FAILED
        fresh = broker.client.get(path, headers=ADMIN).headers["ETag"]
        assert broker.client.delete(path, headers={**ADMIN, "If-Match": fresh}).status_code == 204


def test_the_tag_of_a_deleted_thing_does_not_fit_its_successor(broker: Broker) -> None:
    furnish(broker)
    for path in reversed(PLACES):
        tag = broker.client.get(path, headers=ADMIN).headers["ETag"]
        assert broker.client.delete(path, headers=ADMIN).status_code == 204
        put(broker.client, path, **({"type": "pull"} if path.endswith("/k") else {}))
        assert change(broker, path, "stale", If_Match=tag) == FAILED
        broker.client.delete(path, headers=ADMIN)


def test_of_two_who_change_what_they_both_saw_exactly_one_wins(broker: Broker) -> None:
    furnish(broker)
    with ThreadPoolExecutor(2) as pool:
        for path in PLACES * 8:
            tag = broker.client.get(path, headers=ADMIN).headers["ETag"]
            start = Barrier(2)

            def race(name: str, path: str = path, tag: str = tag, start: Barrier = start) -> tuple[int, str]:
                start.wait(10)
                return change(broker, path, name, If_Match=tag)

            outcomes = dict(zip(("one", "two"), pool.map(race, ("one", "two")), strict=True))
            assert sorted(outcomes.values()) == [(200, ""), FAILED]
            assert outcomes[get(broker.client, path)["name"]] == (200, "")


def test_of_two_who_create_the_same_id_exactly_one_wins(broker: Broker) -> None:
    put(broker.client, "/channel/c")
    with ThreadPoolExecutor(2) as pool:
        for number in range(8):
            for path in (f"/producer/{number}", f"/channel/{number}", f"/channel/c/consumer/{number}"):
                start = Barrier(2)

                def race(_: int, path: str = path, start: Barrier = start) -> int:
                    start.wait(10)
                    headers = {**ADMIN, "If-None-Match": "*"}
                    fields = {"type": "pull"} if "consumer" in path else {}
                    return broker.client.put(path, json=fields, headers=headers).status_code

                assert sorted(pool.map(race, range(2))) == [200, 412], path
