"""What a configuration of Envoy is made from.

Knows: addresses, limits, what packs say about successes that refuse. Does not know: Envoy's own schema, options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from corrigible.proxy.core.limits import Timeouts
from corrigible.proxy.http.api_routes import Upstream
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.runtime.file_descriptors import CONNECTIONS
from corrigible.proxy.tls_files import USUAL, Identity, Trust


class RefusingOperation(NamedTuple):
    """An operation whose successes may be refusals."""

    method: str
    path: str
    """A Lua pattern of the whole path."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """One API behind Envoy, and its correctors."""

    host: str
    port: int
    upstream: Upstream
    correctors: Sequence[str]
    """`HOST:PORT` or `unix:PATH`. A caller always gets the same one."""
    is_grpc: bool = False
    body_limit: int = 1 << 20
    seconds: float = 1.0
    """In which a corrector has to answer."""
    is_none: bool = False
    """Whether nothing is added unless the caller asks for it."""
    asks_for_target: bool = True
    """Whether `?mode=` may be ours."""
    refusing: Sequence[RefusingOperation] = ()
    media_types: Sequence[str] = ()
    """Further media types of errors."""
    rewritten: Rewritten = Rewritten.REDIRECTS
    trust: Trust = USUAL
    identity: Identity | None = None
    admin: str | None = None
    """The path of a Unix socket."""
    is_ext_proc: bool = False
    """Whether correctors are asked by `ext_proc`, and not by the filters in Lua."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    connections: int = CONNECTIONS
    """Of callers, at once; more are refused."""
    pressure: str | None = None
    """A file that says which part of the connections is in use: where it is much, idle ones are closed."""
    logs_all: bool = False
    """Whether the log on standard output has successes, too."""

    @property
    def times_bodies(self) -> bool:
        """Whether a request's body that stands still is given up."""
        return bool(self.timeouts.idle) and not self.is_grpc and not self.is_ext_proc
