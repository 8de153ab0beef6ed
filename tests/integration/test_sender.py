"""The sender against real servers: connections, limits, time-outs, TLS, and what every failure is called."""

import datetime
import resource
import socket
import time
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest

from broker.delivery.addresses import AddressGuard
from broker.delivery.sender import Reply, Sender, Sending
from broker.domain.failures import Category, Failure
from tests.support.authority import Authority
from tests.support.target import OK, Answer, Target

LOCAL = AddressGuard([ip_network("127.0.0.0/8"), ip_network("::1/128")], [])
HEADERS = [b"Expect:", b"Content-Type: application/json"]
MINUS_A_DAY = datetime.timedelta(days=-1)


@pytest.fixture
def sender() -> Iterator[Sender]:
    made = Sender(LOCAL, 8)
    yield made
    made.close()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def sending(
    url: str, body: bytes = b"{}", timeout: float = 5.0, connect: float = 2.0, ca: str | None = None
) -> Sending:
    return Sending(url, HEADERS, body, timeout, connect, ca)


def all_of(sender: Sender, seconds: float = 20.0) -> dict[object, Reply | Failure]:
    """Everything that is in flight, by its tag."""
    found: dict[object, Reply | Failure] = {}
    end = time.monotonic() + seconds
    while sender.flying:
        assert time.monotonic() < end, f"{sender.flying} still in flight"
        found.update({tag: result for tag, result, _ in sender.progress(0.1)})
    return found


def sent(sender: Sender, one: Sending) -> Reply | Failure:
    sender.start(one, "one")
    return all_of(sender)["one"]


def reply(sender: Sender, one: Sending) -> Reply:
    found = sent(sender, one)
    assert isinstance(found, Reply), found
    return found


def failure(sender: Sender, one: Sending) -> Failure:
    found = sent(sender, one)
    assert isinstance(found, Failure), found
    return found


