"""Native error dialects, each read into violations."""
