"""What an author may write under `error:` and `operation:` of pack.yaml: where an API keeps what a refusal says."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


class MappingModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Names = Annotated[list[str], BeforeValidator(listed, json_schema_input_type=str | list[str])]
Pointer = Annotated[
    str,
    Field(
        pattern="^(/.*)?$",
        description="A JSON pointer (RFC 6901); `*` is every element of a list. An XML answer is read as objects, "
        "lists and texts, below its root element.",
    ),
]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]


class PartText(MappingModel):
    """The part of a text that counts."""

    after: str | None = Field(None, min_length=1, description="Only what follows the last of these, such as `#`.")
    before: str | None = Field(None, min_length=1, description="Only what comes before the first of these.")
    strip_prefix: str | None = Field(None, min_length=1, description="Left out where the text begins with it.")


class FieldText(PartText):
    """Where one text of an answer stands: in the body, or in a header."""

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
    body: Annotated[str, Field(pattern="^/.")] | None = Field(None, description="A pointer into the body: `/Action`.")
    query: Annotated[str, Field(pattern="^/?[^/]+$")] | None = Field(None, description="A query parameter: `Action`.")

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
    Field(description="A pointer, a map, or a list of them: the first that gives a text counts."),
]


OperationSources = Annotated[
    list[OperationText],
    BeforeValidator(listed, json_schema_input_type=OperationText | list[OperationText]),
]


class ErrorFields(MappingModel):
    """Where an error, or one of several, keeps what it says."""

    code: Fields = []
    message: Fields = []
    type: Fields = []
    place: Fields = []


class DetailsText(ErrorFields):
    """A list of errors. The pointers of its fields begin at each element."""

    each: Annotated[str, Field(pattern=r"^(/[^/]*)*/\*$")] = Field(
        description="The elements: `/errors/*`. An object in the place of the list is its only element."
    )


class RefusedText(MappingModel):
    """A success (2xx) that is a refusal: its operations, and what its JSON body then holds."""

    operations: Annotated[Names, Field(min_length=1)]
    pointer: Annotated[str, Field(pattern="^/.")]
    equals: Any = Field(None, description="The value at the pointer.")
    exists: Literal[True] | None = Field(None, description="Any value but null is at the pointer.")

    @model_validator(mode="after")
    def _one_condition(self) -> RefusedText:
        if ("equals" in self.model_fields_set) == (self.exists is not None):
            raise ValueError("says exactly one of equals, exists")
        return self


class ErrorText(ErrorFields):
    """How the API writes its errors, where the general reader does not know it."""

    details: DetailsText | None = None
    style: Literal["dotted", "pointer", "bracketed"] = Field(
        "dotted", description="How a place is written: `items[0].name`, `/items/0/name` or `items[0][name]`."
    )
    place_root: str = Field(
        "/body",
        pattern="^/(body|query|headers|path)(/.*)?$",
        description="The pointer into the request that places begin at.",
    )
    media_types: list[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*$")]] = (
        Field([], description="Media types of errors, in lower case, besides JSON, XML and text.")
    )
    refused: Annotated[
        list[RefusedText], BeforeValidator(listed, json_schema_input_type=RefusedText | list[RefusedText])
    ] = Field([], description="Successes (2xx) that are refusals.")

    @model_validator(mode="after")
    def _says_something(self) -> ErrorText:
        parts = [self, *([self.details] if self.details is not None else [])]
        if not self.media_types and not self.refused and not any(one.code or one.message for one in parts):
            raise ValueError("needs code or message")
        return self
