"""The log of a run: its records, the file, and the comparison of two of them."""
