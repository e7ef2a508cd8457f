"""Finding one's way in compiled JSON Schemas."""
