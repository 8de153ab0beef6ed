"""Makes the database fixtures known to every test."""

pytest_plugins = ["tests.support.fixtures"]
