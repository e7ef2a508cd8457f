"""What an author may write in pack.yaml.

What an author may write under `error:` and `operation:` of pack.yaml: where an API keeps what a refusal says.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .file_model import Cel, FileModel, LookupHeader, Names, listed

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


Pointers = Annotated[
    list[Annotated[str, Field(pattern="^/.")]], BeforeValidator(listed, json_schema_input_type=str | list[str])
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
    pointer: Annotated[Pointers, Field(min_length=1)]
    equals: Any = None
    exists: Literal[True] | None = None
    begins: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_condition(self) -> RefusedText:
        if ["equals" in self.model_fields_set, bool(self.exists), bool(self.begins)].count(True) != 1:
            raise ValueError("says exactly one of equals, exists, begins")
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


class ActionText(FileModel):
    """A word that the pack adds to the vocabulary of actions."""

    base_action: str
    description: str
    parameters: dict[str, Any] = Field({})


class ApiText(FileModel):
    """The name of an API, its versions, and where it is."""

    name: str
    versions: str = ""
    hosts: list[Annotated[str, Field(pattern=r"^[a-z0-9.-]+$")]] = Field([])


class DryRunText(FileModel):
    """How the API tries a request without doing it."""

    query: dict[str, str] = Field(min_length=1)
    methods: list[Literal["POST", "PUT", "PATCH", "DELETE"]] = Field(min_length=1)
    unanswered: list[Annotated[str, Field(pattern="^/")]] = Field([])
    silent: dict[str, str] | None = None
    version: str | None = None


class MeaningText(FileModel):
    """A value that means something else once other members have changed: equal words of two versions of an API."""

    where: dict[Annotated[str, Field(pattern="^/")], Any] = Field(min_length=1)
    becomes: dict[Annotated[str, Field(pattern="^/")], Any] = Field(min_length=1)
    at: str = Field(pattern="^/")
    value: Any = None
    because: str

    @property
    def is_about_a_value(self) -> bool:
        return "value" in self.model_fields_set


def _texts(value: Any) -> Any:
    """Return the values of a slot, which are texts; an author may write a number without quotes."""
    return [str(one) if isinstance(one, int | float) and not isinstance(one, bool) else one for one in listed(value)]


SlotValues = Annotated[list[str], BeforeValidator(_texts, json_schema_input_type=str | float | list[str | float])]


class WordingText(FileModel):
    """A wording of the API: what one of its sentences says. `docs/wordings.md` is a guide."""

    id: str = Field(json_schema_extra={"pattern": r"^[a-z_]+\.[a-z0-9-]+$"})
    pattern: Names = Field(min_length=1)
    unless: Names = Field([])
    states: dict[str, Any] = Field({})
    example: Names = Field(min_length=1)
    gives: dict[str, SlotValues] = Field({})
    counter: Names = Field(min_length=1)


class PackText(FileModel):
    """A pack: `pack.yaml` in the folder of the pack."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    api: ApiText
    license: str
    author: str | None = Field(None, min_length=1)
    operations: dict[Annotated[str, Field(pattern=r"^([A-Z]+ /.*|[\w.:#-][\w.:/#-]*)$")], str] = Field({})
    operation: OperationSources = Field([])
    error: ErrorText | None = None
    dialect: Literal["a2a", "graphql", "mcp"] | None = None
    error_events: bool = False
    mirror: str | None = Field(None, pattern="^/")
    mirror_whole: list[Annotated[str, Field(min_length=1)]] | None = None
    redact: list[Annotated[str, Field(pattern="^/")]] = Field([])
    lookups: list[Annotated[str, Field(pattern=r"^(POST )?/[^?#\s]+$")]] = Field([])
    lookup_headers: dict[LookupHeader, Annotated[str, Field(pattern=r"^[\x20-\x7e]{1,200}$")] | None] = Field({})
    bases: list[Annotated[str, Field(pattern=r"^/[^?#{\s]+$")]] = Field([])
    idempotency_header: str | None = None
    dry_run: DryRunText | None = None
    secret_parameters: list[str] = Field([])
    decisive: list[str] = Field([])
    tokens: list[str] = Field([])
    path_members: list[str] = Field([])
    meanings: list[MeaningText] = Field([])
    actions: dict[str, ActionText] = Field({})
    min_coverage: float | None = Field(None, ge=0, le=100)
    functions: dict[str, Cel] = Field({})
    wordings: list[WordingText] = Field([])
    paraphrases: dict[str, list[str]] = Field({})
