"""A channel that has something to show: loaded only by `broker up --demo` and `broker demo`."""
