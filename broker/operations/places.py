"""The addresses of things, relative to the broker's own."""

from urllib.parse import quote


def _path(*segments: str) -> str:
    return "/" + "/".join([_segment(segment) for segment in segments])


def _segment(text: str) -> str:
    """Percent-encoded where it must be; what the broker makes itself never must."""
    return text if text.isascii() and text.isalnum() else quote(text, safe="")


def producer_place(producer_id: str) -> str:
    """A producer."""
    return _path("producer", producer_id)


def channel_place(channel_id: str, *below: str) -> str:
    """A channel, or something below it."""
    return _path("channel", channel_id, *below)


def consumer_place(channel_id: str, consumer_id: str, *below: str) -> str:
    """A consumer, or something below it."""
    return _path("channel", channel_id, "consumer", consumer_id, *below)


def message_place(channel_id: str, message_id: str, scheduled: bool = False) -> str:
    """A message, or a scheduled one."""
    return _path("channel", channel_id, "scheduled-message" if scheduled else "message", message_id)
