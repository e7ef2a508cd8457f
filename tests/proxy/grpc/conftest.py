"""A gRPC server that does what it is told, and the proxy before it."""

from tests._support.grpc_probe import certificates as certificates
from tests._support.grpc_probe import direct_channel as direct_channel
from tests._support.grpc_probe import probe as probe
from tests._support.grpc_probe import proxied as proxied
from tests._support.grpc_probe import proxied_channel as proxied_channel
from tests._support.grpc_probe import rpc as rpc
