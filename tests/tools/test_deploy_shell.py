"""Every shell file of the project, by shellcheck."""

import subprocess
from pathlib import Path

import pytest

from tests.support.deploy_files import ROOT
from tests.support.tools import path_of

FOLDERS = (".ci", "deploy", "docs", "tests")
SHELLS = ("#!/bin/sh", "#!/usr/bin/env bash", "#!/bin/bash")


def shell_files() -> list[Path]:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.is_file()]
    return [file for file in files if file.read_bytes().startswith(tuple(map(str.encode, SHELLS)))]


@pytest.mark.tool("shellcheck")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    names = {file.name for file in shell_files()}
    assert {"run", "mysql_chroot.sh"} <= names
    done = shellcheck(*shell_files())
    assert done.returncode == 0, done.stdout
    (tmp_path / "wrong").write_text("#!/bin/sh\nrm -rf $1/*\n")
    assert shellcheck(tmp_path / "wrong").returncode == 1


def shellcheck(*files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([path_of("shellcheck"), *files], capture_output=True, text=True, check=False)