def test_a_post_arrives_as_it_was_given_and_its_answer_comes_back(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(202, {"X-Broker-Result": " failed ", "Set-Cookie": "a=1"}, b"taken")
    found = reply(sender, sending(target.url("/hook?a=1"), b'{"n": 1}'))
    assert (found.status, found.body, found.fields()["x-broker-result"]) == (202, b"taken", "failed")
    assert 0 < found.seconds < 5
    (request,) = target.received
    assert (request.method, request.path, request.body) == ("POST", "/hook?a=1", b'{"n": 1}')
    assert request.headers["content-type"] == "application/json"
    assert request.headers["content-length"] == "8"
    assert not {"expect", "accept-encoding", "cookie", "transfer-encoding", "authorization"} & set(request.headers)


@pytest.mark.parametrize("body", [b"", b"\x00\xff\x00", b"x" * 5_000_000])
def test_every_body_arrives_whole(sender: Sender, target: Target, body: bytes) -> None:
    assert reply(sender, sending(target.url(), body)).status == 200
    assert target.received[0].body == body
    assert target.received[0].headers["content-length"] == str(len(body))


def test_no_cookie_is_ever_sent_back(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(headers={"Set-Cookie": "session=1; Path=/"})
    for _ in range(2):
        reply(sender, sending(target.url()))
    assert [one.headers.get("cookie") for one in target.received] == [None, None]


def test_connections_are_kept_and_used_again(sender: Sender, target: Target) -> None:
    for number in range(50):
        reply(sender, sending(target.url(f"/{number}")))
    assert target.connections == 1
    assert [one.path for one in target.received] == [f"/{number}" for number in range(50)]


def test_many_fly_at_once_over_no_more_connections_than_needed(sender: Sender, target: Target) -> None:
    left = 2_000
    while left or sender.flying:
        while left and sender.flying < 8:
            left -= 1
            sender.start(sending(target.url(), b"%d" % left), left)
        assert all(isinstance(result, Reply) and result.status == 200 for _, result, _ in sender.progress(0.1))
    assert sorted(int(one.body) for one in target.received) == list(range(2_000))
    assert target.connections <= 8


def test_more_than_are_kept_may_fly(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(delay=0.05)
    for number in range(40):
        sender.start(sending(target.url()), number)
    assert sender.flying == 40
    assert set(all_of(sender)) == set(range(40))
    assert sender.flying == 0


def test_nothing_of_one_answer_is_left_in_the_next(sender: Sender, target: Target) -> None:
    target.rule = lambda one: Answer(500, {"X-Old": "1"}, b"old" * 100) if one.path == "/old" else OK
    old, new = reply(sender, sending(target.url("/old"))), reply(sender, sending(target.url("/new")))
    assert (old.status, old.body, old.fields()["x-old"]) == (500, b"old" * 100, "1")
    assert (new.status, new.body, "x-old" in new.fields()) == (200, b"", False)


@pytest.mark.parametrize("status", [200, 204, 301, 302, 303, 307, 308, 400, 410, 429, 500, 599])
def test_every_status_is_an_answer_and_no_redirect_is_followed(sender: Sender, target: Target, status: int) -> None:
    target.rule = lambda _: Answer(status, {"Location": target.url("/elsewhere"), "Retry-After": "7"})
    found = reply(sender, sending(target.url("/first")))
    assert (found.status, found.fields()["retry-after"]) == (status, "7")
    assert [one.path for one in target.received] == ["/first"]


def test_interim_answers_do_not_count(sender: Sender, target: Target) -> None:
    early = b"HTTP/1.1 103 Early\r\nX-Broker-Result: failed\r\n\r\n"
    target.rule = lambda _: Answer(raw=early + b"HTTP/1.1 200 OK\r\nX-B: 1\r\nX-B: 2\r\nContent-Length: 0\r\n\r\n")
    found = reply(sender, sending(target.url()))
    assert (found.status, found.fields()) == (200, {"x-b": "1, 2", "content-length": "0"})


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_trailers_are_no_headers_and_hide_none(sender: Sender, target: Target, end: bytes) -> None:
    head = end.join([b"HTTP/1.1 503 Busy", b"Retry-After: 77", b"Transfer-Encoding: chunked", b"", b""])
    trailers = b"X-T: 1\r\nRetry-After: 99\r\n"
    target.rule = lambda _: Answer(raw=head + b"5\r\nhello\r\n0\r\n" + trailers + b"\r\n")
    found = reply(sender, sending(target.url()))
    assert (found.status, found.body) == (503, b"hello")
    assert found.fields() == {"retry-after": "77", "transfer-encoding": "chunked"}


@pytest.mark.parametrize("size", [4_096, 65_536, 65_537, 20_000_000])
def test_of_a_long_body_the_first_part_is_kept_and_the_status_decides(
    sender: Sender, target: Target, size: int
) -> None:
    target.rule = lambda _: Answer(503, body=b"abcd" * (size // 4) + b"e" * (size % 4))
    found = reply(sender, sending(target.url()))
    assert (found.status, found.body) == (503, b"abcd" * 1_024)


def test_a_body_without_end_is_cut_off(sender: Sender, target: Target) -> None:
    chunk = b"1000\r\n" + b"x" * 4_096 + b"\r\n"
    target.rule = lambda _: Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 40)
    found = reply(sender, sending(target.url()))
    assert (found.status, found.body) == (200, b"x" * 4_096)


def test_a_compressed_answer_is_not_blown_up(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8bnot gzip at all")
    assert reply(sender, sending(target.url())).body == b"\x1f\x8bnot gzip at all"


@pytest.mark.parametrize(
    "flood",
    [b"X-Long: " + b"x" * 400_000, b"\r\n".join(b"X-%d: %s" % (n, b"x" * 900) for n in range(500))],
    ids=["one line", "many lines"],
)
def test_headers_without_end_are_a_broken_answer(sender: Sender, target: Target, flood: bytes) -> None:
    target.rule = lambda _: Answer(raw=b"HTTP/1.1 200 OK\r\n" + flood + b"\r\nContent-Length: 0\r\n\r\n")
    found = failure(sender, sending(target.url()))
    assert (found.type, len(found.text) > len("127.0.0.1: .")) == ("BROKEN", True)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(drop=True),
        Answer(raw=b"SSH-2.0-OpenSSH_9.2\r\n" * 3),
        Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
    ],
    ids=["nothing", "no HTTP", "a bad length"],
)
def test_what_is_no_answer_is_broken(sender: Sender, target: Target, answer: Answer) -> None:
    target.rule = lambda _: answer
    found = failure(sender, sending(target.url()))
    assert (found.type, found.category) == ("BROKEN", Category.NETWORK)
    assert "127.0.0.1" in found.text


def test_a_body_that_ends_too_early_is_broken(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", close=True)
    assert failure(sender, sending(target.url())).type == "BROKEN"


def test_the_whole_delivery_has_a_limit(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(hang=True)
    before = time.monotonic()
    found = failure(sender, sending(target.url(), timeout=0.2, connect=0.1))
    assert 0.19 < time.monotonic() - before < 1.5
    assert (found.type, found.category) == ("TIMEOUT", Category.NETWORK)
    assert found.text == "No whole answer from 127.0.0.1 within 200ms (delivery_timeout)."


def test_an_answer_that_trickles_is_cut_off_at_the_same_limit(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(body=b"x" * 1_000, trickle=0.01)
    found = failure(sender, sending(target.url(), timeout=0.2))
    assert (found.type, "delivery_timeout" in found.text) == ("TIMEOUT", True)


def test_connecting_has_a_limit_of_its_own(sender: Sender) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        found = failure(sender, sending(f"http://127.0.0.1:{address[1]}/", timeout=5, connect=0.2))
        for filler in fillers:
            filler.close()
    assert found.text == "No connection to 127.0.0.1 within 200ms (connect_timeout)."
    assert found.type == "TIMEOUT"


def test_a_limit_below_a_millisecond_is_a_limit(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(hang=True)
    assert failure(sender, sending(target.url(), timeout=0.0001, connect=0.0001)).type == "TIMEOUT"


def test_a_handle_takes_the_next_limits_and_not_the_last(sender: Sender, target: Target) -> None:
    target.rule = lambda one: Answer(hang=True) if one.path == "/hang" else Answer(delay=0.4)
    assert failure(sender, sending(target.url("/hang"), timeout=0.1, connect=0.1)).type == "TIMEOUT"
    assert reply(sender, sending(target.url("/slow"), timeout=5, connect=2)).status == 200


def test_who_hangs_or_trickles_holds_up_nobody(sender: Sender, target: Target) -> None:
    slow = {"/hang": Answer(hang=True), "/trickle": Answer(body=b"x" * 1_000, trickle=0.05)}
    target.rule = lambda one: slow.get(one.path, OK)
    for path in slow:
        for number in range(10):
            sender.start(sending(target.url(path), timeout=10), (path, number))
    before = time.monotonic()
    for number in range(100):
        sender.start(sending(target.url("/good")), number)
        while number not in [tag for tag, _, _ in sender.progress(0.5)]:
            assert time.monotonic() - before < 5
    assert sender.flying == 20


def test_waiting_ends_when_something_happens_or_the_time_is_over(sender: Sender, target: Target) -> None:
    target.rule = lambda one: Answer(hang=True) if one.path == "/hang" else Answer(delay=0.1)
    sender.start(sending(target.url("/hang"), timeout=10), "hang")
    before = time.monotonic()
    while time.monotonic() - before < 0.3:
        assert sender.progress(0.1) == []
    sender.start(sending(target.url("/soon")), "soon")
    before = time.monotonic()
    while not sender.progress(5.0):
        assert time.monotonic() - before < 3
    assert time.monotonic() - before < 1


def test_waiting_does_not_burn_time(sender: Sender, target: Target) -> None:
    target.rule = lambda _: Answer(hang=True)
    sender.start(sending(target.url(), timeout=10), "hang")
    cpu, end = time.thread_time(), time.monotonic() + 0.5
    while time.monotonic() < end:
        sender.progress(0.25)
    assert time.thread_time() - cpu < 0.1


def test_nothing_in_flight_returns_at_once(sender: Sender) -> None:
    before = time.monotonic()
    assert sender.progress(5.0) == []
    assert time.monotonic() - before < 1


def test_sockets_beyond_what_select_can_name_are_waited_for(sender: Sender, target: Target) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4_096)), hard))
    target.rule = lambda one: Answer(hang=True) if one.path == "/hang" else Answer(delay=0.1)
    below = [socket.socket() for _ in range(1_050)]
    try:
        sender.start(sending(target.url("/hang"), timeout=10), "hang")
        while not target.received:
            sender.progress(0.01)
        cpu, end = time.thread_time(), time.monotonic() + 0.4
        while time.monotonic() < end:
            sender.progress(0.2)
        assert time.thread_time() - cpu < 0.1
        sender.start(sending(target.url("/soon")), "soon")
        before = time.monotonic()
        while not sender.progress(2.0):
            assert time.monotonic() - before < 3
    finally:
        for one in below:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_closed_port_is_a_failure_to_connect(sender: Sender) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        found = failure(sender, sending(f"http://127.0.0.1:{unused.getsockname()[1]}/"))
    assert (found.type, found.category) == ("CONNECT", Category.NETWORK)
    assert found.text.startswith("127.0.0.1: ")


def test_an_unknown_name_is_a_failure_of_dns(sender: Sender) -> None:
    found = failure(sender, sending("http://nobody.invalid/"))
    assert (found.type, found.category) == ("DNS", Category.NETWORK)
    assert "nobody.invalid" in found.text


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:25/x",
        "127.0.0.1/x",
        "",
        "http://a b/",
        "http://h:99999/",
        "http://h\x00/",
        "http://hö.example/",
        "http://[::1/",
        "HTTP//127.0.0.1",
    ],
)
def test_what_is_no_address_is_a_bad_url(sender: Sender, target: Target, url: str) -> None:
    found = failure(sender, sending(url))
    assert (found.type, found.category) == ("BAD_URL", Category.PERMANENT)
    assert reply(sender, sending(target.url())).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1:9", "nobody.invalid", "10.0.0.1", "bad host", "[::1"])
def test_credentials_are_never_told(sender: Sender, host: str) -> None:
    found = failure(sender, sending(f"http://user:hunter2@{host}/?x"))
    assert "hunter2" not in found.text
    assert "user" not in found.text


def test_the_text_of_a_failure_is_bounded(sender: Sender) -> None:
    assert len(failure(sender, sending("http://" + "a" * 5_000 + ".invalid/")).text) <= 1_000


def test_a_header_that_cannot_be_sent_breaks_nothing(sender: Sender, target: Target) -> None:
    found = failure(sender, Sending(target.url(), [b"A: \x00"], b"", 5, 5, None))
    assert found.type == "BAD_URL"
    assert target.received == []
    assert reply(sender, sending(target.url())).status == 200


def test_an_error_in_a_callback_is_told_and_nothing_is_called(target: Target) -> None:
    class Broken(AddressGuard):
        def refusal(self, address: str) -> str | None:
            raise RuntimeError("the guard is ill")

    sender = Sender(Broken([], []), 1)
    found = failure(sender, sending(target.url()))
    sender.close()
    assert found.category is Category.NETWORK
    assert "the guard is ill" in found.text
    assert target.connections == 0


def test_the_environment_names_no_proxy(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    with Target(rule=lambda _: Answer(502)) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        sender = Sender(LOCAL, 1)
        assert reply(sender, sending(target.url())).status == 200
        sender.close()
        assert proxy.connections == 0
    assert target.connections == 1


def test_no_credentials_come_from_a_netrc(tmp_path: Path, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    sender = Sender(LOCAL, 1)
    reply(sender, sending(target.url()))
    sender.close()
    assert "authorization" not in target.received[0].headers


def test_closing_drops_what_is_in_flight(target: Target) -> None:
    target.rule = lambda _: Answer(hang=True)
    sender = Sender(LOCAL, 4)
    for number in range(3):
        sender.start(sending(target.url()), number)
    sender.progress(0.1)
    sender.close()
    assert sender.flying == 0


def test_an_own_authority_is_trusted_where_it_is_given_and_only_there(sender: Sender, authority: Authority) -> None:
    stranger = Authority("Stranger")
    with Target(tls=authority.server()) as target:
        assert reply(sender, sending(target.url(), ca=authority.pem)).status == 200
        for ca in (None, stranger.pem, None):
            found = failure(sender, sending(target.url(), ca=ca))
            assert (found.type, found.category) == ("TLS", Category.NETWORK)
        assert reply(sender, sending(target.url(host="localhost"), ca=stranger.pem + authority.pem)).status == 200
        assert reply(sender, sending(target.url(), ca=authority.pem)).status == 200
        assert len(target.received) == 3


def test_a_connection_over_tls_is_kept(sender: Sender, authority: Authority) -> None:
    with Target(tls=authority.server()) as target:
        for _ in range(10):
            reply(sender, sending(target.url(), ca=authority.pem))
        assert target.connections == 1


def test_the_authorities_of_the_system_are_trusted(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "system.pem").write_text(authority.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))
    trusting = Sender(LOCAL, 1)
    with Target(tls=authority.server()) as target:
        assert reply(trusting, sending(target.url())).status == 200
        assert failure(trusting, sending(target.url(), ca=Authority("Other").pem)).type == "TLS"
    trusting.close()


@pytest.mark.parametrize("case", ["expired", "another host", "unknown authority", "no authority"])
def test_a_certificate_that_proves_nothing_is_refused(sender: Sender, authority: Authority, case: str) -> None:
    life = MINUS_A_DAY if case == "expired" else datetime.timedelta(days=1)
    context = authority.server(("other.example",) if case == "another host" else ("127.0.0.1",), life)
    ca = {"unknown authority": Authority("Other").pem, "no authority": "-----BEGIN CERTIFICATE-----\n"}.get(case)
    with Target(tls=context) as target:
        found = failure(sender, sending(target.url(), ca=ca or authority.pem))
        assert (found.type, found.category) == ("TLS", Category.NETWORK)
        assert target.received == []


def test_an_answer_without_tls_is_a_failure_of_tls(sender: Sender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:
        sender.start(sending(f"https://127.0.0.1:{plain.getsockname()[1]}/"), "one")
        sender.progress(0.1)
        line, _ = plain.accept()
        with line:
            line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            found = all_of(sender)["one"]
    assert isinstance(found, Failure)
    assert found.type == "TLS"
