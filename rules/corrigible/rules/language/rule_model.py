"""What an author may write in the file of a rule, and in the file of its cases."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, TypeAdapter, model_validator

from .file_model import Cel, Condition, FileModel, Names, Numbers, Value
from .pack_model import PackText
from .suggestion_model import LookupText, SuggestionText


class Match(FileModel):
    """When a rule is a candidate. Every key that is there must hold; a list holds if one of its values does."""

    operation: Names = Field([])
    status: Numbers = Field([])
    code: Names = Field([])
    type: Names = Field([])
    param: Names = Field([])
    message: str | None = None


class RuleText(FileModel):
    """A rule: one file, `<name>.yaml`, in the folder of the pack."""

    id: str = Field(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9]+(-[a-z0-9]+)*$")
    title: str = Field(min_length=1)
    status: Literal["draft", "stable", "deprecated"]
    references: list[str] = Field(min_length=1)
    author: str | None = Field(None, min_length=1)
    date: str | None = Field(None, pattern=r"^\d{4}-\d\d-\d\d$")
    false_positives: str | list[str] | None = None
    priority: int = 0
    match: Match = Match()
    when: Condition | None = None
    lookup: dict[str, LookupText] = Field({})
    let: dict[str, Value] = Field({})
    suggest: list[SuggestionText] = Field(min_length=1)
    also_resolves: Cel | None = None
    diagnosis: str = Field(min_length=1)
    code: str | None = Field(None, pattern="^[A-Z][A-Z0-9_]*$")
    type: Literal["recovery_guidance", "intent_disambiguation"] = "recovery_guidance"


class CaseRequest(FileModel):
    """The request of a case."""

    method: str = "POST"
    path: str = "/"
    query: dict[str, Any] = Field({})
    headers: dict[str, str] = Field({})
    body: Any = None
    form: bool = False


class CaseResponse(FileModel):
    """The answer of a case."""

    status: int
    headers: dict[str, str] = Field({})
    body: Any = None
    body_file: str | None = None


class CaseText(FileModel):
    """A case: one element of the list in `<name>.cases.yaml`, beside its rule."""

    name: str = Field(min_length=1)
    origin: Literal["recorded", "documented", "synthetic"]
    source: str | None = None
    request: CaseRequest
    response: CaseResponse
    lookups: dict[str, Any] = Field({})
    started: float = 0.0
    elapsed: float = 0.0
    expect: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    no_match: bool = False

    @model_validator(mode="after")
    def _one_claim(self) -> CaseText:
        if (self.expect is not None) == self.no_match:
            raise ValueError("needs either expect: {...} or no_match: true")
        if self.after is not None and self.expect is None:
            raise ValueError("after needs expect")
        return self


_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def editor_schemas() -> dict[str, dict[str, Any]]:
    """Return a schema each for a rule file, a pack.yaml and a cases file."""
    return {
        "rule": {"$schema": _DIALECT, **RuleText.model_json_schema()},
        "pack": {"$schema": _DIALECT, **PackText.model_json_schema()},
        "cases": {"$schema": _DIALECT, **TypeAdapter(list[CaseText]).json_schema()},
    }
