"""What an author may write in pack.yaml."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from .file_model import Cel, FileModel, LookupHeader, Names, listed
from .mapping_model import ErrorText, OperationSources


class ActionText(FileModel):
    """A word that the pack adds to the vocabulary of actions."""

    base_action: str
    description: str
    parameters: dict[str, Any] = Field({})


class ApiText(FileModel):
    """The name of an API, and its versions."""

    name: str
    versions: str = ""


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

    id: str = Field(pattern=r"^[a-z_]+\.[a-z0-9-]+$")
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
    dialect: Literal["graphql", "mcp"] | None = None
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
