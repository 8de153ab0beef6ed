"""Kinds of settings that are words: secrets, ids, header names, certificates, and a dead channel's template."""

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from string import Formatter

from broker.domain.errors import Invalid
from broker.domain.names import LONGEST, check_public_id, check_token
from broker.domain.refusal import shortened
from broker.domain.setting_types import JsonValue, Kind

LARGEST_CERTIFICATES = 50_000
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_BEGIN = "-----BEGIN CERTIFICATE-----"
_CERTIFICATES = re.compile(rf"(?:{_BEGIN}[A-Za-z0-9+/=\r\n]+-----END CERTIFICATE-----[\r\n]*)+")
PLACEHOLDERS = ("broker_id", "consumer_id")


class Text(Kind[str]):
    """A word that is the same in every source."""

    def from_text(self, text: str) -> str:
        return self.checked(text)

    def from_native(self, raw: object) -> str:
        if not isinstance(raw, str):
            raise _not_text()
        return self.checked(raw)

    def to_json(self, value: str) -> JsonValue:
        return value

    @abstractmethod
    def checked(self, text: str) -> str:
        """The text itself, or a ValueError that never quotes a secret."""


@dataclass(frozen=True)
class Token(Text):
    """A secret that can travel in a header."""

    shortest: int = 1

    @property
    def limits(self) -> str:
        return f"{self.shortest} to {LONGEST} printable ASCII characters without blanks"

    def checked(self, text: str) -> str:
        if len(text) < self.shortest:
            raise ValueError(f"has {len(text)} characters, at least {self.shortest} are needed")
        return _obeying(check_token, text)


@dataclass(frozen=True)
class PublicId(Text):
    """An id that a user chose."""

    @property
    def limits(self) -> str:
        return f"1 to {LONGEST} characters without / \\ ? #"

    def checked(self, text: str) -> str:
        return _obeying(check_public_id, text)


@dataclass(frozen=True)
class Template(Text):
    """A pattern that makes a channel id."""

    @property
    def limits(self) -> str:
        return "a channel id with " + " and ".join(f"{{{name}}}" for name in PLACEHOLDERS)

    def checked(self, text: str) -> str:
        for name in _placeholders(text):
            if name not in PLACEHOLDERS:
                raise ValueError(f"{{{name}}} is not a placeholder here: use {self.limits}")
        _obeying(check_public_id, text.format(broker_id="x", consumer_id="x"))
        return text


@dataclass(frozen=True)
class HeaderName(Text):
    """The name of an HTTP header."""

    @property
    def limits(self) -> str:
        return "a header name like X-Broker-Consumer-Token"

    def checked(self, text: str) -> str:
        if not _HEADER_NAME.fullmatch(text):
            raise ValueError(f"{shortened(text)} is not {self.limits}")
        return text


@dataclass(frozen=True)
class Certificates(Text):
    """Certificates of authorities, in PEM, and nothing else: a private key has no place in what is shown."""

    @property
    def limits(self) -> str:
        return f"certificates in PEM, of at most {LARGEST_CERTIFICATES} characters"

    def checked(self, text: str) -> str:
        if len(text) > LARGEST_CERTIFICATES or not _CERTIFICATES.fullmatch(text.strip()):
            raise ValueError(f"must be {self.limits}")
        return text.strip()

    def masked(self, value: str) -> JsonValue:
        """How many; the whole would fill a screen."""
        return f"{value.count(_BEGIN)} in PEM"


def _not_text() -> ValueError:
    """Does not quote what was given: it may be a secret."""
    return ValueError("must be text")


def _obeying(rule: Callable[[str, str], str], text: str) -> str:
    try:
        return rule("value", text)
    except Invalid as refusal:
        raise ValueError(refusal.problems[0].message) from None


def _placeholders(text: str) -> list[str]:
    """Every placeholder as written; one with a format or conversion is not a plain name and so unknown."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError:
        raise ValueError(f"{shortened(text)} has a brace without its partner") from None
    return [_as_written(name, spec, way) for _, name, spec, way in parts if name is not None]


def _as_written(name: str, spec: str | None, conversion: str | None) -> str:
    return name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
