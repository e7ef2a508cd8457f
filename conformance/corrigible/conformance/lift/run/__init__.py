"""A run: every episode of a plan that the log lacks."""
