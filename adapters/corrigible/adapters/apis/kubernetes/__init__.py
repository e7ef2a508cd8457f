"""The Kubernetes API: core and every group, custom resources included."""
