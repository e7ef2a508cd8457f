"""Services of our own, to learn from."""
