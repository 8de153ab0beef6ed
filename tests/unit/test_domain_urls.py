"""Callback addresses: what can be checked without the network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.domain.errors import Invalid
from broker.domain.urls import check_callback_url

GOOD = ["http://a", "https://example.com/path?q=1#f", "HTTP://EXAMPLE.COM", "http://[::1]:8080/", "http://127.0.0.1:1",
        "https://xn--grn-hoa.example/%C3%BC", "https://a/" + "x" * 1990]  # fmt: skip
BAD = ["", "a", "//a/b", "http:", "http://", "http:///a", "https:a", "ftp://a", "javascript:alert(1)", "http://:80",
       "http://a:0", "http://a:65536", "http://a:b", "http://u@a", "http://u:p@a", "http://@a", "http://a b", "http://ü",
       "http://a\n", "\thttp://a", "http://[", "http://[::1", "https://a/" + "x" * 1991]  # fmt: skip


@pytest.mark.parametrize("url", GOOD)
def test_an_absolute_address_is_taken_as_it_is(url: str) -> None:
    assert check_callback_url("callbackUrl", url) == url


@pytest.mark.parametrize("url", BAD)
def test_anything_else_is_refused_by_name(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_callback_url("callbackUrl", url)
    assert [problem.field for problem in refused.value.problems] == ["callbackUrl"]


@given(st.text() | st.text().map(lambda text: f"http://{text}"))
def test_any_text_is_an_address_that_http_can_be_sent_to_or_refused(text: str) -> None:
    try:
        check_callback_url("url", text)
    except Invalid:
        return
    assert text.lower().startswith(("http://", "https://"))
    assert text.isascii()
    assert not set(text) & set(" \t\r\n")
