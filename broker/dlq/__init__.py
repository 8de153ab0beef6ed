"""Keeps the dead-letter summary exact."""
