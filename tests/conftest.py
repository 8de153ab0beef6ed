"""Makes the fixtures known to every test; examples may take as long as a busy machine needs."""

from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

pytest_plugins = [
    "tests.support.fixtures",
    "tests.support.brokers",
    "tests.support.target",
    "tests.support.engines",
    "tests.support.leaving_out",
]
