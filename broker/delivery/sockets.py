"""Waiting for sockets beyond what select() can name, which libcurl's binding would not wait for."""

import select

SELECTABLE = 1_024
LONGEST_WAIT = 0.05
_EDGES = select.EPOLLIN | select.EPOLLOUT | select.EPOLLET
Descriptors = tuple[list[int], list[int], list[int]]


class HighSockets:
    """Watches their edges, as a hint to look again; the system itself forgets those that are closed."""

    def __init__(self) -> None:
        self._epoll, self.used = select.epoll(), False

    def watch(self, descriptor: int, purpose: int) -> int:
        """Libcurl calls this for every new socket; 0 tells it to go on."""
        if descriptor >= SELECTABLE:
            self.used = True
            self._epoll.register(descriptor, _EDGES)
        return 0

    def wait(self, low: Descriptors, wait: float) -> None:
        """Until one of either kind is ready; not for long, since an edge is seen only once."""
        poll = select.poll()
        for descriptor in {*low[0], *low[1]}:
            reads, writes = descriptor in low[0], descriptor in low[1]
            poll.register(descriptor, reads * select.POLLIN | writes * select.POLLOUT)
        poll.register(self._epoll, select.POLLIN)
        poll.poll(min(wait, LONGEST_WAIT) * 1_000)
        self._epoll.poll(0)

    def close(self) -> None:
        """Watch nothing any more."""
        self._epoll.close()
