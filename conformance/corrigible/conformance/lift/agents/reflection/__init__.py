"""Reflection strategies: what a model writes about an error before its next call."""
