"""Operations of any API in one form, whatever describes them: OpenAPI, descriptors, ToolBench's JSON."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Field(BaseModel):
    """One argument or result of an operation."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    pointer: str
    """Where it stands: `/path/name`, `/query/name`, `/header/name`, `/body/a/b`, and of results `/result/a/b`.

    `*` stands for any item of a list, or any key of a map: `/body/items/*/price`; of a list as body: `/body/*/id`.
    """
    type: str = ""
    """JSON Schema's word, or empty: string, integer, number, boolean, object, array."""
    format: str = ""
    description: str = ""
    required: bool = False
    """Whether a call needs it, where what holds it is sent."""
    enum: tuple[str, ...] = ()
    """The allowed values as text, in the order of the description."""

    @property
    def name(self) -> str:
        """The last name of the pointer: of an item, that of its list."""
        return next((part for part in reversed(self.pointer.split("/")) if part != "*"), "")


class CanonicalOperation(BaseModel):
    """One operation of one API."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    api: str
    """The name of the API with its version, unique in an index: `kubernetes 1.20`."""
    name: str
    """`operationId` of OpenAPI, `package.Service/Method` of gRPC; where there is none, method and path."""
    method: str
    """In upper case; of gRPC `POST`, as on the wire."""
    path: str
    """The template, `/v1/charges/{charge}`; of gRPC `/package.Service/Method`."""
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    arguments: tuple[Field, ...] = ()
    results: tuple[Field, ...] = ()
    """Of the first documented success."""
    schemas: tuple[str, ...] = ()
    """Names of the schemas that it takes or returns: operations of one API that share some are neighbours."""
    left_out: int = 0
    """Places whose fields are not listed: below recursive schemas, and beyond the bounds of reading."""

    @property
    def key(self) -> str:
        """Method and path: what names an operation among those of its API."""
        return f"{self.method} {self.path}"
