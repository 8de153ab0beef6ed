"""Measures the broker beside the bare database, in the same run. Prints what it measured, judges nothing."""
