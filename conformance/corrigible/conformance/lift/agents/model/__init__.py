"""Models in a retry loop. `prompt` holds every word that they get."""
