"""The picture of a terminal shows what the commands print today."""

from pathlib import Path
from xml.etree import ElementTree

from tests.docs.capture import PICTURE, draw, record, shape
from tests.docs.pages import ROOT

AGAIN = "the picture is out of date; python -m tests.docs.capture makes it again"


def test_the_picture_is_of_today(tmp_path: Path) -> None:
    today = shape(draw(record(tmp_path)))
    assert today == shape(PICTURE.read_text()), AGAIN
    assert len(today) > 20
    assert today[0] == "$ seq 0 0 >orders.txt"


def test_the_pictures_need_nothing_from_elsewhere() -> None:
    for picture in (ROOT / "docs" / "pictures").glob("*.svg"):
        image = picture.read_text()
        assert ElementTree.fromstring(image).tag.endswith("svg")
        assert "url(http" not in image and "<script" not in image and "href=" not in image
