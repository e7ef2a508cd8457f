"""Connections and processes: HTTP/1.1, HTTP/2, gRPC, raw bytes, programs. Nothing here knows a check."""
