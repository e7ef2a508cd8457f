"""The tasks: one YAML file for each API, and the model of such a file."""
