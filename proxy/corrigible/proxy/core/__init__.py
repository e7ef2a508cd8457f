"""The engine: from a refused exchange to the feedback for it. No I/O."""
