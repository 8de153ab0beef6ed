"""An audit as JSON, the same on every face."""

from broker.dlq.auditor import Audit, Finding
from broker.domain.times import show_time
from broker.operations.parts import Parts
from broker.store.audits import Broken
from broker.store.dlq_status import Place, places

Json = dict[str, object]


def show_audit(parts: Parts, audit: Audit) -> Json:
    """What was recounted, and what was off; a consumer that is deleted since has no ids."""
    found = parts.database.read("name consumers", lambda c: places(c, None, None)) if not _is_clean(audit) else []
    names = {one.key: one for one in found}
    return {
        "consumers": audit.consumers,
        "dead": audit.dead,
        "findings": [_finding(one, names.get(one.consumer_key)) for one in audit.findings],
        "broken": [_broken(one, names.get(one.consumer_key)) for one in audit.broken],
        "good": audit.good,
    }


def _is_clean(audit: Audit) -> bool:
    return not (audit.findings or audit.broken)


def _finding(one: Finding, place: Place | None) -> Json:
    counts = {"stored": one.stored, "real": one.real, "drift": one.stored - one.real}
    return {**_ids(place), **counts, "repaired": one.repaired}


def _broken(one: Broken, place: Place | None) -> Json:
    return {
        **_ids(place),
        "checkpointAt": show_time(one.checkpoint_at),
        "expected": one.expected,
        "found": one.found,
    }


def _ids(place: Place | None) -> Json:
    return {
        "channelId": None if place is None else place.channel_id,
        "consumerId": None if place is None else place.consumer_id,
    }
