"""Acme billing: refunds and disputes under a policy, in front of a Stripe-compatible server."""
