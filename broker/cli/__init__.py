"""The command line: the same operations, for people and scripts."""
