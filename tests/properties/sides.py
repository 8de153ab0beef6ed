"""One broker of the two that are compared: sends calls, remembers secrets, shows normalised answers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, quote

from werkzeug.test import TestResponse

from tests.properties.normal import Normaliser
from tests.support.brokers import ADMIN, Broker

_COMPARED = ("Content-Type", "ETag", "Location", "WWW-Authenticate", "Allow", "Retry-After", "X-Request-ID")
MOST_PAGES = 6
_REQUEST_ID = {"X-Request-ID": "the-same-on-both"}


def path_of(*segments: str) -> str:
    """An address of percent-encoded segments."""
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def message_path(channel: str, message_id: str, kind: str = "message") -> str:
    """The address of a message whose id may be a name (see Normaliser) for one that the broker made."""
    return path_of("channel", channel, kind) + "/" + quote(message_id, safe="<> ")


def own_tokens(*places: str) -> tuple[str, ...]:
    """The tokens that open an entry without the admin's, in the notation of `Call.shows`."""
    kind = "X-Broker-Producer-Token" if places[0] == "producer" else "X-Broker-Channel-Token"
    shown = (f"{kind}={path_of(*places[:2])}",)
    return shown if len(places) == 2 else (*shown, f"X-Broker-Consumer-Token={path_of(*places)}")


class Call(NamedTuple):
    """What is sent to both brokers; `shows` names the credentials, whose values differ between them."""

    method: str
    path: str
    shows: tuple[str, ...] = ("admin",)
    headers: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    body: bytes = b""


class Answer(NamedTuple):
    """What both brokers must agree on."""

    status: int
    headers: dict[str, str]
    body: Any


@dataclass
class Side:
    """One broker, and what a client of it has to keep."""

    broker: Broker
    normal: Normaliser
    tokens: dict[str, str] = field(default_factory=dict)
    validators: dict[str, dict[str, str]] = field(default_factory=dict)

    def send(self, call: Call) -> Answer:
        """Make the call and give its answer in comparable form."""
        response = self._open(call, {**call.headers, **self._credentials(call)})
        self._remember(call, response)
        shown = {name: value for name, value in response.headers.items() if name in _COMPARED}
        return Answer(response.status_code, self.normal.value(shown, call.path), self._body(response, call))

    def follow(self, path: str, query: Mapping[str, str]) -> list[Any]:
        """A list page by page, a few pages far, then one page back."""
        pages = [self._page(Call("GET", path, query=query))]
        while "next" in pages[-1].get("pages", {}) and len(pages) < MOST_PAGES:
            pages.append(self._page(Call("GET", pages[-1]["pages"]["next"])))
        if "previous" in pages[-1].get("pages", {}):
            pages.append(self._page(Call("GET", pages[-1]["pages"]["previous"])))
        return [self.normal.value(page) for page in pages]

    def _page(self, call: Call) -> Any:
        return self._open(call, ADMIN).json

    def _open(self, call: Call, headers: Mapping[str, str]) -> TestResponse:
        sent = {name: value.encode().decode("latin-1") for name, value in {**_REQUEST_ID, **headers}.items()}
        query, path = dict(call.query) or None, self.normal.own(call.path)
        return self.broker.client.open(path, method=call.method, headers=sent, query_string=query, data=call.body)

    def _credentials(self, call: Call) -> dict[str, str]:
        """`admin`, the validators as last seen (`seen`: the tag, `read`: all), or `Header=address` for a token."""
        headers: dict[str, str] = {}
        for shown in call.shows:
            name, _, place = shown.partition("=")
            if shown == "admin":
                headers |= ADMIN
            elif shown in ("seen", "read"):
                validators = self.validators.get(call.path, {}).items()
                headers |= {name: value for name, value in validators if shown == "read" or name == "If-Match"}
            else:
                headers[name] = self.tokens.get(place, "unknown")
        return headers

    def _remember(self, call: Call, response: TestResponse) -> None:
        if response.status_code != 200 or "ETag" not in response.headers:
            return
        self.validators[call.path] = {
            "If-Match": response.headers["ETag"],
            "If-Unmodified-Since": response.headers["Last-Modified"],
        }
        token = _given_token(call) or cast(dict[str, str], response.json).get("token")
        if call.method == "PUT" and token is not None:
            self.tokens[call.path] = token

    def _body(self, response: TestResponse, call: Call) -> Any:
        if "raw" in call.query and response.status_code == 200:
            return response.data.hex()
        if response.mimetype in ("application/json", "application/problem+json"):
            return self.normal.value(response.json, call.path)
        return response.data.hex()


def _given_token(call: Call) -> str | None:
    if call.headers.get("Content-Type") == "application/json":
        return cast(str | None, json.loads(call.body).get("token"))
    return dict(parse_qsl(call.body.decode())).get("token")
