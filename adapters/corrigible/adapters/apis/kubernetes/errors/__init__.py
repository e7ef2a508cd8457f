"""The errors inside a Kubernetes Status, and the parts of the request that they are about."""
