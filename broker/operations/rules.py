"""The rules that apply to a job: its message's own, then its consumer's, its channel's, the broker's."""

from collections.abc import Sequence

from broker.config import Settings
from broker.domain.backoff import RetryRules
from broker.domain.dead_letters import DeadRules
from broker.domain.overrides import resolve
from broker.domain.registry import Overrides
from broker.operations.parts import Parts
from broker.store.engine import Connection
from broker.store.finishing import message_overrides
from broker.store.targets import read_rules


def retry_rules(settings: Settings, *layers: Overrides) -> RetryRules:
    """How it is retried; the first layer that sets something decides."""
    return RetryRules(
        policy=resolve("retry_policy", settings.retry_policy, *layers),
        max_retries=resolve("max_retries", settings.max_retries, *layers),
        base=resolve("retry_base", settings.retry_base, *layers),
        cap=resolve("retry_cap", settings.retry_cap, *layers),
        schedule=resolve("retry_schedule", settings.retry_schedule, *layers),
        jitter=resolve("retry_jitter", settings.retry_jitter, *layers),
    )


def dead_rules(settings: Settings, *layers: Overrides) -> DeadRules:
    """What becomes of it when it dies."""
    return DeadRules(
        enabled=settings.dlq_enabled,
        strategy=resolve("dlq_strategy", settings.dlq_strategy, *layers),
        mode=resolve("dead_letter_mode", settings.dead_letter_mode, *layers),
        max_size=resolve("dlq_max_size", settings.dlq_max_size, *layers),
        full_policy=resolve("dlq_full_policy", settings.dlq_full_policy, *layers),
    )


def max_retries_of(parts: Parts, connection: Connection, jobs: Sequence[tuple[int, str]]) -> list[int]:
    """The limits that apply now to jobs, each given by the keys of its consumer and its message."""
    rows = read_rules(connection, {consumer for consumer, _ in jobs})
    overrides = message_overrides(connection, sorted({message for _, message in jobs}))
    found = []
    for consumer, message in jobs:
        layers = (overrides.get(message, {}), rows[consumer].overrides, rows[consumer].channel_overrides)
        found.append(retry_rules(parts.settings, *layers).max_retries)
    return found
