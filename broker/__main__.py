"""`python -m broker` is the `broker` command."""

from broker.cli.main import main

main()
