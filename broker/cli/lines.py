"""Many messages from a stream, one a line, in batches that fit into memory."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import BinaryIO

from broker.cli.backend import Json
from broker.cli.parameters import parse_json
from broker.domain.errors import BrokerError, Invalid, TooLarge

BATCH_LINES = 500
BATCH_BYTES = 4_000_000
LONGEST_LINE = 32_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line by its number, as a message or as what is wrong with it; `size` counts its bytes in the stream."""

    number: int
    size: int
    item: Json | BrokerError


Read = Callable[[bytes], Json | BrokerError | None]


def text_item(payload: bytes) -> Json:
    """A payload as it stands; base64 keeps any bytes."""
    return {"payload": base64.b64encode(payload).decode(), "payloadEncoding": "base64"}


def json_item(text: bytes) -> Json | BrokerError | None:
    """A message in the batch form of the API; an empty line is none."""
    if not text.strip():
        return None
    try:
        found = parse_json(text)
    except ValueError:
        return Invalid.field("line", "is not JSON")
    return found if isinstance(found, dict) else Invalid.field("line", "must be a JSON object")


def read_lines(stream: BinaryIO, read: Read, longest: int = LONGEST_LINE) -> Iterator[Line]:
    """Every line without its end, as `read` takes it; one that is too long is passed over piece by piece."""
    for number in count(1):
        text = stream.readline(longest)
        if not text:
            return
        if len(text) < longest or text.endswith(b"\n"):
            size, item = len(text), read(text.removesuffix(b"\n").removesuffix(b"\r"))
        else:
            size = len(text) + _pass_over(stream, longest)
            item = TooLarge(f"The line has {size} bytes, at most {longest} are read.")
        if item is not None:
            yield Line(number, size, item)


def in_batches(
    lines: Iterator[Line], most_lines: int = BATCH_LINES, most_bytes: int = BATCH_BYTES
) -> Iterator[list[Line]]:
    """As many lines as one request should carry."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == most_lines or size + line.size > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += line.size
    if batch:
        yield batch


def _pass_over(stream: BinaryIO, longest: int) -> int:
    size = 0
    while rest := stream.readline(longest):
        size += len(rest)
        if rest.endswith(b"\n"):
            break
    return size
