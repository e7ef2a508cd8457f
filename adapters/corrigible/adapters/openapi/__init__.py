"""What an OpenAPI description says about requests: `load.py` reads one, `description.py` is what it knows."""
