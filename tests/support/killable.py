"""A server that tests may stop, kill and start again."""

from abc import ABC, abstractmethod

from tests.support.server import Server


class KillableServer(Server, ABC):
    """A server of the tests' own, which keeps its data and its address while it is down."""

    @property
    @abstractmethod
    def running(self) -> bool:
        """Whether the server process is alive."""

    @abstractmethod
    def start(self) -> None:
        """Start the server on the data it left, and wait until it takes logins."""

    @abstractmethod
    def shut_down(self) -> None:
        """End the server in good order; its data stays."""

    @abstractmethod
    def kill(self) -> None:
        """End the server abruptly; its data stays."""

    def restart(self) -> None:
        """End the server in good order and start it again."""
        self.shut_down()
        self.start()
