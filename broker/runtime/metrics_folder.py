"""The folder where the processes of one instance leave what they counted."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """A new one for this process and all that it starts; it goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="broker-metrics-"))
    os.environ[MULTIPROCESS] = str(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
