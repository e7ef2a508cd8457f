"""Which operations do the same, and what becomes of each field."""
