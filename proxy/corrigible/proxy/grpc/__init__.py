"""The gRPC front end, and the interceptor for gRPC clients."""

from corrigible.schema.extra import require

require("corrigible.proxy.grpc", "grpc")
