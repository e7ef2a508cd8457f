"""The GitHub adapter."""
