# Two commands matter: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PYTEST_OPTIONS ?=

.PHONY: run demo test setup lint unit test-tools test-mysql bench clean help

help: ## show what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: setup ## start the broker on SQLite in ./var and show how to publish a first message
	@exec $(BIN)/broker up

demo: setup ## the same with a channel that has something to show: dead jobs, retries, an open breaker, a queue
	@exec $(BIN)/broker up --demo

setup: .venv/.product ## install into .venv, so that .venv/bin/broker works

# Those that load the machine, or count seconds, run by themselves: beside others they would measure the others.
test: .venv/.test lint ## all tests, on SQLite and on a real MySQL-protocol server
	$(BIN)/pytest -n 2 --dist loadgroup -m "not alone" $(PYTEST_OPTIONS)
	$(BIN)/pytest -m alone $(PYTEST_OPTIONS)

unit: .venv/.test ## the fast tests only
	$(BIN)/pytest tests/unit $(PYTEST_OPTIONS)

lint: .venv/.test ## ruff, mypy strict, import-linter
	$(BIN)/ruff check broker migrations tests
	$(BIN)/ruff format --check broker migrations tests
	$(BIN)/mypy
	$(BIN)/lint-imports

test-tools: .venv/.tools .venv/.datadog ## what ships in deploy/, on the real Nagios, Prometheus, Datadog check and linters; installs them
	$(BIN)/python -m tests.support.tools
	BROKER_TEST_TOOLS=all $(BIN)/pytest tests/tools $(PYTEST_OPTIONS)

test-mysql: .venv/.test ## all tests on a real MySQL in a chroot (Debian, as root)
	tests/support/mysql_chroot.sh $(BIN)/pytest -n 2 --dist loadgroup $(PYTEST_OPTIONS)

bench: setup ## measure everything in small sizes, beside the bare limits
	$(BIN)/broker bench all

clean: ## remove the environment and caches; data in var/ stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.product: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

.venv/.test: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@ .venv/.product

.venv/.tools: .venv/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[tools]'
	@touch $@

# The Datadog check pins what the broker pins otherwise.
.venv/.datadog: tests/tools/datadog/requirements.txt | .venv/bin/python
	$(PYTHON) -m venv .venv/datadog
	.venv/datadog/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@
