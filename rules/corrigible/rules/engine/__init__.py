"""From a compiled rule and a violation to a suggestion."""
