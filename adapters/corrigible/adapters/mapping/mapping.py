"""The file of mappings: which operation does what another one does, and what becomes of each field."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class FileModel(BaseModel):
    """A part of a file: fixed once it is read, without members of other names."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


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


class OperationName(FileModel):
    """An operation in a map: API, method and path template."""

    api: str
    method: str
    path: str

    @property
    def key(self) -> str:
        """What names it among the operations of all APIs."""
        return f"{self.api} {self.method} {self.path}"


class ValueMapping(FileModel):
    """A value that is called otherwise in the target, and means the same: `batch/v1` is `batch/v1beta1`."""

    source: str | int | float | bool | None
    target: str | int | float | bool | None


class FieldMapping(FileModel):
    """Where the value of one field of the source goes.

    It holds for all that is below the field, where no mapping and no loss has a longer pointer: `/body` to `/body` is
    all of a body. Of several with one source, the first whose conversion accepts the value is taken.
    """

    source: str
    """Pointer of `operation.Field`."""
    target: str
    """Its `*` are those of the source, in their order; one that it lacks stands for the only item of a list."""
    conversion: str = ""
    """Empty where the value is taken as it is; else one of `conversion.CONVERSIONS`."""
    values: tuple[ValueMapping, ...] = ()
    """What values are called in the target, also each item of a list; others are taken as they are."""
    score: float = Field(default=1.0, ge=0, le=1)


class Constant(FileModel):
    """A value that the target needs and that follows from the source's operation: `apiVersion: batch/v1`.

    It stands only where the caller's own values leave the place free; in a body of DELETE only where a body was sent.
    """

    target: str
    """`*` is each item of the list that the rewritten request has there."""
    value: str | int | float | bool | None
    unless: tuple[str, ...] = ()
    """Pointers of the source: where the caller sent one of them, the target does not need the value."""


class Probe(FileModel):
    """A read that shows whether the target is served, and what a value of the source belongs to."""

    get: str
    """A path; `{name}` is a variable of the target's path, else of the source's."""
    pointer: str = ""
    """Into the answer, `*` for any item; empty: that there is an answer is enough."""
    value: str = ""
    """What stands there. Where it is `{name}` of a variable of the source's path, that value is no loss: it follows."""


class Evidence(FileModel):
    """One reason for a mapping."""

    kind: Literal["description", "fields", "path", "neighbours", "annotation", "model", "version", "dry run"]
    score: float = Field(default=1.0, ge=0, le=1)
    note: str = ""


class OperationMapping(FileModel):
    """One operation as a substitute for another one, in this direction only."""

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
    served: Probe | None = None
    """How it is seen that an API offers the target, where no description says so."""
    target_reads: bool = False
    """The target changes nothing though its method may: a search by POST. Of PUT, PATCH and DELETE that is an error."""


class ApiOfMap(FileModel):
    """An API that mappings name."""

    name: str
    title: str = ""
    version: str = ""
    origin: str = ""
    """Scheme, host and port where it is served; empty: wherever the refused call went."""
    base: str = ""
    """The path before every path of its operations, `/api/v1`; templates do not have it."""


class MapFile(FileModel):
    """`map.json`."""

    format: Literal["corrigible map 1"] = "corrigible map 1"
    method: str
    """What found and scored the mappings: `lexical`, the name of an embedding model, `by hand`."""
    apis: tuple[ApiOfMap, ...] = ()
    mappings: tuple[OperationMapping, ...] = ()
