"""The engine: claims jobs, sends them, and writes what came of them. No SQL, no Flask."""
