"""The engine: from a refused exchange to what may be said about it. No I/O."""
