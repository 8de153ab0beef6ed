"""A receiver that uses the public library accepts what was sent to it, and nothing else."""

import base64
import json
import time
from ipaddress import ip_network

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from broker.delivery.addresses import AddressGuard
from broker.delivery.requests import RequestBuilder
from broker.delivery.sender import Reply, Sender, Sending
from broker.delivery.signing import signing_keys
from broker.domain.states import ConsumerType
from broker.domain.work import ClaimedJob
from broker.domain.work import Target as Consumer
from tests.support.target import Answer, Received, Target

NEW, OLD, STRANGE = ("whsec_" + base64.b64encode(byte * 24).decode() for byte in (b"n", b"o", b"s"))
BODY = json.dumps({"order": 7, "name": "Zoë"}).encode()
JOB = ClaimedJob(
    "job00000000000000000", 1, 2, None, False, "key", "message-1", BODY, len(BODY), "application/json", None, None, 0, 0
)


def receiver(secret: str, spoil: bytes = b"") -> Target:
    """Answers 204 to what its library accepts, 400 to what it does not."""

    def rule(request: Received) -> Answer:
        try:
            Webhook(secret).verify(request.body + spoil, dict(request.headers), json_parse=False)
        except WebhookVerificationError as error:
            return Answer(400, body=str(error).encode())
        return Answer(204)

    return Target(rule=rule)


def delivered(target: Target, secrets: tuple[str, ...], now: float | None = None) -> Reply:
    url = target.url("/hook")
    consumer = Consumer(1, "channel", "consumer", ConsumerType.PUSH, url, False, secrets=secrets)
    builder = RequestBuilder(consumer, signing_keys(consumer.secrets), None)
    sender = Sender(AddressGuard([ip_network("127.0.0.0/8")], []), 1)
    moment = time.time() if now is None else now
    sender.start(Sending(url, builder.headers(JOB, BODY, moment, "request"), BODY, 5, 5, None), "job")
    found: list[object] = []
    while not found:
        found = [result for _, result, _ in sender.progress(1.0)]
    sender.close()
    assert isinstance(found[0], Reply), found
    return found[0]


@pytest.mark.parametrize("secret", [NEW, OLD])
def test_while_a_secret_is_changed_the_old_and_the_new_are_accepted(secret: str) -> None:
    with receiver(secret) as target:
        assert delivered(target, (NEW, OLD)).status == 204
        assert target.received[0].headers["webhook-id"] == JOB.id
        assert target.received[0].body == BODY


@pytest.mark.parametrize(("secret", "signed"), [(STRANGE, (NEW, OLD)), (OLD, (NEW,)), (NEW, (OLD,))])
def test_a_secret_that_did_not_sign_is_refused(secret: str, signed: tuple[str, ...]) -> None:
    with receiver(secret) as target:
        found = delivered(target, signed)
    assert (found.status, found.body) == (400, b"No matching signature found")


def test_a_changed_body_is_refused() -> None:
    with receiver(NEW, spoil=b" ") as target:
        found = delivered(target, (NEW,))
    assert (found.status, found.body) == (400, b"No matching signature found")


@pytest.mark.parametrize(("shift", "text"), [(-400, b"Message timestamp too old"), (400, b"Message timestamp too new")])
def test_a_delivery_of_another_time_is_refused(shift: float, text: bytes) -> None:
    with receiver(NEW) as target:
        found = delivered(target, (NEW,), time.time() + shift)
    assert (found.status, found.body) == (400, text)


def test_without_a_secret_there_is_no_signature_to_accept() -> None:
    with receiver(NEW) as target:
        assert delivered(target, ()).body == b"Missing required headers"
