"""What every command shares: settings, and the way to the broker."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from broker.config import Settings, load
from broker.operations.parts import Parts
from broker.wiring import build_parts


@dataclass(slots=True)
class CliContext:
    """The global options; a server's address when the command shall go there, else the database is used directly."""

    config_file: Path | None = None
    options: dict[str, object] = field(default_factory=dict)
    url: str | None = None
    token: str | None = None

    def load_settings(self) -> Settings:
        """Defaults < file < environment < options."""
        return load(self.config_file, os.environ, self.options)

    def parts(self) -> Parts:
        """The broker's parts on the configured database."""
        return build_parts(self.load_settings())
