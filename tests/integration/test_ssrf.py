"""No spelling of an address that is not public gets a delivery out: the address itself is judged, before connecting."""

import socket
import time
from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from broker.delivery.addresses import AddressGuard
from broker.delivery.sender import Reply, Sender, Sending
from broker.domain.failures import Category, Failure
from tests.support.target import Answer, Target

SPELLINGS_OF_LOOPBACK = """
127.0.0.1 127.0.0.2 127.255.255.254 127.1 127.0.1 2130706433 0x7f000001 0x7F000001 017700000001 0177.0.0.1 0177.1
0x7f.0.0.1 0x7f.1 0x7F.0x0.0x0.0x1 127.0x0.0.01 00000177.0.0.1 0x000000007f000001 127.0.0.1. 2130706433. 127.65535
0 0.0.0.0 0x0 00 0.0 localhost LOCALHOST localhost. LocalHost %6c%6f%63%61%6c%68%6f%73%74 %31%32%37.0.0.1
127%2e0%2e0%2e1 [::1] [::] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [::ffff:127.0.0.1]
[::FFFF:7f00:1] [0:0:0:0:0:ffff:7f00:0001]
[::127.0.0.1] [::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::]
[::ffff:0:127.0.0.1] [::1%25lo] user@127.0.0.1 1.1.1.1@127.0.0.1 user:1.1.1.1@localhost 8.8.8.8%40@127.0.0.1
"""
OTHERS = """
10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.254 192.168.0.1 0xa000001 167772161 012.0.0.1 0xc0a80001 3232235521 10.1
169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 [::ffff:169.254.169.254] [fd00:ec2::254]
168.63.129.16 100.100.100.200 192.0.0.192 100.64.0.1 169.254.0.1 224.0.0.1 239.255.255.250 255.255.255.255 240.0.0.1
198.18.0.1 192.0.2.1 198.51.100.1 203.0.113.1 [fe80::1] [fe80::1%25lo] [fc00::1] [fd12::1] [fec0::1] [ff02::1]
[64:ff9b::a00:1] [64:ff9b:1::1] [2002:a00:1::] [2001:0:808:808::f5ff:fffe] [2001:db8::1] [100::1] [::ffff:10.0.0.1]
"""
UNREADABLE = """
256.0.0.1 127.0.0.1.1 4294967297 0x100000000 0x7f.0.0.0.1 08.0.0.1 [::1 ::1 [127.0.0.1] [::ffff:256.0.0.1] 127.0.0.1%00
127.0.0.1%20 127.0.0.1%09 [::1]x 127.0.0.1:80:80
"""


@pytest.fixture
def sender() -> Iterator[Sender]:
    made = Sender(AddressGuard([], []), 4)
    yield made
    made.close()


@pytest.fixture(scope="module")
def victims() -> Iterator[tuple[Target, ...]]:
    """A server on each loopback address, at one port, so that every spelling of them has somebody to reach."""
    with Target() as old, Target("::1", port=old.port) as new:
        yield old, new


def sent(sender: Sender, url: str) -> Reply | Failure:
    sender.start(Sending(url, [b"Expect:"], b"secret", 3.0, 1.0, None), url)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for _, result, _ in sender.progress(0.5):
            return result
    raise AssertionError("nothing came of it")


def assert_refused(result: Reply | Failure, types: tuple[str, ...] = ("ADDRESS_REFUSED",)) -> None:
    assert isinstance(result, Failure), result
    assert result.type in types, result
    assert result.category is Category.PERMANENT or result.type == "DNS"


def test_there_are_many_spellings() -> None:
    every = [*SPELLINGS_OF_LOOPBACK.split(), *OTHERS.split()]
    assert len(set(every)) == len(every) >= 60


@pytest.mark.parametrize("host", SPELLINGS_OF_LOOPBACK.split())
def test_no_spelling_of_this_machine_is_called(sender: Sender, victims: tuple[Target, ...], host: str) -> None:
    assert_refused(sent(sender, f"http://{host}:{victims[0].port}/"))
    assert [victim.connections for victim in victims] == [0, 0]


@pytest.mark.parametrize("host", OTHERS.split())
def test_no_address_that_is_not_public_is_called(sender: Sender, host: str) -> None:
    result = sent(sender, f"http://{host}/latest/meta-data/")
    assert_refused(result)
    assert isinstance(result, Failure)
    assert "allow it with delivery_allowed_networks" in result.text


@pytest.mark.parametrize("host", UNREADABLE.split())
def test_a_spelling_that_means_nothing_is_refused_too(sender: Sender, victims: tuple[Target, ...], host: str) -> None:
    assert_refused(sent(sender, f"http://{host}:{victims[0].port}/"), ("ADDRESS_REFUSED", "DNS", "BAD_URL"))
    assert [victim.connections for victim in victims] == [0, 0]


