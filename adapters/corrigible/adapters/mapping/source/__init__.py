"""Reading descriptions of APIs as canonical operations."""
