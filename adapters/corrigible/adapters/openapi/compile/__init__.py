"""From a description to its compiled form, and the file that holds it."""
