"""`corrigible.yaml`: the options of `corrigible proxy` in a file, and several APIs behind one proxy.

Knows: the members of the file, and where each stands in it. Does not know: what options do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.own_location import Rewritten
from corrigible.rules.language.file_model import checked
from corrigible.rules.language.yaml_source import Source, read_source
from corrigible.rules.pack.load import built_in

_PATHS: Final = ("relay_key", "log", "upstream_ca", "upstream_cert", "tls_cert", "tls_key", "descriptors")
"""Members that are files, relative to the folder of the configuration."""

_PREFIX: Final = r"^(/[A-Za-z0-9._~-]+)+$"


def _prefix(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError(f'"{text}" must begin with /')
    if not re.fullmatch(_PREFIX, text):
        raise ValueError(f'"{text}" must be a path such as /billing, without a slash at its end')
    return text


Prefix = Annotated[str, AfterValidator(_prefix), Field(json_schema_extra={"pattern": _PREFIX})]
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]+$")]
ModeName = Literal["none", "traditional", "verbose", "reflective"]
Seconds = Annotated[float, Field(gt=0, le=3600)]
Timeout = Annotated[float, Field(ge=0, le=86_400)]


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ApiText(_Text):
    """One of several APIs. `host` and `prefix` say which requests are for it; one API may have neither."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Its name in log and metrics")]
    upstream: Annotated[str, Field(description="Address of the API: http[s]://host[:port]")]
    host: Annotated[Host | list[Host] | None, Field(description="Hosts that callers name, without a port")] = None
    prefix: Annotated[
        Prefix | None, Field(description="Beginning of the path, such as /billing: the API gets the path without it")
    ] = None
    pack: Annotated[list[str], Field(description="Rule packs: names of built-in ones, or folders")] = []
    spec: Annotated[list[str], Field(description="Descriptions of the API: files or URLs")] = []
    base: Annotated[str | None, Field(description="Base path that the description does not state")] = None
    map: Annotated[list[str], Field(description="Maps of operations that do the same: files")] = []
    map_origin: Annotated[list[str], Field(description="Other servers that the maps may name")] = []
    mode: Annotated[ModeName | None, Field(description="What to add to errors of this API")] = None
    query_mode: Annotated[
        bool | None, Field(description="Whether ?mode= is the proxy's also where this API has no description")
    ] = None
    time_limit: Annotated[Seconds | None, Field(description="Maximum seconds of a correction for this API")] = None
    lookups: Annotated[bool | None, Field(description="Whether the proxy may send requests to this API")] = None

    @property
    def hosts(self) -> frozenset[str]:
        hosts = [self.host] if isinstance(self.host, str) else self.host or []
        return frozenset(host.lower() for host in hosts)


