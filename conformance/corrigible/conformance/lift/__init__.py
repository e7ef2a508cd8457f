"""`conformance lift`: what the feedback is worth to an agent, measured episode by episode."""
