"""Sends over HTTP, many at once and none waiting for another: the only file that knows libcurl."""

import socket
import time
from collections.abc import Sequence
from typing import Any

import pycurl  # type: ignore[import-untyped]

from broker.delivery.addresses import AddressGuard
from broker.delivery.exchange import (
    LARGEST_BODY,
    Reply,
    Result,
    Sending,
    checked_url,
    host_of,
    system_authorities,
    timed_out,
    told,
)
from broker.delivery.sockets import HighSockets
from broker.domain.failures import Failure, network_failure

__all__ = ["Reply", "Result", "Sender", "Sending"]

LARGEST_KEPT_UPLOAD = 65_536
NAP = 0.001
_CONSTANT = (
    (pycurl.POST, 1),
    (pycurl.NOSIGNAL, 1),
    (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
    (pycurl.HTTP09_ALLOWED, 0),
    (pycurl.FOLLOWLOCATION, 0),
    (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
    (pycurl.REDIR_PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
    (pycurl.PROXY, ""),
    (pycurl.NOPROXY, "*"),
    (pycurl.NETRC, pycurl.NETRC_IGNORED),
    (pycurl.SSL_VERIFYPEER, 1),
    (pycurl.SSL_VERIFYHOST, 2),
    (pycurl.TCP_KEEPALIVE, 1),
)
_DNS = frozenset({pycurl.E_COULDNT_RESOLVE_HOST, pycurl.E_COULDNT_RESOLVE_PROXY})
_CONNECT = frozenset({pycurl.E_COULDNT_CONNECT, pycurl.E_INTERFACE_FAILED, pycurl.E_NO_CONNECTION_AVAILABLE})
_TLS = frozenset(
    {
        pycurl.E_SSL_CONNECT_ERROR,
        pycurl.E_PEER_FAILED_VERIFICATION,
        pycurl.E_SSL_CERTPROBLEM,
        pycurl.E_SSL_CIPHER,
        pycurl.E_SSL_CACERT_BADFILE,
        pycurl.E_SSL_ISSUER_ERROR,
        pycurl.E_SSL_INVALIDCERTSTATUS,
        pycurl.E_SSL_SHUTDOWN_FAILED,
    }
)
_TYPES = {
    pycurl.E_URL_MALFORMAT: "BAD_URL",
    **dict.fromkeys(_DNS, "DNS"),
    **dict.fromkeys(_CONNECT, "CONNECT"),
    **dict.fromkeys(_TLS, "TLS"),
}


class Sender:
    """Keeps connections and handles; belongs to one thread. `resolve` fixes names (name:port:address), for tests."""

    def __init__(self, guard: AddressGuard, most: int, resolve: Sequence[str] = ()) -> None:
        self._guard, self._most, self.resolve = guard, most, resolve
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, most)
        self._calls: dict[Any, _Call] = {}
        self._free: list[_Call] = []
        self._refused: list[Result] = []
        self._high, self._authorities = HighSockets(), system_authorities()

    @property
    def flying(self) -> int:
        """How many were started and have not been returned."""
        return len(self._calls) + len(self._refused)

    def start(self, sending: Sending, tag: object) -> None:
        """Send it; what comes of it is returned by `progress` with the tag, and nothing is raised here."""
        call = self._free.pop() if self._free else _Call(self._guard, self._high, self._authorities)
        try:
            call.prepare(sending, tag, self.resolve)
            self._multi.add_handle(call.curl)
        except (pycurl.error, ValueError, TypeError, OverflowError) as error:
            call.curl.close()
            self._refused.append((tag, network_failure("BAD_URL", told(sending.url, str(error))), 0.0))
        else:
            self._calls[call.curl] = call

    def progress(self, wait: float) -> list[Result]:
        """All that has finished; when nothing has, wait that long for something to happen. Idle, it returns at once."""
        done = self._gathered()
        if not done and self._calls and wait > 0:
            self._wait(wait)
            done = self._gathered()
        return done

    def close(self) -> None:
        """Drop what is in flight, and every connection."""
        for call in (*self._calls.values(), *self._free):
            if call.curl in self._calls:
                self._multi.remove_handle(call.curl)
            call.curl.close()
        self._calls.clear()
        self._free.clear()
        self._multi.close()
        self._high.close()

    def _gathered(self) -> list[Result]:
        done, self._refused = self._refused, []
        self._multi.perform()
        left = 1
        while left:
            left, good, bad = self._multi.info_read()
            moment = time.monotonic()
            for curl in good:
                done.append(self._landed(curl, 0, "", moment))
            for curl, code, message in bad:
                done.append(self._landed(curl, code, message, moment))
        return done

    def _landed(self, curl: Any, code: int, message: str, moment: float) -> Result:
        call = self._calls.pop(curl)
        self._multi.remove_handle(curl)
        seconds = moment - call.started
        result = (call.tag, call.result(code, message, seconds), seconds)
        if len(self._free) < self._most:
            call.rest()
            self._free.append(call)
        else:
            curl.close()
        return result

    def _wait(self, wait: float) -> None:
        """Until a socket is ready, or libcurl has a time-out to see to; while it has no socket, nap."""
        due = self._multi.timeout()
        wait = min(wait, due / 1_000) if due >= 0 else wait
        if self._high.used:
            self._high.wait(self._multi.fdset(), wait)
            return
        before = time.monotonic()
        if self._multi.select(wait) <= 0 and time.monotonic() - before < wait / 2:
            time.sleep(min(wait, NAP))


class _Lent(socket.socket):
    """The binding keeps a duplicate; ours is closed as soon as it is let go."""

    __slots__ = ()

    def __del__(self) -> None:
        self.close()


class _Call:
    """A handle of libcurl with what came for it; kept configured, so that a delivery sets only what differs."""

    def __init__(self, guard: AddressGuard, high: HighSockets, authorities: str) -> None:
        self.curl, self._guard = pycurl.Curl(), guard
        self.tag: object = None
        self.started, self.sending = 0.0, Sending("", [], b"", 0, 0, None)
        self._head: list[bytes] = []
        self._body, self._size = b"", 0
        self._refusal, self._tried = "", False
        for option, value in _CONSTANT:
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.CAINFO, authorities)
        self.curl.setopt(pycurl.HEADERFUNCTION, self._head.append)
        self.curl.setopt(pycurl.WRITEFUNCTION, self._keep)
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        self.curl.setopt(pycurl.SOCKOPTFUNCTION, high.watch)

    def prepare(self, sending: Sending, tag: object, resolve: Sequence[str]) -> None:
        """Only what is not as it was; options that libcurl copies cost more than comparing them."""
        last, self.sending, self.tag, setopt = self.sending, sending, tag, self.curl.setopt
        if sending.url != last.url:
            setopt(pycurl.URL, checked_url(sending.url))
        if sending.timeout != last.timeout or sending.connect_timeout != last.connect_timeout:
            setopt(pycurl.TIMEOUT_MS, max(1, int(sending.timeout * 1_000)))
            setopt(pycurl.CONNECTTIMEOUT_MS, max(1, int(sending.connect_timeout * 1_000)))
        if sending.ca != last.ca:
            setopt(pycurl.CAINFO_BLOB, sending.ca)
        if resolve:
            setopt(pycurl.RESOLVE, list(resolve))
        setopt(pycurl.HTTPHEADER, sending.headers)
        setopt(pycurl.POSTFIELDS, sending.body)
        self.started = time.monotonic()

    def result(self, code: int, message: str, seconds: float) -> Reply | Failure:
        """An answer whose body is too long is an answer: the status decides."""
        if code == 0 or (code == pycurl.E_WRITE_ERROR and self._size > LARGEST_BODY):
            status = self.curl.getinfo(pycurl.RESPONSE_CODE)
            return Reply(status, b"".join(self._head), self._body[: self.sending.keeps], seconds)
        if self._refusal and not self._tried:
            return network_failure("ADDRESS_REFUSED", self._refusal)
        if code == pycurl.E_OPERATION_TIMEDOUT:
            return timed_out(self.sending, seconds)
        text = told(self.sending.url, message)
        return network_failure(_TYPES.get(code, "BROKEN"), f"{text} {self._refusal}".rstrip())

    def rest(self) -> None:
        """Be as new, but configured; a large body is not held until the next."""
        self._head.clear()
        self._body, self._size, self._refusal, self._tried, self.tag = b"", 0, "", False, None
        if len(self.sending.body) > LARGEST_KEPT_UPLOAD:
            self.curl.setopt(pycurl.POSTFIELDS, b"")
            self.sending = self.sending._replace(body=b"")

    def _keep(self, part: bytes) -> int | None:
        """The first part; -1 tells libcurl to stop, None to go on."""
        self._size += len(part)
        if len(self._body) < self.sending.keeps:
            self._body += part
        return -1 if self._size > LARGEST_BODY else None

    def _open(self, purpose: int, address: Any) -> Any:
        """The last moment before connecting: here is the address itself. What cannot be judged is not called."""
        try:
            reason = self._guard.refusal(address.addr[0])
            if reason is None:
                self._tried = True
                return _Lent(address.family, address.socktype, address.protocol)
            self._refusal = f"The address {address.addr[0]} of {host_of(self.sending.url)} is {reason}."
        except Exception as error:  # noqa: BLE001 - libcurl would only print it; the delivery must tell it
            self._tried, self._refusal = True, f"The socket could not be opened: {error!r}."
        return pycurl.SOCKET_BAD
