"""From pack names and files to a running corrector."""

from __future__ import annotations

import json
import os
import secrets
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corrigible.adapters.base import Adapter, Described, DescribesDocuments, Undescribed
from corrigible.adapters.formats.generic import MappedFormat
from corrigible.adapters.formats.wrapped_calls import TOOL
from corrigible.adapters.mapping.map_index import MapIndex, Maps, map_files, maps_of_pack, read_map
from corrigible.adapters.operation import Operations
from corrigible.adapters.registry import adapter_for
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.loop.detector import Loops, SharedLoops
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.core.relayed_feedback import Relay
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.runtime.dispatcher import LARGE, LOOPS_RESTORE, LOOPS_STATE, Dispatcher
from corrigible.proxy.runtime.fork_server import ForkServer, Served
from corrigible.proxy.runtime.worker import MEMORY, Workers
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.pack.cases import is_path
from corrigible.rules.pack.load import Pack, load_pack
from corrigible.schema.extra import needs


class SpecWarning(UserWarning):
    """Something is formally wrong with a description that can be used."""


PLAIN = "http"
"""The pack of what the statuses of HTTP mean, for an API of which only the description is at hand."""
PLAIN_RPC = "grpc"
"""The same of the status codes of gRPC."""


@dataclass(frozen=True, slots=True)
class MapFiles:
    """The maps that an operator gives, and where the alternatives in them may lead."""

    files: Sequence[Path] = ()
    own_origin: str = ""
    """Where the API is."""
    origins: Sequence[str] = ()
    """The other servers that may be named."""

    def load(self) -> MapIndex | None:
        """Raises AuthoringError."""
        maps = [(file.name, read_map(file)) for file in self.files]
        for name, file in maps:
            if file.mappings and not MapIndex([(name, file)], self.own_origin, self.origins):
                servers = ", ".join(sorted({api.origin for api in file.apis if api.origin})) or "no substitutes"
                problem = f"{name}: no mapping is for {self.own_origin or 'this API'} ({servers})"
                advice = 'If the API is the same, take "origin" out of the "apis" of the map'
                warnings.warn(f"{problem}. {advice}", SpecWarning, stacklevel=2)
        return MapIndex(maps, self.own_origin, self.origins) if maps else None


def load_profiles(
    packs: Sequence[str | Path],
    specs: Path | Sequence[Path] | None = None,
    *,
    base: str = "",
    rpc: bool = False,
    maps: MapFiles | None = None,
) -> list[ApiProfile]:
    """Load packs, each with the adapter of its name. Operations are the adapter's, the pack's and the description's.

    The first description goes with the packs, each further one is an API of its own. `base` is a path below which
    requests have all that is described, too. Raises AuthoringError for a wrong pack, description or map, with file and
    line.
    """
    plain = PLAIN_RPC if rpc else PLAIN
    files = [specs] if isinstance(specs, Path) else specs or ()
    descriptions = [described(file, base) for file in files]
    index = None if maps is None else maps.load()
    profiles = [_profile(name, descriptions[0] if descriptions else None, index) for name in packs or (plain,)]
    return profiles + [_profile(plain, description, index) for description in descriptions[1:]]


def _profile(name: str | Path, description: Described | None, index: MapIndex | None) -> ApiProfile:
    profile = profile_of(load_pack(name), description)
    folder = profile.pack.path
    own = cache(partial(maps_of_pack, folder)) if map_files(folder) else None
    return replace(profile, maps=Maps(index, own)) if index is not None or own is not None else profile


def profile_of(pack: Pack, description: Described | None = None) -> ApiProfile:
    """Return a pack with the adapter of its name, and with a description. Its maps are left out."""
    told = description.dialect if isinstance(description, DescribesDocuments) else None
    adapter: Adapter = adapter_for(pack.name, pack.text.dialect or told)
    for more in (
        Operations({key: name for key, name in pack.text.operations.items() if is_path(key)}),
        description.operations if description is not None else None,
    ):
        if more is not None and more.names:
            adapter = replace(adapter, operations=adapter.operations.merged_with(more))
    if pack.error is not None:
        adapter = replace(adapter, formats=(MappedFormat(pack.error), *adapter.formats))
    if description is not None and not description.operations.names:
        description = Undescribed()  # it says as much as none
    return ApiProfile(adapter, pack, pack.index, description)


