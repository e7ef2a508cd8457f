"""One episode: played, and scored by the end state."""
