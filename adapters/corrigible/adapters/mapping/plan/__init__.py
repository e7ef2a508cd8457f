"""Sequences of calls for what a user asks, with and without a model, and what models are asked."""
