"""What ships in deploy/, tried out with the real tools."""
