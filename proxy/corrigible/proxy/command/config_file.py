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

from .options import table

_PATHS: Final = ("relay_key", "log", "report", "upstream_ca", "upstream_cert", "tls_cert", "tls_key", "descriptors")
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


def _described(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Say in the JSON Schema what `options.toml` says of each member."""
    rows = {name: row for section in ("api", "callers", "proxy") for name, row in table()[section].items()}
    said = {name.removeprefix("no-").replace("-", "_"): row["member"] for name, row in rows.items() if "member" in row}
    said |= table()["members"] | (table()["members_of_an_api"] if model is ApiText else {})
    for name, member in schema["properties"].items():
        member["description"] = said[name]


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_described)


class ApiText(_Text):
    """One of several APIs. `host` and `prefix` say which requests are for it; one API may have neither."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    upstream: str
    host: Host | list[Host] | None = None
    prefix: Prefix | None = None
    pack: list[str] = []
    spec: list[str] = []
    base: str | None = None
    map: list[str] = []
    map_origin: list[str] = []
    mode: ModeName | None = None
    query_mode: bool | None = None
    time_limit: Seconds | None = None
    lookups: bool | None = None

    @property
    def hosts(self) -> frozenset[str]:
        hosts = [self.host] if isinstance(self.host, str) else self.host or []
        return frozenset(host.lower() for host in hosts)


class ConfigText(_Text):
    """The configuration of `corrigible proxy`. Options and environment variables go before it."""

    listen: str | None = None
    upstream: str | None = None
    grpc_upstream: str | None = None
    descriptors: str | None = None
    pack: list[str] | None = None
    spec: list[str] | None = None
    base: str | None = None
    map: list[str] | None = None
    map_origin: list[str] | None = None
    apis: Annotated[list[ApiText] | None, Field(min_length=1)] = None
    mode: ModeName | None = None
    query_mode: bool | None = None
    time_limit: Seconds | None = None
    body_limit: Annotated[int | None, Field(ge=1, le=64)] = None
    head_timeout: Timeout | None = None
    idle_timeout: Timeout | None = None
    answer_timeout: Timeout | None = None
    lookups: bool | None = None
    rewrite_location: Literal["redirects", "all", "none"] | None = None
    engine_mode: Literal["reverse", "regular", "transparent"] | None = None
    engine: Literal["mitmproxy", "envoy", "auto"] | None = None
    correctors: Annotated[int | None, Field(ge=1, le=64)] = None
    relay_key: str | None = None
    upstream_ca: str | None = None
    upstream_cert: str | None = None
    upstream_insecure: bool | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    log: str | None = None
    quiet: bool | None = None
    reload: bool | None = None
    otel: bool | None = None
    admin: str | None = None
    report: str | None = None
    drift: bool | None = None
    drift_sample: Annotated[int | None, Field(ge=1)] = None


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
