"""What an author may write under `error:` and `operation:` of pack.yaml: where an API keeps what a refusal says."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .file_model import FileModel, Names, listed

Pointer = Annotated[str, Field(pattern="^(/.*)?$")]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]


class PartText(FileModel):
    """The part of a text that counts."""

    after: str | None = Field(None, min_length=1)
    before: str | None = Field(None, min_length=1)
    strip_prefix: str | None = Field(None, min_length=1)


class FieldText(PartText):
    """Where one text of an answer is: in the body, or in a header."""

    pointer: Pointer | None = None
    header: HeaderName | None = None

    @model_validator(mode="after")
    def _one_place(self) -> FieldText:
        if (self.pointer is None) == (self.header is None):
            raise ValueError("says exactly one of pointer, header")
        return self


class OperationText(PartText):
    """Where a request names its operation."""

    header: HeaderName | None = None
    body: Annotated[str, Field(pattern="^/.")] | None = None
    query: Annotated[str, Field(pattern="^/?[^/]+$")] | None = None

    @model_validator(mode="after")
    def _one_place(self) -> OperationText:
        if sum(one is not None for one in (self.header, self.body, self.query)) != 1:
            raise ValueError("says exactly one of header, body, query")
        return self


def _fields(value: Any) -> Any:
    """Write a pointer out as the map that it is short for."""
    return [{"pointer": one} if isinstance(one, str) else one for one in listed(value)]


Fields = Annotated[
    list[FieldText],
    BeforeValidator(_fields, json_schema_input_type=str | FieldText | list[str | FieldText]),
]


OperationSources = Annotated[
    list[OperationText],
    BeforeValidator(listed, json_schema_input_type=OperationText | list[OperationText]),
]


class ErrorFields(FileModel):
    """Where an error, or one of several, has its parts."""

    code: Fields = Field([])
    message: Fields = Field([])
    type: Fields = Field([])
    place: Fields = Field([])


class DetailsText(ErrorFields):
    """A list of errors. The pointers of its fields begin at each element."""

    each: Annotated[str, Field(pattern=r"^(/[^/]*)*/\*$")]


class RefusedText(FileModel):
    """A success (2xx) that is a refusal: its operations, and what its JSON body then contains."""

    operations: Annotated[Names, Field(min_length=1)]
    pointer: Annotated[str, Field(pattern="^/.")]
    equals: Any = None
    exists: Literal[True] | None = None

    @model_validator(mode="after")
    def _one_condition(self) -> RefusedText:
        if ("equals" in self.model_fields_set) == (self.exists is not None):
            raise ValueError("says exactly one of equals, exists")
        return self


class ErrorText(ErrorFields):
    """How the API writes its errors, if the general reader does not know it."""

    details: DetailsText | None = None
    style: Literal["dotted", "pointer", "bracketed"] = "dotted"
    place_root: str = Field("/body", pattern="^/(body|query|headers|path)(/.*)?$")
    media_types: list[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*$")]] = (
        Field([])
    )
    refused: Annotated[
        list[RefusedText], BeforeValidator(listed, json_schema_input_type=RefusedText | list[RefusedText])
    ] = Field([])

    @model_validator(mode="after")
    def _says_something(self) -> ErrorText:
        parts = [self, *([self.details] if self.details is not None else [])]
        if not self.media_types and not self.refused and not any(one.code or one.message for one in parts):
            raise ValueError("needs code or message")
        return self
