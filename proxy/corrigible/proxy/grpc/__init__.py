"""The gRPC front end."""

from corrigible.schema.extra import require

require("corrigible.proxy.grpc", "grpc")
