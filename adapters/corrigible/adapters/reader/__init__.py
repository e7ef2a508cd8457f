"""How the place of a refusal is found: facts, candidate places, named evidence, one scorer."""
