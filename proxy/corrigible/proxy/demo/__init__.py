"""The local servers that the demo, the sandboxes and the tests start, and a client that calls them."""
