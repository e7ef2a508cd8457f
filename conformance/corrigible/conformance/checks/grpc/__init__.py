"""The profile grpc. Its modules are imported when a check runs: grpcio is an optional dependency."""
