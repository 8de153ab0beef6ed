"""The search for a test server, on machines that offer none."""

import socket
from pathlib import Path

import pytest

from tests.support.binaries import find_binary, search_folders
from tests.support.errors import NoServerFound, NotHere, ServerFailed
from tests.support.killable import KillableServer
from tests.support.servers import Machine, find_killable_server, find_server


def no_engine(fast: bool) -> KillableServer:
    raise NotHere("no container engine answers")


def a_machine(given: str = "") -> Machine:
    """A machine with nothing but what is given."""
    return Machine(given=given, start_container=no_engine, folders=(), may_install=False)


def test_without_any_server_the_search_says_what_to_do_and_what_it_tried() -> None:
    with pytest.raises(NoServerFound) as failure:
        find_server(a_machine())
    advice, *tried = str(failure.value).splitlines()
    assert "Set BROKER_TEST_DATABASE_URL=mysql+pymysql://" in advice
    assert "Docker" in advice and "install mariadb-server" in advice
    assert tried == [
        "What was tried:",
        "- BROKER_TEST_DATABASE_URL is not set",
        "- no container engine answers",
        "- no mariadbd or mysqld on PATH or in the usual folders",
        "- not root on Debian, so nothing was installed",
    ]


def test_a_server_to_kill_is_never_the_given_one() -> None:
    with pytest.raises(NoServerFound, match="install mariadb-server"):
        find_killable_server(a_machine(given="mysql+pymysql://root@127.0.0.1:3306/"))


@pytest.mark.parametrize("url", ["sqlite:///x", "mysql://root@host/", "postgresql://host/", "host:3306"])
def test_a_given_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(ServerFailed, match=r"must be a URL like mysql\+pymysql://"):
        find_server(a_machine(given=url))


def test_a_given_server_that_does_not_answer_fails_the_search_instead_of_another_being_taken() -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        url = f"mysql+pymysql://root:secret@127.0.0.1:{nobody_listens.getsockname()[1]}/"
        with pytest.raises(ServerFailed, match="BROKER_TEST_DATABASE_URL names does not answer") as failure:
            find_server(a_machine(given=url))
    assert "secret" not in str(failure.value)


def test_programs_are_looked_for_on_the_path_first_and_then_in_the_usual_folders() -> None:
    folders = search_folders("/first:/second::/usr/bin")
    assert folders[:3] == (Path("/first"), Path("/second"), Path("/usr/bin"))
    assert Path("/usr/libexec") in folders
    assert len(folders) == len(set(folders))


def a_program(folder: Path, name: str, version: str) -> Path:
    """A stand-in that only says its version."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o755)
    return program


def test_a_mysqld_of_mysql_sets_up_its_own_data(tmp_path: Path) -> None:
    path = a_program(tmp_path / "bin", "mysqld", "mysqld  Ver 9.7.4 for Linux on x86_64")
    binary = find_binary([tmp_path / "empty", tmp_path / "bin"])
    assert binary.path == path
    assert "--initialize-insecure" in binary.initialise_command(tmp_path / "data")


def test_a_mysqld_of_mariadb_has_an_installer(tmp_path: Path) -> None:
    path = a_program(tmp_path / "sbin", "mysqld", "mysqld  Ver 10.11.19-MariaDB")
    installer = a_program(tmp_path / "scripts", "mariadb-install-db", "")
    binary = find_binary([tmp_path / "sbin"])
    assert (binary.path, binary.installer) == (path, installer)
    assert binary.initialise_command(tmp_path / "data")[0] == str(installer)


def test_mariadb_without_its_installer_is_an_incomplete_installation(tmp_path: Path) -> None:
    a_program(tmp_path / "sbin", "mariadbd", "mariadbd  Ver 10.11.19-MariaDB")
    with pytest.raises(ServerFailed, match="install the whole MariaDB server"):
        find_binary([tmp_path / "sbin"])


def test_a_file_that_cannot_be_run_is_not_a_server(tmp_path: Path) -> None:
    a_program(tmp_path, "mysqld", "mysqld  Ver 9.7.4").chmod(0o644)
    with pytest.raises(NotHere):
        find_binary([tmp_path])
