"""What a configuration of Envoy is made from.

Knows: addresses, limits, what packs say about successes that refuse. Does not know: Envoy's own schema, options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.limits import Timeouts
from corrigible.proxy.http.api_routes import Rewritten, Upstream
from corrigible.proxy.runtime.own_process import CONNECTIONS
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


# What a gateway has to know of an API, so that it asks about refusals only: which successes may be some, for instance.
# A hint too many costs a question, no more.

_ANY = "*"


def refusing_operations(profiles: Sequence[ApiProfile]) -> list[RefusingOperation]:
    """Return the operations whose successes may be refusals."""
    found: dict[RefusingOperation, None] = {}
    for profile in profiles:
        if profile.adapter.may_refuse is not None:
            found[RefusingOperation("POST", "")] = None
        names = profile.refuses_with_success
        if not names:
            continue
        if profile.pack.operation is not None:  # the request names it, wherever that stands
            found[RefusingOperation(_ANY, "")] = None
        for key, name in profile.adapter.operations.templates.items():
            if name in names:
                method, _, template = key.partition(" ")
                found[RefusingOperation(method.upper(), lua_pattern(template))] = None
    return list(found)


def media_types(profiles: Sequence[ApiProfile]) -> list[str]:
    """Return the media types of errors that packs name."""
    mappings = [profile.pack.error for profile in profiles]
    return sorted({media for one in mappings if one is not None for media in one.media_types})


def is_asking_for_target(profiles: Sequence[ApiProfile], *, query_mode: bool) -> bool:
    """Whether `?mode=` of a request may be for the proxy: it is described, or the operator says so (`query_mode`)."""
    if any(profile.adapter.native_mode for profile in profiles):
        return False
    return query_mode or any(hasattr(profile.described, "declares") for profile in profiles)


def lua_pattern(template: str) -> str:
    """Return a path template, `/v1/things/{id}`, as a Lua pattern of the whole path."""
    out, variable = ["^"], ""
    for char in template.rstrip("/"):
        if variable or char == "{":
            variable += char
            if char == "}":
                out.append(".+" if variable.startswith("{+") else "[^/]+")
                variable = ""
        else:
            out.append(char if char.isalnum() or char in "/_" else f"%{char}")
    return "".join([*out, "/?$"])
