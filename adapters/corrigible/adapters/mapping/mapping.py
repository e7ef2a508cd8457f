"""The file of mappings: which operation does what another one does, and what becomes of each field."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Equivalence(StrEnum):
    """What the target is to someone who wanted the source."""

    SAME = "same"
    """Drop-in: every argument and every result has its place, with the same meaning, type and unit."""
    SAME_WITH_CONVERSION = "same with conversion"
    """The same after conversions that lose nothing: another name, form, type or unit."""
    WEAKER = "weaker"
    """Some of what the source takes or returns has no place in the target."""
    STRONGER = "stronger"
    """The target does all that the source does, and more that the caller did not ask for."""
    RELATED = "related"
    """Near, but no substitute."""


class OperationName(BaseModel):
    """An operation in a map: API, method and path template."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api: str
    method: str
    path: str


class FieldMapping(BaseModel):
    """Where the value of one field of the source goes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    """Pointer of `operation.Field`."""
    target: str
    conversion: str = ""
    """Empty where the value is taken as it is; else one of `conversion.CONVERSIONS`."""
    score: float = Field(default=1.0, ge=0, le=1)


class Constant(BaseModel):
    """A value that the target needs and that follows from the source's operation: `apiVersion: batch/v1`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    value: str | int | float | bool | None


class Evidence(BaseModel):
    """One reason for a mapping."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["description", "fields", "path", "neighbours", "annotation", "model", "version", "dry run"]
    score: float = Field(default=1.0, ge=0, le=1)
    note: str = ""


class OperationMapping(BaseModel):
    """One operation as a substitute for another one, in this direction only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: OperationName
    target: OperationName
    equivalence: Equivalence
    score: float = Field(ge=0, le=1)
    arguments: tuple[FieldMapping, ...] = ()
    constants: tuple[Constant, ...] = ()
    results: tuple[FieldMapping, ...] = ()
    lost_arguments: tuple[str, ...] = ()
    """Pointers of the source's arguments without a place in the target: who sends one loses it."""
    lost_results: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    """Pointers of arguments that the target requires and the source does not give."""
    evidence: tuple[Evidence, ...] = ()


class ApiOfMap(BaseModel):
    """An API that mappings name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str = ""
    version: str = ""
    origin: str = ""
    """Scheme, host and port where it is served; empty: wherever the refused call went."""
    base: str = ""
    """The path before every path of its operations, `/api/v1`; templates do not have it."""


class MapFile(BaseModel):
    """`map.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["corrigible map 1"] = "corrigible map 1"
    method: str
    """What found and scored the mappings: `lexical`, the name of an embedding model, `by hand`."""
    apis: tuple[ApiOfMap, ...] = ()
    mappings: tuple[OperationMapping, ...] = ()
