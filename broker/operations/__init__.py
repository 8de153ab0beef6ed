"""One function for each thing that a person or a client can do. Every face calls these."""