@pytest.mark.parametrize("host", ["①②⑦.⓪.⓪.①", "127。0。0。1", "localhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ"])
def test_look_alikes_of_other_alphabets_are_no_addresses(
    sender: Sender, victims: tuple[Target, ...], host: str
) -> None:
    assert_refused(sent(sender, f"http://{host}:{victims[0].port}/"), ("BAD_URL", "ADDRESS_REFUSED"))
    assert [victim.connections for victim in victims] == [0, 0]


def test_whoever_is_allowed_reaches_such_a_server_by_these_spellings() -> None:
    """Else the tests above would prove nothing."""
    with Target() as reachable:
        sender = Sender(AddressGuard([ip_network("127.0.0.0/8")], []), 1)
        for host in ("2130706433", "0x7f.1", "localhost", "[::ffff:127.0.0.1]"):
            assert isinstance(sent(sender, f"http://{host}:{reachable.port}/"), Reply), host
        sender.close()
        assert len(reachable.received) == 4


def test_the_name_of_this_machine_is_not_called(sender: Sender, target: Target) -> None:
    name = socket.gethostname()
    assert_refused(sent(sender, target.url(host=name)))
    assert target.connections == 0


def test_the_text_says_which_address_of_which_name(sender: Sender, target: Target) -> None:
    sender.resolve = [f"hook.example:{target.port}:127.0.0.1"]
    result = sent(sender, target.url(host="hook.example"))
    assert isinstance(result, Failure)
    assert result.text == (
        "The address 127.0.0.1 of hook.example is loopback; allow it with delivery_allowed_networks."
    )


@pytest.mark.parametrize("private", ["10.0.0.1", "127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]"])
def test_a_public_name_of_a_private_address_is_refused(sender: Sender, target: Target, private: str) -> None:
    sender.resolve = [f"hook.example:{target.port}:{private}"]
    assert_refused(sent(sender, target.url(host="hook.example")))
    assert target.connections == 0


def test_a_name_that_changes_its_answer_is_refused_from_then_on(target: Target) -> None:
    """127.0.0.2 stands for the public address that was good when it was looked at."""
    target.rule = lambda _: Answer(headers={"Connection": "close"}, close=True)
    with Target("127.0.0.2", port=target.port, rule=target.rule) as good:
        sender = Sender(AddressGuard([ip_network("127.0.0.2/32")], []), 2)
        url = target.url(host="rebinding.example")
        sender.resolve = [f"rebinding.example:{target.port}:127.0.0.2"]
        assert isinstance(sent(sender, url), Reply)
        sender.resolve = [f"rebinding.example:{target.port}:127.0.0.1"]
        assert_refused(sent(sender, url))
        sender.resolve = [f"rebinding.example:{target.port}:127.0.0.2"]
        assert isinstance(sent(sender, url), Reply)
        sender.close()
        assert (len(good.received), target.connections) == (2, 0)


@pytest.mark.parametrize("order", ["127.0.0.2,127.0.0.1", "127.0.0.1,127.0.0.2"])
@pytest.mark.parametrize("listening", [True, False])
def test_of_several_addresses_only_the_good_one_is_called(target: Target, order: str, listening: bool) -> None:
    with Target("127.0.0.2", port=target.port if listening else 0) as good:
        sender = Sender(AddressGuard([ip_network("127.0.0.2/32")], []), 2)
        sender.resolve = [f"two.example:{target.port}:{order}"]
        result = sent(sender, target.url(host="two.example"))
        sender.close()
        assert (len(good.received), target.connections) == (int(listening), 0)
    assert isinstance(result, Reply) if listening else (isinstance(result, Failure) and result.type == "CONNECT")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_redirect_to_a_private_address_is_not_followed(victims: tuple[Target, ...], status: int, host: str) -> None:
    before = [victim.connections for victim in victims]
    with Target("127.0.0.2") as public:
        public.rule = lambda _: Answer(status, {"Location": f"http://{host}:{victims[0].port}/"})
        sender = Sender(AddressGuard([ip_network("127.0.0.2/32")], []), 1)
        result = sent(sender, public.url())
        sender.close()
        assert isinstance(result, Reply)
        assert (result.status, len(public.received)) == (status, 1)
    assert [victim.connections for victim in victims] == before


def test_what_is_denied_is_refused_though_it_is_allowed(target: Target) -> None:
    sender = Sender(AddressGuard([ip_network("127.0.0.0/8")], [ip_network("127.0.0.1/32")]), 1)
    result = sent(sender, target.url())
    sender.close()
    assert isinstance(result, Failure)
    assert (result.type, result.text) == (
        "ADDRESS_REFUSED",
        "The address 127.0.0.1 of 127.0.0.1 is in delivery_denied_networks.",
    )
    assert target.connections == 0
