"""The documents as a machine reads them: their blocks, headings and links."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1$\n?", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
_IMAGE = re.compile(r'\b(?:src|href)="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Block:
    """Text between fences, with the word behind the first one."""

    page: str
    language: str
    text: str

    @property
    def first_line(self) -> str:
        """What to name it by."""
        return self.text.partition("\n")[0]


def pages() -> list[str]:
    """README and everything below docs/, as paths from the root."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(page.relative_to(ROOT)) for page in found]


def blocks(page: str) -> list[Block]:
    """All of a page, in its order."""
    return [Block(page, language.strip(), body) for _, language, body in _FENCE.findall(_read(page))]


def shell_blocks(page: str) -> list[str]:
    """The text of each `sh` block of a page."""
    return [block.text for block in blocks(page) if block.language == "sh"]


def shell_of(page: str) -> str:
    """All shell lines of a page."""
    return "\n".join(shell_blocks(page))


def headings(page: str) -> list[str]:
    """As they are written, without the marks of their level."""
    return _HEADING.findall(_prose(page))


def anchors(page: str) -> set[str]:
    """What `#…` may name on this page, after GitHub's rule: the second of equal ones gets -1, the third -2."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in headings(page):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def links(page: str) -> Iterator[tuple[str, str]]:
    """Each link within the repository: the file it names (this page when none), and its anchor."""
    prose = _prose(page)
    for link in (*_LINK.findall(prose), *_IMAGE.findall(prose)):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            yield (str((ROOT / page).parent / path) if path else str(ROOT / page)), anchor


def _read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _prose(page: str) -> str:
    """Without what is between fences: a comment there is no heading."""
    return _FENCE.sub("", _read(page))
