"""How right mappings and sequences are, by what people judged."""
