"""Suggestions for requests that break their API's description."""
