"""The profile grpc. Only `catalogue` is imported at start: grpcio is an optional dependency."""
