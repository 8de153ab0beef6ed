"""The shell lines of docs/demo.md, executed as written on a broker with the demo."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.docs.pages import shell_of
from tests.docs.walks import link_programs, run
from tests.support.brokers import LiveBroker, wait_until
from tests.support.demo import asked_openly, start_demo


def test_the_walk_through_the_demo_shows_it_and_removes_it(tmp_path: Path) -> None:
    with demo_in(tmp_path) as live:
        dead = "/dlq-stats?channel=demo&consumer=flaky"
        wait_until(lambda: {"TRANSIENT", "VALIDATION"} <= asked_openly(live, dead)["error_categories"].keys(), 60)
        printed = run(shell_of("docs/demo.md"), tmp_path, live)
        assert '"consumerId": "flaky"' in printed
        assert re.search(r'^dead_job_count{channel="demo",consumer="flaky"} [1-9]', printed, re.MULTILINE)
        assert re.search(r"^demo +flaky +[1-9]", printed, re.MULTILINE)
        assert printed.count("An order needs an address.") == 3
        assert re.search(r"^[1-9][0-9]* requeued, [0-9]+ skipped.$", printed, re.MULTILINE)
        assert len(re.findall(r" queued ", printed)) >= 3
        assert printed.endswith("Removed channel 'demo' and producer 'demo'.\n")


@contextmanager
def demo_in(folder: Path) -> Iterator[LiveBroker]:
    """A broker as `make demo` starts it, in a folder that has the programs where a checkout has them."""
    live = start_demo(f"sqlite:///{folder}/var/broker.db", folder, BROKER_ADMIN_TOKEN="none")
    link_programs(folder)
    try:
        yield live
    finally:
        assert live.stop() == 0
