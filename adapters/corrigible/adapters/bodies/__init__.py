"""Bodies of answers and requests that are no JSON objects, read into plain data."""
