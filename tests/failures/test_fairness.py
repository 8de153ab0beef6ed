"""Ten thousand consumers with one job each and one with a million: neither delays the other by more than a second."""

import random
import time
from pathlib import Path

import pytest

from tests.failures.crowd import SMALL, Crowd, longest_gap
from tests.integration.stopping import children
from tests.support.brokers import make_broker, wait_until
from tests.support.engines import StartEngine
from tests.support.target import Target

PROBES, PAUSE, BUSY = 200, 0.03, 2_000
LONGEST, MOST_MEGABYTES = 1.0, 200


def serve_all(crowd: Crowd) -> tuple[float, float]:
    """Every small consumer gets a job; from when to when they were served."""
    before = len(crowd.small)
    crowd.fill_small()
    begun = time.monotonic()
    wait_until(lambda: len(crowd.small) >= before + SMALL, 150, lambda: f"{len(crowd.small) - before} came")
    return begun, crowd.small[before + SMALL - 1][1]


def probe_all(crowd: Crowd) -> dict[str, float]:
    """Messages for consumers here and there, one after the other; gives when each was there to be delivered."""
    published = {}
    for number in random.Random(5).sample(range(SMALL), PROBES):
        crowd.probe(number)
        published[f"small-{number}"] = time.monotonic()
        time.sleep(PAUSE)
    return published


def delays(crowd: Crowd, published: dict[str, float], before: int) -> list[float]:
    """How long each waited for its delivery, the longest last."""
    wait_until(lambda: len(crowd.small) >= before + PROBES, 30)
    return sorted(arrived - published[channel] for channel, arrived in crowd.small[before:])


def peak_megabytes(pid: int) -> int:
    """The most memory that a process has had."""
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmHWM:")]
    return int(line.split()[1]) // 1_024


@pytest.mark.alone
def test_neither_the_many_nor_the_large_one_delays_the_other(
    server_url: str, start_engine: StartEngine, target: Target
) -> None:
    crowd = Crowd(make_broker(server_url), target)
    crowd.fill_large()
    engine = start_engine(server_url, workers=2)
    begun, ended = serve_all(crowd)
    alone = ended - begun
    crowd.pause(False)
    wait_until(lambda: len(crowd.large) > BUSY, 30)
    before, started = len(crowd.small), time.monotonic()
    waited = delays(crowd, probe_all(crowd), before)
    begun, ended = serve_all(crowd)
    gaps = [longest_gap(crowd.large, *span) for span in ((started, begun), (begun, ended))]
    print(
        f"{SMALL} alone {alone:.2f} s, beside the large one {ended - begun:.2f} s; probes {waited[PROBES // 2]:.3f} s,"
    )
    print(
        f"at most {waited[-1]:.3f} s; the large one had {len(crowd.large)}, gaps of {gaps[0]:.3f} and {gaps[1]:.3f} s"
    )
    assert max(peak_megabytes(pid) for pid in children(engine.process.pid)) < MOST_MEGABYTES
    assert waited[-1] < LONGEST
    assert max(gaps) < LONGEST
    assert ended - begun < 2 * alone + LONGEST
