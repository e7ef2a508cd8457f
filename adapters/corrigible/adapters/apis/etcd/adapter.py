"""The etcd adapter: gRPC, and the JSON gateway that etcd has beside it."""

from __future__ import annotations

import functools
from importlib.resources import files

from corrigible.adapters.base import Adapter, Described
from corrigible.adapters.formats.google_rpc import GoogleRpcFormat
from corrigible.adapters.operation import Operations


def descriptors() -> bytes:
    """Return etcd's FileDescriptorSet."""
    return files(__package__).joinpath("descriptors.binpb").read_bytes()


@functools.cache
def description() -> Described:
    from google.protobuf import descriptor_pb2

    from corrigible.adapters.protobuf.descriptors import Descriptors
    from corrigible.adapters.protobuf.service_description import ProtobufDescription

    return ProtobufDescription(Descriptors(descriptor_pb2.FileDescriptorSet.FromString(descriptors()).file))


ADAPTER = Adapter(
    name="etcd",
    formats=(GoogleRpcFormat(),),
    operations=Operations.load(files(__package__).joinpath("operations.yaml").read_text("utf-8")),
    description=description,
    descriptors=descriptors,
)
