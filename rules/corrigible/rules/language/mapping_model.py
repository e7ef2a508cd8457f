"""What an author may write under `error:` and `operation:` of pack.yaml: where an API keeps what a refusal says."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .file_model import FileModel, Names, listed

Pointer = Annotated[str, Field(pattern="^(/.*)?$")]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]


class PartText(FileModel):
    """The part of a text that counts."""

    after: str | None = Field(
        None, min_length=1, description="Only what follows the last of these characters counts.", examples=["#"]
    )
    before: str | None = Field(
        None, min_length=1, description="Only what comes before the first of these characters counts.", examples=[":"]
    )
    strip_prefix: str | None = Field(
        None, min_length=1, description="This is left out where the text begins with it.", examples=["request."]
    )


class FieldText(PartText):
    """Where one text of an answer is: in the body, or in a header."""

    pointer: Pointer | None = Field(
        None,
        description="A JSON pointer into the body; `*` is every element of a list. An XML answer is read as objects, "
        "lists and texts, below its root element.",
        examples=["/__type", "/Error/Code"],
    )
    header: HeaderName | None = Field(None, description="A header of the answer.", examples=["x-shop-error"])

    @model_validator(mode="after")
    def _one_place(self) -> FieldText:
        if (self.pointer is None) == (self.header is None):
            raise ValueError("says exactly one of pointer, header")
        return self


class OperationText(PartText):
    """Where a request names its operation."""

    header: HeaderName | None = Field(
        None, description="A header of the request; none with credentials.", examples=["x-shop-target"]
    )
    body: Annotated[str, Field(pattern="^/.")] | None = Field(
        None, description="A pointer into the body.", examples=["/Action"]
    )
    query: Annotated[str, Field(pattern="^/?[^/]+$")] | None = Field(
        None, description="A parameter of the query.", examples=["Action"]
    )

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

    code: Fields = Field(
        [],
        description="Where the code is: a pointer, a map (below), or a list of them, of which the first that gives a "
        "text counts.",
        examples=["/error/code", [{"pointer": "/__type", "after": "#"}, {"header": "x-shop-error"}]],
    )
    message: Fields = Field([], description="Where the message is.", examples=["/error/message"])
    type: Fields = Field([], description="Where the type is.", examples=["/error/type"])
    place: Fields = Field(
        [],
        description="Where the answer names the parameter that is wrong; see `style` and `place_root`.",
        examples=[{"pointer": "/where", "strip_prefix": "request."}],
    )


class DetailsText(ErrorFields):
    """A list of errors. The pointers of its fields begin at each element."""

    each: Annotated[str, Field(pattern=r"^(/[^/]*)*/\*$")] = Field(
        description="The elements. An object in the place of the list is its only element.", examples=["/errors/*"]
    )


class RefusedText(FileModel):
    """A success (2xx) that is a refusal: its operations, and what its JSON body then contains."""

    operations: Annotated[Names, Field(min_length=1)] = Field(
        description="The operations, which `operations` of pack.yaml lists.", examples=[["PostMessage"]]
    )
    pointer: Annotated[str, Field(pattern="^/.")] = Field(description="A pointer into the body.", examples=["/ok"])
    equals: Any = Field(None, description="The value at the pointer.", examples=[False])
    exists: Literal[True] | None = Field(
        None, description="Instead of `equals`: any value but null is at the pointer.", examples=[True]
    )

    @model_validator(mode="after")
    def _one_condition(self) -> RefusedText:
        if ("equals" in self.model_fields_set) == (self.exists is not None):
            raise ValueError("says exactly one of equals, exists")
        return self


class ErrorText(ErrorFields):
    """How the API writes its errors, if the general reader does not know it."""

    details: DetailsText | None = Field(
        None,
        description="A list of errors in the answer. A part that an element lacks is that of the whole answer.",
        examples=[{"each": "/failures/*", "code": "/reason", "place": "/where"}],
    )
    style: Literal["dotted", "pointer", "bracketed"] = Field(
        "dotted",
        description="How a place is written: `items[0].name`, `/items/0/name` or `items[0][name]`.",
        examples=["bracketed"],
    )
    place_root: str = Field(
        "/body",
        pattern="^/(body|query|headers|path)(/.*)?$",
        description="The pointer into the request document where places begin.",
        examples=["/query"],
    )
    media_types: list[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*$")]] = (
        Field(
            [],
            description="Media types of errors, in lower case, besides JSON, XML and text.",
            examples=[["application/x-shop-error"]],
        )
    )
    refused: Annotated[
        list[RefusedText], BeforeValidator(listed, json_schema_input_type=RefusedText | list[RefusedText])
    ] = Field(
        [],
        description="Successes (2xx) that are refusals.",
        examples=[{"operations": ["PostMessage"], "pointer": "/ok", "equals": False}],
    )

    @model_validator(mode="after")
    def _says_something(self) -> ErrorText:
        parts = [self, *([self.details] if self.details is not None else [])]
        if not self.media_types and not self.refused and not any(one.code or one.message for one in parts):
            raise ValueError("needs code or message")
        return self
