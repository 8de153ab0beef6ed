"""A broker's server as the command line talks to it: a good answer, or one clear sentence about what is wrong."""

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import click
import httpx

from broker.cli.backend import Json
from broker.cli.errors import Unreachable
from broker.cli.problems import refusal_of, with_advice
from broker.domain.errors import Invalid
from broker.domain.names import check_token

TIMEOUT = httpx.Timeout(30, connect=5)
_ADVICE = "Name the file of your certificate authority in SSL_CERT_FILE."
ADMIN_HINT = "Give the right admin token with --token or BROKER_TOKEN."
_BROKEN = "so whether the request was done is not known"
_ANYTHING = "*/*"  # what is asked for when nothing is said
_NO_HEADERS: Mapping[str, str] = {}


class Server:
    """Sends requests with the token, when there is one."""

    def __init__(self, url: str, token: str | None, ca_file: Path | None = None, seconds: float | None = None) -> None:
        self.url = _checked_url(url)
        self._advice = _ADVICE if ca_file is None else f"{ca_file} does not vouch for it."
        self._within = TIMEOUT if seconds is None else httpx.Timeout(seconds)
        bearer = {} if token is None else {"Authorization": f"Bearer {header_token('--token', token)}"}
        trusted = _trusted(ca_file) if self.url.startswith("https") else False
        self._client = httpx.Client(base_url=self.url, headers=bearer, timeout=self._within, verify=trusted)

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        hint: str = ADMIN_HINT,
        seconds: float | None = None,
    ) -> httpx.Response:
        """An answer that says yes; everything else is raised. `seconds`: how long to wait for what takes long."""
        within = self._within if seconds is None else httpx.Timeout(seconds, connect=TIMEOUT.connect)
        content = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        try:
            sent = _encoded({**headers, **kind})
            answer = self._client.request(method, path, content=content, headers=sent, timeout=within)
        except httpx.HTTPError as error:
            self._explain(error, within)
        if not _says_yes(answer):
            self._refuse(answer, hint)
        return answer

    def document(self, answer: httpx.Response, member: str) -> Json:
        """The JSON object of an answer; a broker's has this member."""
        found = _object(answer)
        if member not in found:
            self._refuse(answer, hint="")
        return found

    def text(self, path: str, kind: str, hint: str) -> str:
        """What is there as text of this kind."""
        return self.ask("GET", path, hint=hint, headers={"Accept": kind}).text

    def _refuse(self, answer: httpx.Response, hint: str) -> NoReturn:
        """A broker says no with a problem document; what answers otherwise is something else."""
        kind = answer.headers.get("Content-Type", "no content")
        document = _object(answer) if kind == "application/problem+json" else {}
        if "code" in document:
            wait = answer.headers.get("Retry-After", "a few")
            advice = f"Try again in {wait} s; {self.url}/readyz tells when it serves again."
            raise with_advice(refusal_of(document, hint), advice)
        if answer.has_redirect_location:
            raise Unreachable(f"{self.url} redirects to {answer.headers['Location']}: give the address there as --url.")
        raise Unreachable(f"What answers at {self.url} is not a broker (HTTP {answer.status_code}, {kind}).")

    def _explain(self, error: httpx.HTTPError, within: httpx.Timeout) -> NoReturn:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise Unreachable(f"The certificate of {self.url} is not trusted here ({error}). {self._advice}") from error
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            raise Unreachable(f"Cannot reach a broker at {self.url} ({error}). Does it run there?") from error
        if isinstance(error, httpx.TimeoutException):
            raise Unreachable(f"{self.url} did not answer within {within.read:g} s, {_BROKEN}.") from error
        raise Unreachable(f"The connection to {self.url} broke ({error}), {_BROKEN}.") from error


def header_token(option: str, token: str) -> str:
    """A token that can travel in a header."""
    try:
        return check_token(option, token)
    except Invalid as error:
        raise click.UsageError(error.detail) from error


def _trusted(ca_file: Path | None) -> bool | ssl.SSLContext:
    """What vouches for certificates; they take long to load, and plain HTTP needs none."""
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise click.UsageError(f"--ca-file {ca_file} has no certificates that can be read ({error}).") from error


def _checked_url(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL()
    if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.userinfo or parsed.query or parsed.fragment:
        raise click.UsageError(f"--url {url!r} is not an address like http://HOST:8080.")
    return str(parsed).rstrip("/")


def _encoded(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    """The API reads headers as UTF-8."""
    return {name.encode(): value.encode() for name, value in headers.items()}


def _says_yes(answer: httpx.Response) -> bool:
    """JSON, unless something else was asked for."""
    wanted, kind = answer.request.headers["Accept"], answer.headers.get("Content-Type", "")
    right = kind == ("application/json" if wanted == _ANYTHING else wanted)
    return answer.is_success and (right or not answer.content)


def _object(answer: httpx.Response) -> Json:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
