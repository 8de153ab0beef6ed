"""The rules that apply to a job: its message's own, then its consumer's, its channel's, the broker's."""

from broker.config import Settings
from broker.domain.backoff import RetryRules
from broker.domain.dead_letters import DeadRules
from broker.domain.overrides import resolve
from broker.domain.registry import Overrides


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
