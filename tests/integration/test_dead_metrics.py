"""The dead in /metrics: the gauge, the totals, and how the checkpointer is doing."""

from tests.support.brokers import Broker
from tests.support.calls import send
from tests.support.jobs import act, make_jobs
from tests.support.metrics import dead_jobs, sample
from tests.support.pull import puller
from tests.support.rows import rows
from tests.support.states import checkpoint, die
from tests.support.walk import register

HERE = {"channel": "channel", "consumer": "consumer"}


def scrape(broker: Broker) -> str:
    answer = broker.client.get("/metrics")
    assert answer.status_code == 200
    return answer.text


def test_the_gauge_counts_the_dead_of_each_consumer_by_public_ids(broker: Broker) -> None:
    register(broker.client, consumers=("one", "two"))
    jobs = make_jobs(broker.client, 3)
    die(broker, *jobs[:2])
    text = scrape(broker)
    assert "# HELP dead_job_count Number of dead jobs per consumer\n# TYPE dead_job_count gauge" in text
    assert sum(dead_jobs(text).values()) == 2
    assert set(dead_jobs(text)) == {("channel", "one"), ("channel", "two")}


def test_the_gauge_is_right_at_the_next_scrape_after_any_change(broker: Broker) -> None:
    register(broker.client)
    one, two, three = make_jobs(broker.client, 3)
    act(broker.client, "fail", one, two, three)
    assert dead_jobs(scrape(broker)) == {("channel", "consumer"): 3}
    checkpoint(broker)
    assert dead_jobs(scrape(broker)) == {("channel", "consumer"): 3}
    act(broker.client, "retry", one)
    assert dead_jobs(scrape(broker)) == {("channel", "consumer"): 2}
    act(broker.client, "drop", two)
    assert dead_jobs(scrape(broker)) == {("channel", "consumer"): 1}


def test_what_died_and_went_is_counted_by_reason(broker: Broker) -> None:
    client = puller(broker, maxRetries=0)
    make_jobs(broker.client, 2)
    token, (one, two) = client.lease(2)
    assert client.answer("retry", token, one) == ["dead"]
    assert client.answer("retry", token, two, dead=True) == ["dead"]
    act(broker.client, "retry", one)
    act(broker.client, "drop", two)
    text = scrape(broker)
    assert sample(text, "broker_jobs_died_total", reason="RETRIES_EXHAUSTED") == 1
    assert sample(text, "broker_jobs_died_total", reason="REJECTED") == 1
    assert sample(text, "broker_jobs_requeued_total", reason="hand") == 1
    assert sample(text, "broker_jobs_deleted_total", reason="hand") == 1
    assert sample(text, "broker_dlq_died_total", **HERE) == 2
    assert sample(text, "broker_dlq_requeued_total", **HERE) == sample(text, "broker_dlq_deleted_total", **HERE) == 1


def test_what_is_discarded_is_counted_by_reason(broker: Broker) -> None:
    client = puller(broker, maxRetries=0, deadLetterMode="discard")
    make_jobs(broker.client, 1)
    token, job_id = client.take()
    assert client.answer("retry", token, job_id) == ["discarded"]
    assert sample(scrape(broker), "broker_jobs_discarded_total", reason="RETRIES_EXHAUSTED") == 1
    assert dead_jobs(scrape(broker)) == {("channel", "consumer"): 0}


def test_jobs_that_are_dead_from_the_start_are_counted(broker: Broker) -> None:
    register(broker.client)
    assert send(broker.client, {"X-Broker-Hop-Count": "21"}).status_code == 201
    assert sample(scrape(broker), "broker_jobs_died_total", reason="MAX_HOPS") == 1
    assert dead_jobs(scrape(broker)) == {("channel", "consumer"): 1}


def test_a_pull_client_that_takes_a_dead_job_up_again_is_counted(broker: Broker) -> None:
    client = puller(broker)
    (job_id,) = make_jobs(broker.client, 1)
    assert [client.step(job_id, state) for state in ("INFLIGHT", "DEAD", "INFLIGHT")] == [202] * 3
    assert sample(scrape(broker), "broker_jobs_requeued_total", reason="pull") == 1
    assert dead_jobs(scrape(broker)) == {("channel", "consumer"): 0}


def test_the_checkpoint_tells_its_age_its_duration_and_what_it_counted(broker: Broker) -> None:
    register(broker.client)
    assert sample(scrape(broker), "broker_dlq_checkpoint_age_seconds") is None
    die(broker, *make_jobs(broker.client, 2))
    assert checkpoint(broker).counted == 2
    text = scrape(broker)
    age = sample(text, "broker_dlq_checkpoint_age_seconds")
    assert age is not None
    assert 0 <= age < 60
    assert sample(text, "broker_dlq_checkpoint_counted") == 2
    assert sample(text, "broker_dlq_lock_held") == 0
    duration = sample(text, "broker_dlq_checkpoint_duration_seconds")
    assert duration is not None
    assert duration > 0


def test_ages_and_use_are_told_for_each_consumer(broker: Broker) -> None:
    client = puller(broker, dlqMaxSize=4)
    act(broker.client, "fail", *make_jobs(broker.client, 1))
    client.pass_time(3600)
    text = scrape(broker)
    oldest = sample(text, "broker_dlq_oldest_dead_seconds", **HERE)
    assert oldest is not None
    assert 3600 <= oldest < 3660
    assert sample(text, "broker_dlq_utilization_percent", **HERE) == 25
    assert sample(text, "broker_dlq_drift", **HERE) == 0
    assert sample(text, "broker_dlq_stale") == 0


def test_a_lock_that_is_held_is_shown(broker: Broker) -> None:
    values = "'dlq-summary-updater', 'somebody', '2030-01-01', '2100-01-01'"
    statement = f"INSERT INTO `lock` (lockId, owner, attainedAt, expiresAt) VALUES ({values})"
    broker.parts.database.write("test", lambda c: c.exec_driver_sql(statement))
    assert rows(broker, "SELECT owner FROM `lock`")[0]["owner"] == "somebody"
    assert sample(scrape(broker), "broker_dlq_lock_held") == 1
