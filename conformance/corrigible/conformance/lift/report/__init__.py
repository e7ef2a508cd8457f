"""How a summary is shown: at a terminal, as JSON, as one page."""
