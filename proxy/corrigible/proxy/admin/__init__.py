"""What who runs a proxy asks it: is it well, what did it do."""
