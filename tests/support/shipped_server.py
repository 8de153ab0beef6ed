"""A server that is configured by deploy/mysql alone, with the accounts that its SQL file makes."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import make_url, text

from tests.support.binaries import ServerBinary
from tests.support.deploy_files import DEPLOY
from tests.support.home import Home
from tests.support.private_server import PrivateServer

DATABASE = "broker"
SETTINGS = DEPLOY / "mysql" / "broker.cnf"
ACCOUNTS = DEPLOY / "mysql" / "accounts.sql"


class ShippedServer(PrivateServer):
    """Its administrator goes by another name than the accounts that ship."""

    user = "tester"

    def __init__(self, binary: ServerBinary, home: Home, options: Sequence[str]) -> None:
        super().__init__(binary, home, ())
        self.settings = Path(shutil.copy(SETTINGS, home.path / "broker.cnf"))
        self.settings.chmod(0o644)

    def variables(self) -> dict[str, str]:
        """What the server really works with."""
        with self.connect() as connection:
            return {str(row[0]): str(row[1]) for row in connection.execute(text("SHOW GLOBAL VARIABLES"))}

    def make_accounts(self, password: str) -> None:
        """Run the SQL file, then set the passwords as it says."""
        self.run_sql(ACCOUNTS.read_text())
        for name in ("broker", "broker_migrate"):
            self.run_sql(f"ALTER USER '{name}'@'%' IDENTIFIED BY '{password}' ACCOUNT UNLOCK")

    def renew_database(self) -> None:
        """Empty, as the SQL file leaves it."""
        self.run_sql(f"DROP DATABASE IF EXISTS {DATABASE};\n{ACCOUNTS.read_text()}")

    def run_sql(self, script: str) -> None:
        """As an administrator; none of our statements has a semicolon inside."""
        with self.connect() as connection:
            for statement in filter(str.strip, re.sub(r"^--.*\n?", "", script, flags=re.MULTILINE).split(";")):
                connection.exec_driver_sql(statement.strip(), execution_options={"no_parameters": True})

    def url_of(self, shipped: str) -> str:
        """A URL of deploy/, with this server's address in it."""
        return make_url(shipped).set(host="127.0.0.1", port=self.port).render_as_string(hide_password=False)

    def _command(self) -> list[str]:
        return [f"--defaults-file={self.settings}" if one == "--no-defaults" else one for one in super()._command()]
