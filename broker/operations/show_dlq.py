"""The dead as JSON, the same on every face."""

from datetime import datetime

from broker.domain.times import show_time
from broker.operations.dlq_status import DeadStanding, DeadStatus
from broker.operations.places import consumer_place
from broker.store.operations import Operation, Target

Json = dict[str, object]


def show_status(status: DeadStatus) -> Json:
    """What monitoring polls."""
    return {"asOf": show_time(status.read_at), "consumers": [show_standing(one) for one in status.standings]}


def show_standing(standing: DeadStanding) -> Json:
    """One consumer's dead."""
    place, count = standing.place, standing.count
    return {
        "channelId": place.channel_id,
        "channelName": place.channel_name,
        "consumerId": place.consumer_id,
        "consumerName": place.consumer_name,
        "deadCount": count.dead,
        "checkpointedCount": count.checkpointed,
        "lastCheckedAt": show_time(place.checked_at),
        "oldestDeadAt": _time(standing.oldest_dead_at),
        "diedLastHour": standing.died_last_hour,
        "maxSize": standing.max_size,
        "utilizationPercent": standing.utilization_percent,
        "totals": count.totals._asdict(),
        "drift": place.drift,
        "auditedAt": _time(place.audited_at),
        "deadLetterQueueUrl": consumer_place(place.channel_id, place.consumer_id, "dlq"),
    }


def show_operation(operation: Operation) -> Json:
    """Work on many dead jobs: what was asked, and how far it is."""
    return {
        "id": operation.id,
        "act": operation.act.value,
        "state": operation.state.value,
        "channelId": operation.channel_id,
        "consumerId": operation.consumer_id,
        "filter": operation.filter,
        "force": operation.force,
        "limit": operation.errand.limit,
        "target": show_target(operation.errand.target),
        "diedUntil": show_time(operation.until),
        "total": operation.total,
        "done": operation.done,
        "skipped": operation.skipped,
        "actor": operation.actor,
        "createdAt": show_time(operation.created_at),
        "changedAt": show_time(operation.changed_at),
        "operationUrl": _operation_url(operation),
    }


def show_target(target: Target | None) -> Json | None:
    """Another consumer, to which a replay goes."""
    return None if target is None else {"channelId": target.channel_id, "consumerId": target.consumer_id}


def _operation_url(operation: Operation) -> str | None:
    if operation.channel_id is None or operation.consumer_id is None:
        return None
    return consumer_place(operation.channel_id, operation.consumer_id, "operation", operation.id)


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else show_time(moment)
