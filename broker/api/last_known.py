"""What was known last, for when nobody can be asked."""

import json
import os
from pathlib import Path
from typing import Any

FILE = "dead-letters.json"


class LastKnown:
    """What was known last, for this process, and for the others of its instance where they share a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._own: dict[str, Any] | None = None

    def keep(self, found: dict[str, Any]) -> None:
        """Replace it, all at once."""
        self._own = found
        if self._path is not None and self._path.parent.is_dir():
            draft = self._path.with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(found))
            draft.replace(self._path)

    def recall(self) -> dict[str, Any] | None:
        """None when nothing was ever known."""
        if self._path is not None and self._path.exists():
            self._own = json.loads(self._path.read_text())
        return self._own
