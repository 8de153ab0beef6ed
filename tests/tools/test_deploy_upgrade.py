"""Upgrading as docs/installing.md tells it: instances of the version before serve on when the schema is changed under them."""

from pathlib import Path

import httpx
from sqlalchemy import create_engine

from tests.support.brokers import ADMIN, StartBroker, wait_until
from tests.support.cli import run
from tests.support.deploy_files import manifest
from tests.support.engines import StartWorker
from tests.support.target import Target
from tests.support.walk import CHANNEL_TOKEN, PRODUCER_TOKEN, PUBLISHER

NEWER = ("ALTER TABLE message ADD COLUMN ofTheNewVersion INT NULL", "UPDATE alembic_version SET version_num = '9999'")
