"""What a delivery says besides its body: the headers of the wire contract and those that a producer sent along."""

import json
from functools import lru_cache

from broker import __version__
from broker.delivery.signing import signature
from broker.domain.messages import headers_problem
from broker.domain.work import ClaimedJob, Target

REMEMBERED = 256
_BREAKS = dict.fromkeys({*range(32), 127} - {ord("\t")})


class RequestBuilder:
    """Writes the header lines of one consumer's deliveries; what is the same in all of them is made once."""

    def __init__(self, target: Target, keys: tuple[bytes, ...], token_header: str | None) -> None:
        self._keys, self._token_name = keys, _folded(token_header or "")
        self._constant = [
            b"Expect:",
            _line("User-Agent", f"broker/{__version__}"),
            _line("X-Broker-Channel-ID", target.channel_id),
            _line("X-Broker-Consumer-ID", target.consumer_id),
        ]
        if target.token and token_header:
            self._constant.append(_line(token_header, target.token))

    def headers(self, job: ClaimedJob, body: bytes, now: float, request_id: str) -> list[bytes]:
        """All lines; the webhook id is the job's, which is one consumer's alone and stays through every retry."""
        lines = [
            *self._constant,
            _content_type(job.content_type),
            _line("X-Broker-Message-ID", job.message_id),
            f"X-Request-ID: {request_id}".encode(),
            f"X-Broker-Job-ID: {job.id}".encode(),
            b"X-Broker-Attempt: %d" % (job.retries_made + 1),
            b"X-Broker-Message-Priority: %d" % job.priority,
            b"X-Broker-Hop-Count: %d" % (job.hop_count + 1),
        ]
        if self._keys:
            lines += self._signed(job.id, int(now), body)
        if job.headers:
            lines += _carried(job.headers, self._token_name)
        return lines

    def _signed(self, job_id: str, timestamp: int, body: bytes) -> tuple[bytes, bytes, bytes]:
        return (
            f"webhook-id: {job_id}".encode(),
            b"webhook-timestamp: %d" % timestamp,
            f"webhook-signature: {signature(self._keys, job_id, timestamp, body)}".encode(),
        )


@lru_cache(maxsize=REMEMBERED)
def _carried(text: str, token_name: str) -> tuple[bytes, ...]:
    """What the producer sent along; checked again, since a stored header must never become one of the broker's own."""
    taken, kept = {token_name}, {}
    for name, value in json.loads(text).items():
        if _folded(name) not in taken and isinstance(value, str) and headers_problem({name: value}) is None:
            taken.add(_folded(name))
            kept[name] = value
    if not kept:
        return ()
    return (_line("X-Broker-Metadata-Headers", ", ".join(kept)), *(_line(*one) for one in kept.items()))


@lru_cache(maxsize=REMEMBERED)
def _content_type(value: str) -> bytes:
    return _line("Content-Type", value)


def _line(name: str, value: str) -> bytes:
    """One line whatever the value; libcurl writes an empty header when it is told so by a semicolon."""
    if not value.isprintable():
        value = value.translate(_BREAKS)
    return f"{name}: {value}".encode() if value.strip() else f"{name};".encode()


def _folded(name: str) -> str:
    """Names that a server takes for the same."""
    return name.lower().replace("_", "-")
