"""One folder for each supported third-party API."""
