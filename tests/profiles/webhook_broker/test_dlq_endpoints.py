"""Seed 004: requeue, deletion, the status endpoint and the metric, sentence by sentence."""

import pytest
import yaml

from broker.domain.states import JobStatus
from broker.resources import resource
from tests.profiles.webhook_broker.dead_letters import (
    CHANNEL,
    CONSUMER,
    TOKENS,
    delete,
    die,
    place,
    requeue,
    requeue_all,
    status,
)  # fmt: skip
from tests.profiles.world import World
from tests.support.brokers import ADMIN
from tests.support.calls import get, parsed
from tests.support.metrics import dead_jobs, sample
from tests.support.rows import value
from tests.support.states import checkpoint


@pytest.fixture(params=["counted", "not counted yet"])
def dead(request: pytest.FixtureRequest, world: World) -> list[str]:
    """Three dead jobs, before and after a checkpoint has counted them."""
    world.channel(CHANNEL, name="Order Events")
    world.pull(CHANNEL, CONSUMER, name="Payment Service")
    ids = die(world, 3)
    if request.param == "counted":
        world.pass_time(1)
        assert checkpoint(world.broker).counted == 3
    return ids


def gauge(world: World) -> float | None:
    text = world.client.get("/metrics").text
    return dead_jobs(text).get((CHANNEL, CONSUMER))


def stored(world: World) -> int:
    return int(value(world.broker, "SELECT dead_count FROM dlq_summary"))


def assert_exact(world: World, count: int) -> None:
    """The endpoint, the metric and the truth say the same, and the stored count is of those that were counted."""
    assert status(world)["deadCount"] == gauge(world) == count
    assert value(world.broker, "SELECT COUNT(*) FROM job WHERE status = 1004") == count
    counted = "SELECT COUNT(*) FROM job, dlq_summary WHERE status = 1004 AND statusChangedAt <= last_checked_at"
    assert stored(world) == value(world.broker, counted)


def test_dlq_status_answers_the_documented_document(world: World, dead: list[str]) -> None:
    documented = {"channelId": CHANNEL, "channelName": "Order Events", "consumerId": CONSUMER,
                  "consumerName": "Payment Service", "deadCount": 3}  # fmt: skip
    (found,) = get(world.client, "/dlq-status")["consumers"]
    assert {name: found[name] for name in documented} == documented


def test_after_requeue_of_one_the_summary_is_decremented_immediately(world: World, dead: list[str]) -> None:
    assert requeue(world, dead[0]).status_code == 202
    assert_exact(world, 2)
    assert world.job(dead[0])["status"] == "QUEUED"


def test_after_requeue_of_all_the_summary_is_decremented_by_the_affected_rows(world: World, dead: list[str]) -> None:
    answer = requeue_all(world)
    assert (answer.status_code, parsed(answer)["requeuedCount"]) == (202, 3)
    assert_exact(world, 0)


def test_a_job_that_another_process_has_requeued_already_is_not_decremented_twice(
    world: World, dead: list[str]
) -> None:
    assert requeue(world, dead[0]).status_code == 202
    assert requeue(world, dead[0]).status_code == 409
    assert parsed(requeue_all(world))["requeuedCount"] == 2
    assert_exact(world, 0)


def test_purge_all_dead_jobs_for_a_consumer(world: World, dead: list[str]) -> None:
    answer = delete(world, "dlq")
    assert (answer.status_code, parsed(answer)["deletedCount"]) == (200, 3)
    assert_exact(world, 0)
    assert world.job(dead[0]) is None


def test_delete_a_single_dead_job(world: World, dead: list[str]) -> None:
    assert delete(world, "job", dead[1]).status_code == 204
    assert_exact(world, 2)
    assert delete(world, "job", dead[1]).status_code == 404
    assert_exact(world, 2)


def test_deletion_is_only_permitted_for_jobs_in_dead_status(world: World, dead: list[str]) -> None:
    (queued,) = world.publish(CHANNEL)
    assert delete(world, "job", queued).status_code == 404
    assert parsed(delete(world, "dlq"))["deletedCount"] == 3
    assert world.job(queued)["status"] == "QUEUED"


def test_deletion_is_only_permitted_for_jobs_that_have_exhausted_retries(world: World, dead: list[str]) -> None:
    (killed,) = world.publish(CHANNEL)
    world.done(world.client.post("/admin/jobs/fail", json={"jobs": [killed]}, headers=ADMIN))
    assert delete(world, "job", killed).status_code == 404
    assert parsed(delete(world, "dlq"))["deletedCount"] == 3
    assert_exact(world, 1)
    assert world.client.delete(place("job", killed) + "?force=true", headers=TOKENS).status_code == 204
    assert_exact(world, 0)


@pytest.mark.parametrize("below", [("dlq",), ("job",)])
@pytest.mark.parametrize("missing", sorted(TOKENS))
def test_deletion_requires_channel_and_consumer_token(
    world: World, dead: list[str], below: tuple[str, ...], missing: str
) -> None:
    path = place(*below, *([dead[0]] if below == ("job",) else []))
    shown = {name: token for name, token in TOKENS.items() if name != missing}
    assert world.client.delete(path, headers=shown).status_code == 401
    assert world.client.delete(path, headers={**TOKENS, missing: "wrong"}).status_code == 403
    assert_exact(world, 3)


def test_the_metric_has_the_documented_name_help_and_labels(world: World, dead: list[str]) -> None:
    text = world.client.get("/metrics").text
    assert "# HELP dead_job_count Number of dead jobs per consumer" in text
    assert "# TYPE dead_job_count gauge" in text
    assert sample(text, "dead_job_count", channel=CHANNEL, consumer=CONSUMER) == 3


def test_datadog_can_alert_on_the_gauge_per_consumer(world: World, dead: list[str]) -> None:
    world.pull(CHANNEL, "search-service")
    found = dead_jobs(world.client.get("/metrics").text)
    assert {key for key, number in found.items() if number > 2} == {(CHANNEL, CONSUMER)}


def test_nagios_can_poll_and_parse_the_status_without_credentials(world: World, dead: list[str]) -> None:
    answer = world.client.get("/dlq-status")
    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    assert max(one["deadCount"] for one in parsed(answer)["consumers"]) == 3


def test_operators_can_discard_dead_jobs_so_that_the_queue_does_not_grow_unbounded(
    world: World, dead: list[str]
) -> None:
    delete(world, "dlq")
    assert get(world.client, place("dlq"))["deadJobs"] == []


@pytest.mark.parametrize(
    ("name", "number"), [("QUEUED", 1001), ("INFLIGHT", 1002), ("DELIVERED", 1003), ("DEAD", 1004)]
)
def test_job_status_constants_are_stored_as_documented(name: str, number: int) -> None:
    assert JobStatus[name] == number


def test_the_api_description_has_the_endpoints_and_the_status_schema() -> None:
    described = yaml.safe_load(resource("api-spec/openapi.yaml").read_text())
    paths = described["paths"]
    assert "get" in paths["/dlq-status"]
    assert "delete" in paths["/channel/{channelId}/consumer/{consumerId}/dlq"]
    assert "delete" in paths["/channel/{channelId}/consumer/{consumerId}/job/{jobId}"]
    assert "DLQStatus" in described["components"]["schemas"]
