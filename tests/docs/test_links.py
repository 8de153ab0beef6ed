"""Whatever a document points at is there: the file, and the heading in it."""

from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, links, pages


@pytest.mark.parametrize("page", pages())
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    missing = [f"{_told(path)}#{anchor}" for path, anchor in links(page) if not _is_there(path, anchor)]
    assert missing == []


def test_the_links_are_found() -> None:
    """Otherwise the test above could not fail."""
    found = {(_told(path), anchor) for page in pages() for path, anchor in links(page)}
    assert len(found) > 40
    assert ("docs/runbook.md", "dlqgrowing") in found
    assert ("docs/pictures/flow.svg", "") in found
    assert not _is_there(str(ROOT / "docs" / "runbook.md"), "no-such-alert")


def test_the_index_has_every_page() -> None:
    listed = {_told(path) for path, _ in links("docs/README.md")}
    assert sorted(set(pages()) - listed) == ["README.md", "docs/README.md"]


def _is_there(path: str, anchor: str) -> bool:
    return Path(path).exists() and (not anchor or anchor in anchors(_told(path)))


def _told(path: str) -> str:
    return str(Path(path).resolve().relative_to(ROOT))
