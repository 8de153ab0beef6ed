"""Finds the database server that the tests run on, or starts one."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tests.support import debian
from tests.support.binaries import find_binary, search_folders
from tests.support.errors import NoServerFound, NotHere, ServerFailed
from tests.support.killable import KillableServer
from tests.support.private_server import PrivateServer
from tests.support.server import GivenServer, Server

VARIABLE = "BROKER_TEST_DATABASE_URL"
EXAMPLE = "mysql+pymysql://user:password@host:3306/"
ADVICE = (
    f"The tests need a MySQL or MariaDB server. Set {VARIABLE}={EXAMPLE} (a user who may create databases), "
    "or start a container engine such as Docker, or install mariadb-server or mysql-server (it need not run)."
)


def _start_container(fast: bool) -> KillableServer:
    from tests.support import containers  # noqa: PLC0415 - takes 0.3 s, which unit tests need not pay

    return containers.ContainerServer.start_new(fast)


@dataclass(frozen=True)
class Machine:
    """What a search depends on, so that a test can describe a machine that it does not run on."""

    given: str = field(default_factory=lambda: os.environ.get(VARIABLE, ""))
    folders: tuple[Path, ...] = field(default_factory=lambda: search_folders(os.environ.get("PATH", "")))
    start_container: Callable[[bool], KillableServer] = _start_container
    may_install: bool = field(default_factory=debian.may_install)


Found = TypeVar("Found", bound=Server)
Way = Callable[[Machine, bool], Found]


def find_server(machine: Machine | None = None, fast: bool = True) -> Server:
    """The server to test on: the one given, else a container, else a process of our own."""
    ways: Sequence[Way[Server]] = (_given, _container, _private, _installed)
    return _first_that_works(ways, machine or Machine(), fast)


def find_killable_server(machine: Machine | None = None, fast: bool = False) -> KillableServer:
    """A server that a test may restart and kill, which is never the given one."""
    ways: Sequence[Way[KillableServer]] = (_private, _container, _installed)
    return _first_that_works(ways, machine or Machine(), fast)


def _first_that_works(ways: Sequence[Way[Found]], machine: Machine, fast: bool) -> Found:
    reasons = []
    for way in ways:
        try:
            return way(machine, fast)
        except NotHere as reason:
            reasons.append(f"- {reason}")
    raise NoServerFound("\n".join([ADVICE, "What was tried:", *reasons]))


def _given(machine: Machine, fast: bool) -> Server:
    if not machine.given:
        raise NotHere(f"{VARIABLE} is not set")
    server = GivenServer(_checked(machine.given))
    try:
        _ = server.version
    except SQLAlchemyError as problem:
        reason = problem.__cause__ or problem
        raise ServerFailed(f"the server that {VARIABLE} names does not answer: {reason}") from None
    return server


def _checked(url: str) -> str:
    try:
        usable = make_url(url).drivername in {"mysql+pymysql", "mariadb+pymysql"}
    except ArgumentError:
        usable = False
    if not usable:
        raise ServerFailed(f"{VARIABLE} must be a URL like {EXAMPLE}")
    return url


def _container(machine: Machine, fast: bool) -> KillableServer:
    return machine.start_container(fast)


def _private(machine: Machine, fast: bool) -> PrivateServer:
    return PrivateServer.start_new(fast=fast, binary=find_binary(machine.folders))


def _installed(machine: Machine, fast: bool) -> PrivateServer:
    if not machine.may_install:
        raise NotHere("not root on Debian, so nothing was installed")
    with debian.one_at_a_time():
        try:
            find_binary(machine.folders)
        except NotHere:
            debian.install("mariadb-server")
    return _private(machine, fast)
