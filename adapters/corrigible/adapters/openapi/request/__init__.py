"""Checks of requests against the schemas of their operation, and suggestions for unknown operations."""