_OF_GRAPHQL = frozenset({".graphql", ".graphqls", ".gql"})
"""File endings of schemas of GraphQL."""
_OF_PROTOBUF = frozenset({".binpb", ".desc", ".pb", ".proto", ".protoset"})
"""File endings of descriptors. They also describe APIs that use protobuf's JSON: a gRPC gateway, Connect, Twirp."""


def described(spec: Path, base: str = "") -> Described:
    """Load a description. Raises AuthoringError for a wrong one."""
    if spec.suffix in _OF_PROTOBUF:
        from corrigible.adapters.protobuf.descriptors import load as load_descriptors
        from corrigible.adapters.protobuf.service_description import ProtobufDescription

        return ProtobufDescription(load_descriptors(spec))
    if spec.suffix in _OF_GRAPHQL or (spec.suffix == ".json" and _is_introspection(spec)):
        try:
            from corrigible.adapters.graphql.description import load as load_schema
        except ModuleNotFoundError:
            raise AuthoringError(Place(spec, 0), needs("a schema of GraphQL", "graphql")) from None
        return load_schema(spec)
    from corrigible.adapters.openapi.load import load  # slow to import: only where it is asked for

    description = load(spec, check=True, base=base)
    if description.converted:
        warnings.warn(f"{spec}: converted from {description.converted} to OpenAPI 3.0", SpecWarning, stacklevel=2)
    for problem in description.problems:
        warnings.warn(f"{problem} (the description is used all the same)", SpecWarning, stacklevel=2)
    return description


def _is_introspection(spec: Path) -> bool:
    """Whether a file of JSON begins as the answer to an introspection query does."""
    try:
        with spec.open("rb") as file:
            return b'"__schema"' in file.read(_BEGINNING)
    except OSError:
        return False


_BEGINNING = 200


def build_engine(
    packs: Sequence[str | Path],
    spec: Path | Sequence[Path] | None = None,
    limits: Limits | None = None,
    *,
    base: str = "",
    rpc: bool = False,
    relay: Relay | None = None,
    maps: MapFiles | None = None,
) -> Engine:
    profiles = load_profiles(packs, spec, base=base, rpc=rpc, maps=maps)
    return Engine(profiles, limits, time.thread_time, relay)


def build_corrector(
    packs: Sequence[str | Path],
    *,
    mode: Mode = Mode.REFLECTIVE,
    spec: Path | Sequence[Path] | None = None,
    base: str = "",
    limits: Limits | None = None,
    loops: Loops | None = None,
    relay: Relay | None = None,
) -> HttpCorrector:
    """Build what an HTTP front end needs. Raises AuthoringError for a wrong pack or description."""
    return HttpCorrector(build_engine(packs, spec, limits, base=base, relay=relay), mode=mode, loops=loops)


def build_dispatcher(served: Served, loops: SharedLoops | None = None, *, largest_here: int = LARGE) -> Dispatcher:
    """Fork what large refusals are corrected in. Call it while the process has one thread."""
    if not hasattr(os, "fork"):
        return Dispatcher(largest_here=largest_here)
    workers = Workers(ForkServer.above(memory=MEMORY) or ForkServer(work_of(served, loops), memory=MEMORY))
    if loops is not None:
        loops.report_successes_to(lambda caller, place: workers.notify("succeeded", (caller, place), caller=caller))
    return Dispatcher(workers, loops, largest_here=largest_here)


def work_of(served: Served, loops: SharedLoops | None) -> Served:
    """Return what workers do, with what they are told of loops."""
    if loops is None:
        return served
    told: Served = {"succeeded": loops.succeeded, "uncount_refusal": loops.uncount_refusal}
    return {**served, **told, LOOPS_STATE: loops.state, LOOPS_RESTORE: loops.restore}


def build_loops() -> SharedLoops:
    """Make the memory of a loop breaker; what it calls a caller means nothing to anybody else."""
    return SharedLoops(secrets.token_bytes(32))


def build_tools_corrector(packs: Sequence[str | Path], description: Mapping[str, Any]) -> HttpCorrector:
    """Return what corrects calls of the tools that an OpenAPI description has as operations."""
    with TemporaryDirectory(prefix="corrigible-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # who runs the proxy did not write the schemas
        file = Path(folder) / "openapi.json"
        file.write_text(json.dumps(description), "utf-8")
        profiles = load_profiles(packs, file)
    tools = [replace(one, adapter=replace(one.adapter, formats=(TOOL,))) for one in profiles]
    return HttpCorrector(Engine(tools, clock=time.thread_time), loops=build_loops())
