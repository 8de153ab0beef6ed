"""Threads, signals, supervision: knows no business rule."""
