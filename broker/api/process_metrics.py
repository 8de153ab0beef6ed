"""What the processes of one instance counted, each in files of its own."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.samples import Sample

from broker.api.families import LABELS, Rows, gauge
from broker.runtime.alive import is_alive
from broker.telemetry import BREAKERS, ENGINES


def read_processes(folder: Path) -> Iterable[Metric]:
    """Summed over all of them; what a process said of its present state ends with it."""
    for pid in {path.stem.rpartition("_")[2] for path in folder.glob("gauge_live*.db")}:
        if not is_alive(int(pid)):
            with contextlib.suppress(FileNotFoundError):
                mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
    found: Iterable[Metric] = MultiProcessCollector(None, str(folder)).collect()  # type: ignore[no-untyped-call]
    return found


def of_those_who_exist(families: Iterable[Metric], consumers: Rows) -> Iterator[Metric]:
    """Without what was counted for consumers that are deleted; and every breaker, if this instance delivers."""
    pushed = {(row["channelId"], row["consumerId"]): row["pushed"] for row in consumers}
    found = {family.name: family for family in families}
    breakers, engines = found.pop(BREAKERS, None), found.get(ENGINES)
    for family in found.values():
        family.samples = [one for one in family.samples if _exists(one, pushed)]
        yield family
    if engines is not None and any(one.value for one in engines.samples):
        yield _breakers(breakers, [row for row in consumers if row["pushed"]])


def _breakers(family: Metric | None, rows: Rows) -> Metric:
    """Those that never opened are closed, and said to be."""
    opened = {_place(one.labels): one.value for one in family.samples} if family else {}
    about = "1 while the breaker of this instance is not closed"
    return gauge(BREAKERS, about, rows, lambda row: opened.get((row["channelId"], row["consumerId"]), 0.0))


def _exists(sample: Sample, consumers: Mapping[tuple[str, str], bool]) -> bool:
    return LABELS[1] not in sample.labels or _place(sample.labels) in consumers


def _place(labels: Mapping[str, str]) -> tuple[str, str]:
    return labels[LABELS[0]], labels[LABELS[1]]
