"""Recorded exchanges, read from files."""
