"""How a model reflects on a refusal before it calls again."""
