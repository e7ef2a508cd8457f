"""The role pack: rule packs, as files."""
