"""Measures as Prometheus text."""

from prometheus_client.parser import text_string_to_metric_families

from broker.domain.exposition import Family, Kind, Sample, exposition


def test_a_family_has_its_help_its_type_and_a_line_for_each_sample() -> None:
    family = Family(
        "dead_job_count", "Dead jobs", (Sample(("a", "b"), 3), Sample(("a", "c"), 0.5)), ("channel", "consumer")
    )
    assert exposition([family]) == (
        "# HELP dead_job_count Dead jobs\n"
        "# TYPE dead_job_count gauge\n"
        'dead_job_count{channel="a",consumer="b"} 3\n'
        'dead_job_count{channel="a",consumer="c"} 0.5\n'
    )


def test_large_counts_keep_every_digit() -> None:
    assert exposition([Family("all", "All", (Sample((), 9_007_199_254_740_993),))]).endswith("\nall 9007199254740993\n")


def test_what_prometheus_reads_is_what_was_written() -> None:
    odd = 'a "quoted" \\ name\nof two lines'
    family = Family("odd_total", "Back\\slash and\nline", (Sample((odd,), 1),), ("name",), Kind.COUNTER)
    (read,) = text_string_to_metric_families(exposition([family]))
    assert (read.name, read.documentation, read.type) == ("odd", "Back\\slash and\nline", "counter")
    assert [(one.name, one.labels, one.value) for one in read.samples] == [("odd_total", {"name": odd}, 1)]
