"""Rules without input or output: standard library only; time and chance are arguments."""
