"""The gRPC front end, and the interceptor for gRPC clients."""
