"""The complaints inside a Kubernetes Status: what each says, and which part of the request it is about."""
