"""Rule packs: YAML knowledge about one API's refusals, and the engine that matches and evaluates rules."""
