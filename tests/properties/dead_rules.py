"""What can happen to dead jobs, as rules of a state machine: two instances, one of whose clocks may be ahead."""

from datetime import timedelta
from itertools import count
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from broker.dlq.checkpointer import Checkpointer, Outcome
from broker.domain.dead_selection import DeadAct, DeadFilter
from broker.operations import bulk
from broker.operations.dead_jobs import delete_dead_job, requeue_dead_job
from broker.operations.reaping import reap_leases
from tests.support.brokers import ADMIN, Broker
from tests.support.calls import put
from tests.support.deaths import MANY_HOPS, consumer_of
from tests.support.jobs import make_jobs
from tests.support.pull import Puller
from tests.support.rows import rows
from tests.support.truth import audit
from tests.support.walk import register

NAMES = ("first", "second", "third")
WHO, WHOSE, WHICH = st.integers(0, 1), st.sampled_from(NAMES), st.integers(0, 9)
LEASE, AT_ONCE = 60, 3
_numbers = count()
_DEAD = (
    "SELECT j.id FROM job j JOIN consumer c ON c.id = j.consumerId JOIN channel k ON k.id = c.channelId"
    " WHERE j.status = 1004 AND c.consumerId = :name AND k.channelId = :channel ORDER BY j.id"
)


class DeadRules(RuleBasedStateMachine):
    """One channel for each example; its consumers come and go."""

    def __init__(self, brokers: tuple[Broker, Broker]) -> None:
        super().__init__()
        self.brokers, self.channel, self.living = brokers, f"channel-{next(_numbers)}", set[str]()

    @initialize(ahead=st.sampled_from([0, 5, 3600]))
    def begin(self, ahead: int) -> None:
        first, second = self.brokers
        second.clock.offset = first.clock.offset + timedelta(seconds=ahead)
        register(first.client, self.channel, ())
        put(first.client, f"/channel/{self.channel}-graves")
        for name in NAMES[:2]:
            self.make(name)

    @rule(name=WHOSE)
    def make(self, name: str) -> None:
        fields = {"type": "pull", "token": f"{name}-token", "deadChannel": f"{self.channel}-graves", "maxRetries": 0}
        put(self.brokers[0].client, f"/channel/{self.channel}/consumer/{name}", **fields)
        self.living.add(name)

    @rule(name=WHOSE)
    def bury(self, name: str) -> None:
        path = f"/channel/{self.channel}/consumer/{name}?force=true"
        assert self.brokers[0].client.delete(path, headers=ADMIN).status_code == (204 if name in self.living else 404)
        self.living.discard(name)

    @rule(who=WHO, number=st.integers(1, 5), hops=st.sampled_from([0, MANY_HOPS]))
    def publish(self, who: int, number: int, hops: int) -> None:
        make_jobs(self.brokers[who].client, number, self.channel, hopCount=hops)

    @rule(who=WHO, name=WHOSE, limit=st.integers(1, 4))
    def reject(self, who: int, name: str, limit: int) -> None:
        if name in self.living:
            token, ids = self._puller(who, name).lease(limit)
            if ids:
                assert set(self._puller(who, name).answer("retry", token, *ids, dead=True)) == {"dead"}

    @rule(who=WHO, name=WHOSE)
    def lose(self, who: int, name: str) -> None:
        """A lease ends without an answer."""
        if name in self.living:
            self._puller(who, name).lease(2)
            self.pass_time(LEASE + 1)
            reap_leases(self.brokers[who].parts)

    @rule(who=WHO, name=WHOSE, which=WHICH, delete=st.booleans(), force=st.booleans())
    def take_back(self, who: int, name: str, which: int, delete: bool, force: bool) -> None:
        parts, job_id = self.brokers[who].parts, self._dead(name, which)
        if job_id is not None and delete:
            delete_dead_job(parts, self._consumer(who, name), job_id, "test", force)
        elif job_id is not None:
            requeue_dead_job(parts, self._consumer(who, name), job_id, "test")

    @rule(who=WHO, name=WHOSE, which=WHICH)
    def take_up(self, who: int, name: str, which: int) -> None:
        job_id = self._dead(name, which)
        if job_id is not None:
            assert self._puller(who, name).step(job_id, "INFLIGHT") == 202

    @rule(who=WHO, other=WHO, name=WHOSE, act=st.sampled_from(DeadAct), cancel=st.booleans())
    def act_on_all(self, who: int, other: int, name: str, act: DeadAct, cancel: bool) -> None:
        """One instance begins, another goes on; cancelled, nothing more is done."""
        if name in self.living:
            started = bulk.start(self.brokers[who].parts, self._consumer(who, name), act, DeadFilter(), "test")
            if cancel:
                bulk.cancel(self.brokers[other].parts, started.id)
            done = bulk.run(self.brokers[other].parts, started.id, 60)
            assert done.done == (0 if cancel else started.total)
            assert cancel or self._dead(name, 0) is None

    @rule(who=WHO)
    def checkpoint(self, who: int) -> None:
        done = Checkpointer(self.brokers[who].parts, AT_ONCE).run(force=True)
        assert done.outcome is Outcome.DONE

    @rule(seconds=st.sampled_from([-20, 1, 31, 700]))
    def pass_time(self, seconds: int) -> None:
        for broker in self.brokers:
            broker.clock.advance(timedelta(seconds=seconds))

    @rule(who=WHO)
    def recount(self, who: int) -> None:
        found = audit(self.brokers[who].parts)
        assert found.good, found

    def _puller(self, who: int, name: str) -> Puller:
        return Puller(self.brokers[who], name, self.channel)

    def _consumer(self, who: int, name: str) -> Any:
        return consumer_of(self.brokers[who].parts, name, self.channel)

    def _dead(self, name: str, which: int) -> str | None:
        if name not in self.living:
            return None
        found = rows(self.brokers[0], _DEAD, name=name, channel=self.channel)
        return str(found[which % len(found)]["id"]) if found else None
