"""What `/metrics` says, as values."""

from collections.abc import Iterable

from prometheus_client.parser import text_string_to_metric_families

Labels = tuple[tuple[str, str], ...]


def samples(exposition: str) -> dict[tuple[str, Labels], float]:
    """Every sample by its name and labels."""
    families = text_string_to_metric_families(exposition)
    return {(one.name, _sorted(one.labels.items())): one.value for family in families for one in family.samples}


def sample(exposition: str, name: str, **labels: str) -> float | None:
    """One sample; None when it is not there."""
    return samples(exposition).get((name, _sorted(labels.items())))


def dead_jobs(exposition: str) -> dict[tuple[str, str], float]:
    """dead_job_count by channel and consumer."""
    found = samples(exposition).items()
    return {(labels[0][1], labels[1][1]): value for (name, labels), value in found if name == "dead_job_count"}


def _sorted(labels: Iterable[tuple[str, str]]) -> Labels:
    return tuple(sorted(labels))