class ConfigText(_Text):
    """The configuration of `corrigible proxy`. Options and environment variables go before it."""

    listen: Annotated[str | None, Field(description="Address to listen on: HOST:PORT")] = None
    upstream: Annotated[str | None, Field(description="Address of the API: http[s]://host[:port]")] = None
    grpc_upstream: Annotated[str | None, Field(description="Address of a gRPC API, instead of upstream")] = None
    descriptors: Annotated[str | None, Field(description="Descriptors of the gRPC API")] = None
    pack: Annotated[list[str] | None, Field(description="Rule packs: names of built-in ones, or folders")] = None
    spec: Annotated[list[str] | None, Field(description="Descriptions of the API: files or URLs")] = None
    base: Annotated[str | None, Field(description="Base path that the description does not state")] = None
    map: Annotated[list[str] | None, Field(description="Maps of operations that do the same: files")] = None
    map_origin: Annotated[list[str] | None, Field(description="Other servers that the maps may name")] = None
    apis: Annotated[
        list[ApiText] | None, Field(min_length=1, description="Several APIs, instead of upstream, pack, spec and base")
    ] = None
    mode: Annotated[
        ModeName | None,
        Field(description="What to add to errors unless the caller chooses"),
    ] = None
    query_mode: Annotated[
        bool | None, Field(description="Whether ?mode= is the proxy's also where the API has no description")
    ] = None
    time_limit: Annotated[Seconds | None, Field(description="Maximum seconds of a correction")] = None
    head_timeout: Annotated[Timeout | None, Field(description="Seconds for the head of a request; 0 is for ever")] = (
        None
    )
    idle_timeout: Annotated[
        Timeout | None, Field(description="Seconds without a byte of a request's body, and between requests")
    ] = None
    answer_timeout: Annotated[Timeout | None, Field(description="Seconds for the head of an answer")] = None
    lookups: Annotated[bool | None, Field(description="Whether the proxy may send reads and dry runs")] = None
    rewrite_location: Annotated[
        Literal["redirects", "all", "none"] | None, Field(description="Where the API's own address becomes relative")
    ] = None
    engine_mode: Annotated[
        Literal["reverse", "regular", "transparent"] | None, Field(description="mitmproxy's mode")
    ] = None
    engine: Annotated[Literal["mitmproxy", "envoy", "auto"] | None, Field(description="What carries the traffic")] = (
        None
    )
    correctors: Annotated[
        int | None, Field(ge=1, le=64, description="How many processes correct errors behind Envoy")
    ] = None
    relay_key: Annotated[str | None, Field(description="File with the secret of two proxies")] = None
    upstream_ca: Annotated[str | None, Field(description="Trust only these CA certificates (PEM file)")] = None
    upstream_cert: Annotated[str | None, Field(description="Client certificate and key (PEM file)")] = None
    upstream_insecure: Annotated[bool | None, Field(description="Do not verify the API's certificate (tests)")] = None
    tls_cert: Annotated[str | None, Field(description="Certificate that callers see (PEM file)")] = None
    tls_key: Annotated[str | None, Field(description="Key of tls_cert, if it is in a file of its own")] = None
    log: Annotated[str | None, Field(description="File for one JSON line per exchange")] = None
    quiet: Annotated[bool | None, Field(description="No lines on the terminal about exchanges")] = None
    reload: Annotated[
        bool | None, Field(description="Load this file, packs and descriptions anew when they change")
    ] = None
    otel: Annotated[bool | None, Field(description="Export traces and metrics by OpenTelemetry")] = None
    admin: Annotated[str | None, Field(description="Address of /healthz, /readyz and /metrics: HOST:PORT")] = None


assert set(Mode) == {"none", "traditional", "verbose", "reflective"} and set(Rewritten) == {"redirects", "all", "none"}


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration that was read."""

    source: Source
    text: ConfigText

    def options(self) -> Mapping[str, Any]:
        """Return the values of options by their names, files found from the folder of the configuration."""
        values = self.text.model_dump(exclude_none=True, exclude={"apis"})
        if "lookups" in values:
            values["no_lookups"] = not values.pop("lookups")
        for name in _PATHS:
            if name in values:
                values[name] = self._folder / values[name]
        for name in ("pack", "spec", "map"):
            if name in values:
                values[name] = self.found(name, values[name])
        return values

    def found(self, kind: str, names: list[str]) -> list[str]:
        """Return packs, descriptions or maps: paths from its folder; names and URLs as they are."""
        is_path = self._is_folder if kind == "pack" else _is_description
        return [str(self._folder / name) if is_path(name) else name for name in names]

    def _is_folder(self, name: str) -> bool:
        return name not in built_in() and (self._folder / name).is_dir()

    @property
    def _folder(self) -> Path:
        return self.source.path.parent


def _is_description(name: str) -> bool:
    return "://" not in name


def read_config(path: Path) -> Config:
    """Read a configuration. Raises AuthoringError with file and line."""
    source = read_source(path)
    text = checked(ConfigText, source)
    apis = text.apis or []
    for name in ("upstream", "grpc_upstream", "pack", "spec", "base", "map", "map_origin"):
        if apis and getattr(text, name) is not None:
            raise source.error([name], f"{name} cannot stand beside apis: give it to each API")
    seen: dict[object, str] = {}
    for index, api in enumerate(apis):
        for host in sorted(api.hosts) or [""]:
            key = (host, api.prefix)
            if key in seen:
                problem = f'"{api.name}" has the host and prefix of "{seen[key]}"'
                raise source.error(["apis", index], problem)
            seen[key] = api.name
        if any(api.name == other.name for other in apis[:index]):
            raise source.error(["apis", index, "name"], f'there are two APIs named "{api.name}"')
        if not api.pack and not api.spec:
            raise source.error(["apis", index], "pack or spec is required")
    return Config(source, text)


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ConfigText.model_json_schema()}
