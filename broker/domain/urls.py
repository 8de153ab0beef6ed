"""Callback addresses: what can be checked without the network."""

from urllib.parse import urlsplit

from broker.domain.errors import Invalid

LONGEST_URL = 2000


def check_callback_url(field: str, value: str) -> str:
    """An absolute http or https address without credentials."""
    problem = _problem(value)
    if problem is not None:
        raise Invalid.field(field, problem)
    return value


def _problem(value: str) -> str | None:
    if len(value) > LONGEST_URL:
        return f"has {len(value)} characters, at most {LONGEST_URL} are allowed"
    if not all("!" <= c <= "~" for c in value):
        return "must be ASCII without blanks; write other characters percent-encoded or as punycode"
    return _parts_problem(value)


def _parts_problem(value: str) -> str | None:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return "is not an address"
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        return "must be an address like https://example.com/path"
    if parts.username is not None or parts.password is not None:
        return "cannot contain a user name or password"
    return None
