"""A signature is what the public library computes, for every secret that a consumer may have."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from broker.delivery.signing import signature, signing_keys

MOMENT = 1_700_000_000
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def theirs(secret: str | bytes, message_id: str, body: str) -> str:
    return Webhook(secret).sign(message_id, datetime.fromtimestamp(MOMENT, UTC), body)


def test_the_example_of_the_specification() -> None:
    found = signature(signing_keys([SECRET]), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.binary(min_size=1, max_size=80), st.text("abc019", min_size=1), st.text())
def test_a_generated_secret_signs_as_the_library_does(key: bytes, message_id: str, body: str) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    assert signing_keys([secret]) == (key,)
    assert signature((key,), message_id, MOMENT, body.encode()) == theirs(secret, message_id, body)


def test_base64_without_padding_is_read_as_the_library_reads_it() -> None:
    assert signing_keys(["whsec_QUI"]) == (b"AB",)
    assert signature(signing_keys(["whsec_QUI"]), "m", MOMENT, b"x") == theirs("whsec_QUI", "m", "x")


@pytest.mark.parametrize("secret", ["plain-secret", "QUJD", "whsec_1", "whsec_", "whsec_!!"])
def test_another_text_is_its_own_key(secret: str) -> None:
    assert signing_keys([secret]) == (secret.encode(),)
    assert signature(signing_keys([secret]), "m", MOMENT, b"x") == theirs(secret.encode(), "m", "x")


def test_every_secret_signs_and_the_newest_is_first() -> None:
    both = signature(signing_keys([SECRET, "old"]), "m", MOMENT, b"x")
    assert both == f"{theirs(SECRET, 'm', 'x')} {theirs(b'old', 'm', 'x')}"


def test_a_body_that_is_no_text_is_signed() -> None:
    one, other = (signature((b"key",), "m", MOMENT, body) for body in (b"\xff\x00", b"\xff\x01"))
    assert one != other


def test_id_time_and_body_are_all_signed() -> None:
    keys = (b"key",)
    found = {signature(keys, *rest) for rest in (("m", 1, b"x"), ("n", 1, b"x"), ("m", 2, b"x"), ("m", 1, b"y"))}
    assert len(found) == 4
