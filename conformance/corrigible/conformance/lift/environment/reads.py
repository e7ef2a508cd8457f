"""Which requests only read: nothing changes upstream, whether they succeed or not.

Over HTTP the method says so (RFC 9110, 9.2.1). A gRPC method's name says nothing: `DeleteRange` ends like `Range`. So
the environment lists the methods that are known to read, and every other one counts as a change.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from corrigible.schema.exchange import Protocol, Request

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def is_read(request: Request, read_methods: Collection[str] = ()) -> bool:
    """Return whether a request only reads. `read_methods` are the gRPC methods that do, as `package.Service/Method`."""
    if request.protocol is Protocol.GRPC:
        return request.method.removeprefix("/") in read_methods
    return request.method in _SAFE_METHODS
