"""Details of a google.rpc.Status that came as bytes, because no gateway on the way knew their types.

Sources: google/rpc/error_details.proto; buf/validate/validate.proto (Violations); connectrpc.com "Error details".
`google_rpc.proto` and `buf_validate.proto` have the types.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, json_format, message_factory
from google.protobuf.message import DecodeError

from corrigible.schema.exchange import Json


def decoded(type_name: str, data: bytes) -> Mapping[str, Json] | None:
    """Return a detail as proto-JSON, None where its type is not known here or the bytes are none of it."""
    pool = _pool()
    try:
        kind: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"corrigible.detail.{type_name}"))
        document: Mapping[str, Json] = json_format.MessageToDict(kind.FromString(data), descriptor_pool=pool)
    except (DecodeError, KeyError, ValueError, TypeError):
        return None
    return document


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(duration_pb2.DESCRIPTOR.serialized_pb)
    own = files(__package__).joinpath("error_details.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(own).file:
        pool.Add(file)
    return pool
