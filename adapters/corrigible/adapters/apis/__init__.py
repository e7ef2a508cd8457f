"""One folder for each API of others that this distribution knows."""
