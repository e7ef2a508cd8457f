"""Reads one error message: the names, values, lists and limits in its text."""
