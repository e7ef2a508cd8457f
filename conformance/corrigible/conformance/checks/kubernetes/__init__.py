"""The profiles kubernetes-api and kubernetes-webhook."""
