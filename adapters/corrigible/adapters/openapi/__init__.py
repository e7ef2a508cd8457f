"""Constraints of OpenAPI descriptions on requests: `load.py` reads a description, `description.py` holds one."""
