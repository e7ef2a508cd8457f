"""Rule packs: YAML knowledge about one API's refusals, and the engine that lets a rule speak."""
