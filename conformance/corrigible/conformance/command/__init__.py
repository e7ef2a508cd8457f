"""The commands of `conformance`, one module each."""
