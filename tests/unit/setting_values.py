"""Hypothesis strategies for the values a setting can have, by its kind."""

from functools import singledispatch
from typing import Any

from hypothesis import strategies as st

from broker.domain.durations import parse_duration
from broker.domain.setting import Setting
from broker.domain.setting_addresses import DatabaseUrl, HostPort, Listen, Networks
from broker.domain.setting_texts import Certificates, HeaderName, PublicId, Template, Token
from broker.domain.setting_times import Duration, Durations
from broker.domain.setting_types import Choice, Flag, Integer, Kind, Number

_HOSTS = ("127.0.0.1", "0.0.0.0", "localhost", "broker.example", "::1", "fe80::1", "::")
_NETWORKS = ("10.0.0.0/8", "192.0.2.7", "::/0", "fd00::/8", "127.0.0.0/8")
_CHARACTERS = st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\\?#{}\ufffd")
_USER_TEXT = st.text(_CHARACTERS, min_size=1, max_size=20)


def certificate(body: str = "TUlJQ2VydA==") -> str:
    """A certificate in PEM, by its looks."""
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----"


@singledispatch
def values_of_kind(kind: Kind[Any]) -> st.SearchStrategy[Any]:
    """Values that the kind allows."""
    raise NotImplementedError(type(kind))


@values_of_kind.register
def _(kind: Integer) -> st.SearchStrategy[int]:
    return st.integers(kind.low, kind.high)


@values_of_kind.register
def _(kind: Number) -> st.SearchStrategy[float]:
    return st.floats(kind.low, kind.high)


@values_of_kind.register
def _(kind: Flag) -> st.SearchStrategy[bool]:
    return st.booleans()


@values_of_kind.register
def _(kind: Choice) -> st.SearchStrategy[str]:
    return st.sampled_from(kind.choices)


@values_of_kind.register
def _(kind: Duration) -> st.SearchStrategy[float]:
    return st.floats(kind.low, kind.high).map(parse_duration)


@values_of_kind.register
def _(kind: Durations) -> st.SearchStrategy[tuple[float, ...]]:
    return st.lists(values_of_kind(kind.item), min_size=1, max_size=4).map(tuple)


@values_of_kind.register
def _(kind: Token) -> st.SearchStrategy[str]:
    return st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=kind.shortest, max_size=40)


@values_of_kind.register
def _(kind: PublicId) -> st.SearchStrategy[str]:
    return _USER_TEXT.map(lambda text: f"c{text}c")


@values_of_kind.register
def _(kind: Template) -> st.SearchStrategy[str]:
    return _USER_TEXT.map(lambda text: f"{{broker_id}}{text}{{consumer_id}}")


@values_of_kind.register
def _(kind: HeaderName) -> st.SearchStrategy[str]:
    return st.text("!#$%&'*+.^_`|~09AZaz-", min_size=1, max_size=100)


@values_of_kind.register
def _(kind: Certificates) -> st.SearchStrategy[str]:
    return st.lists(st.text("AZaz09+/=\r\n", min_size=1, max_size=20).map(certificate), min_size=1).map("\n".join)


@values_of_kind.register
def _(kind: Listen) -> st.SearchStrategy[HostPort]:
    return st.builds(HostPort, st.sampled_from(_HOSTS), st.integers(0, 65_535))


@values_of_kind.register
def _(kind: Networks) -> st.SearchStrategy[Any]:
    return st.lists(st.sampled_from(_NETWORKS)).map(kind.from_native)


@values_of_kind.register
def _(kind: DatabaseUrl) -> st.SearchStrategy[str]:
    return _USER_TEXT.map(lambda text: f"mysql+pymysql://user:{text}@db:3306/broker")


def values_of(setting: Setting) -> st.SearchStrategy[Any]:
    """Values that the setting allows, none among them where it can be."""
    some = values_of_kind(setting.kind).filter(lambda value: str(value).lower() not in {"none", "off"})
    return st.none() | some if setting.optional else some
