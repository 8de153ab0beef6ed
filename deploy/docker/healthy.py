"""`python healthy.py PORT PATH`: ends with 0 when this container answers 200 there, for images without curl."""

import http.client
import sys

SECONDS = 4


def main(port: str, path: str) -> int:
    """A proxy that the environment names is not asked."""
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=SECONDS)
    try:
        connection.request("GET", path)
        return int(connection.getresponse().status != http.client.OK)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
