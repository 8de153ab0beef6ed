"""Why the tests have no database server."""


class NotHere(Exception):
    """This machine does not offer this way of getting a server."""


class NoServerFound(Exception):
    """No way of getting a server works, with what to do about it."""


class ServerFailed(Exception):
    """A server is there, but it does not work."""
