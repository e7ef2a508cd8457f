"""`conformance lift`: how much the feedback helps an agent, measured by episodes."""
