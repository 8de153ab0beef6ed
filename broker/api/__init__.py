"""The HTTP face: parses, authenticates, calls operations, shows the answer."""
