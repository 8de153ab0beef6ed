"""Errors that differ only in numbers, ids, hosts and times have the same fingerprint.

Every pattern is linear: a run of characters is taken whole (`++`), and inside a run no match starts (`(?<!`).
"""

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address

NUMBER, HOST, TIME = "#", "<host>", "<time>"
COMPARED = 600
_ENDING = re.compile(
    "com|net|org|edu|gov|mil|io|arpa|example|invalid|internal|localdomain|lan|"
    "eu|de|uk|fr|nl|ch|jp|cn|br|au|ca|ru|es|se|dk|fi|cz|kr|nz|za"
)
_ENDING_OF_LONG_NAMES = re.compile(_ENDING.pattern + "|info|biz|dev|app|cloud|co|ai|svc|local|corp|home|test")
_HEX, _DIGITS = re.compile(r"[0-9a-f]+"), re.compile(r"[0-9]+")

_SIGN = r"(?:(?<![^\s=(:\[,])[-+])?"
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d++)?+(?: ?[ap]m\b)?+"
_ZONE = r"(?: ?(?:(?:z|utc|gmt|cest|cet|bst|[ecmp][sd]t)\b|[+-]\d\d:?\d\d))?+"
_DAY = r"(?:\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? )?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_TIMES = (
    rf"(?<!\d)\d{{4}}[-/]\d\d[-/]\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d++)?{_ZONE})?+(?!\d)",
    rf"{_DAY}\b\d{{1,2}}[ /-]{_MONTH}[ /-]\d{{2,4}}[ :]{_CLOCK}{_ZONE}",
    rf"{_DAY}\b{_MONTH} \d{{1,2}} {_CLOCK}{_ZONE}(?: \d{{4}}\b)?",
    rf"(?<![0-9a-z:.]){_CLOCK}{_ZONE}(?![\d:])",
)


def _if_address(found: re.Match[str]) -> str:
    """An IPv6 address; a name like `abc::def` is none, though it could be."""
    text = found[0].rstrip(":.") or found[0]
    is_one = (text.count(":") == 7 or "::" in text) and _DIGITS.search(text) is not None and _parses(text)
    return HOST + found[0][len(text) :] if is_one else found[0]


def _parses(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _if_host(found: re.Match[str]) -> str:
    """A dotted name that ends like a host's: `api.example.com`, but neither `order.id` nor `app.js`."""
    labels = found[0].split(".")
    ending = _ENDING_OF_LONG_NAMES if len(labels) > 2 else _ENDING
    return HOST if ending.fullmatch(labels[-1]) else found[0]


def _without_number(found: re.Match[str]) -> str:
    """An id goes as a whole; of a name like `utf8` the number goes and the letters stay."""
    word = found[0]
    return NUMBER if word.startswith("0x") or _is_id(word) else _DIGITS.sub(NUMBER, word)


def _is_id(word: str) -> bool:
    numbers, size = len(_DIGITS.findall(word)), len(word)
    if _HEX.fullmatch(word) and (size >= 16 or (numbers and size >= 7)):
        return True
    return (numbers > 1 and size >= 5) or (numbers == 1 and size >= 16 and not word[-1].isdigit())


_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"(?<![0-9a-z])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-z])"), NUMBER),
    (re.compile(r"(?<![0-9a-z:-])[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?![0-9a-z:-])"), NUMBER),
    *((re.compile(pattern), TIME) for pattern in _TIMES),
    (re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*+://[^\s/?#\"'<>]*[^\s/?#\"'<>:,.;)]"), HOST),
    (re.compile(r"(?<![\w.+%-])[\w.+%-]++@[a-z][a-z0-9-]*+(?:\.[a-z0-9-]++)*+"), HOST),
    (re.compile(r"(?<![0-9a-z.])(?:\d{1,3}\.){3}\d{1,3}(?![0-9a-z]|\.\d)"), HOST),
    (re.compile(r"(?<![0-9a-z:.%])[0-9a-f:.]++(?:%[0-9a-z]{1,15})?(?![0-9a-z])"), _if_address),
    (re.compile(r"(?<![\w.-])[a-z0-9_-]++(?:\.[a-z0-9_-]++)++"), _if_host),
    (re.compile(r"\b(host[:=] ?)[a-z0-9._-]++"), rf"\1{HOST}"),
    (re.compile(r"\bto [a-z0-9._-]++ port\b"), f"to {HOST} port"),
    (re.compile(rf"\[?{HOST}\]?(?::\d++)?"), HOST),
    (re.compile(r"(?<![0-9a-z])(?<!\d[.,])(?:\d++(?:\.\d++)?+(?:[nuµm]s|[smhd]))++(?![0-9a-z])"), NUMBER),
    (re.compile(rf"{_SIGN}(?<![0-9a-z])(?<!\d[.,])\d++(?:[.,]\d++)*+(?:e[+-]?\d++)?+(?![0-9a-z])"), NUMBER),
    (re.compile(r"[0-9a-z]+"), _without_number),
)  # fmt: skip


def normalize(text: str) -> str:
    """The text with all that varies taken out."""
    text = text.lower()
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.strip()


@lru_cache(maxsize=1024)
def fingerprint(error_type: str, text: str) -> str:
    """32 characters that stand for this kind of error; of a long text, which was cut somewhere, the beginning."""
    compared = normalize(text)[:COMPARED]
    return hashlib.sha256(f"{error_type}\n{compared}".encode("utf-8", "replace")).hexdigest()[:32]
