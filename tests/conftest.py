"""Makes the fixtures known to every test."""

pytest_plugins = [
    "tests.support.fixtures",
    "tests.support.brokers",
    "tests.support.target",
    "tests.support.engines",
    "tests.support.leaving_out",
]
