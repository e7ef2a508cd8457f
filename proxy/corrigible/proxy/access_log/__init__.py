"""The access log: one JSON line for each exchange."""
