"""The recipe API: a service to learn from, its validator, its tasks, and how to read its refusals."""
