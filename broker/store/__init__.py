"""The only package that knows SQL. One door: engine.py."""
