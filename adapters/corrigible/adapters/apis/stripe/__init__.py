"""Stripe: dialect, operations, facts of its description, local servers to try it on."""
