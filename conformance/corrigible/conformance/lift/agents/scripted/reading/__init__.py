"""What scripted agents read: error bodies, prose, descriptions, the facts of a prompt."""
