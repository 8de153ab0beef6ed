"""Where the files are that come with the package: beside it in a checkout, inside it when installed."""

from pathlib import Path


def resource(name: str) -> Path:
    """A shipped folder or file, e.g. `migrations` or `api-spec/openapi.yaml`."""
    package = Path(__file__).parent
    beside = package.parent / name
    return beside if beside.exists() else package / "_data" / name
