"""No page has a shell line that no test executes."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks, pages, shell_blocks

PROGRAMS = (
    *("broker", "make", "git", "pip", "python3", "curl", "mysql", "mariadb", "nagios4", "promtool"),
    *("docker", "kubectl", "helm", "systemctl", "journalctl", "sudo", "apt", "apt-get", "install"),
    *("export", "for", "until", "while", "seq", "cat", "cp", "mkdir", "sed", "grep"),
)
SHELL_LIKE = re.compile(rf"^(?:\$ |# ?\$ |(?:\w+=\S+ )*(?:{'|'.join(PROGRAMS)})\b)", re.MULTILINE)
NOT_SHELL = {"json", "mermaid", "text", "ini", "toml", "yaml", "promql", "sql", "xml"}

# Blocks of lines that cannot be executed here as they stand, and why. By page and language.
REASONS = {
    (
        "docs/installing.md",
        "console",
    ): "needs systemd, a container engine or a cluster; a test checks the files and commands",
    ("docs/monitoring-nagios.md", "console"): "writes below /etc/nagios4; the same files are tried with a real Nagios",
}

# Pages whose shell lines need tools, and so are executed by a test that is not in this folder; it must name the page.
ELSEWHERE = {
    "docs/installing.md": "tests/tools/test_deploy_installing.py",
    "docs/monitoring-prometheus.md": "tests/tools/test_prometheus.py",
}


@pytest.mark.parametrize("page", [page for page in pages() if shell_blocks(page)])
def test_a_test_executes_the_shell_lines_of_the_page(page: str) -> None:
    if page in ELSEWHERE:
        assert Path(page).name in (ROOT / ELSEWHERE[page]).read_text()
    else:
        assert re.search(rf'\bshell_(?:of|blocks)\("{re.escape(page)}"\)', _tests_of_this_folder())


@pytest.mark.parametrize("page", pages())
def test_what_looks_like_shell_is_marked_as_shell(page: str) -> None:
    unmarked = [block for block in blocks(page) if _looks_like_shell(block) and block.language != "sh"]
    assert [block.first_line for block in unmarked if (page, block.language) not in REASONS] == []


def test_every_reason_is_still_needed() -> None:
    assert set(REASONS) <= {(page, block.language) for page in pages() for block in blocks(page)}
    assert set(ELSEWHERE) <= {page for page in pages() if shell_blocks(page)}


@pytest.mark.parametrize("text", ["broker db check\n", "A=b curl http://x\n", "$ ls\n", "one\nexport A=b\n"])
def test_a_block_that_looks_like_shell_is_known_by_its_lines(text: str) -> None:
    assert _looks_like_shell(Block("page", "", text))
    assert not _looks_like_shell(Block("page", "", "channel  consumer  dead\norders   billing      1\n"))


def _looks_like_shell(block: Block) -> bool:
    return block.language not in NOT_SHELL and bool(SHELL_LIKE.search(block.text))


def _tests_of_this_folder() -> str:
    return "\n".join(file.read_text() for file in (ROOT / "tests" / "docs").glob("test_*.py"))
