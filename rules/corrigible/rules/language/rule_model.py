"""What an author may write in the file of a rule, and in the file of its cases.

What an author may write under `lookup:` and `suggest:` of a rule.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, model_validator

from .file_model import Cel, Condition, FileModel, LookupHeader, Names, Numbers, Value
from .pack_model import PackText

Actor = Literal["nobody", "somebody_else", "you"]


class LookupText(FileModel):
    """One read of live state, with the caller's credentials, on the upstream's own origin.

    A look-up is a GET; with `message`, a call of a gRPC method that only reads; with `post`, a POST that only reads.
    """

    get: Cel | None = None
    post: Cel | None = None
    body: dict[str, Value] | None = None
    message: dict[str, Value] | None = None
    headers: dict[LookupHeader, Cel] = Field({})
    condition: Condition | None = Field(None, alias="if")
    optional: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> LookupText:
        if (self.get is None) == (self.post is None):
            raise ValueError("says exactly one of get, post")
        if self.body is not None and self.post is None:
            raise ValueError("has a body: that needs post")
        if self.message is not None and self.get is None:
            raise ValueError("has a message: that needs get")
        return self


class AskText(FileModel):
    """One value that only the caller knows: a placeholder of the feedback."""

    pointer: str
    who: Literal["user", "agent"] = "user"
    json_schema: dict[str, Any] | None = Field(None, alias="schema")
    schema_from: Cel | None = None


class AskEachText(AskText):
    """One value for each element of a list."""

    each: Cel
    name: str = Field("item", alias="as", pattern="^[a-z][a-z0-9_]*$")


def _questions(value: Any) -> Any:
    """Write a pointer out as the map that it is short for."""
    if isinstance(value, list):
        return [{"pointer": one} if isinstance(one, str) else one for one in value]
    return [{"pointer": value}] if isinstance(value, str) else value


Ask = Annotated[
    list[AskText] | AskEachText,
    BeforeValidator(_questions, json_schema_input_type=str | list[str | AskText] | AskEachText),
]


class PatchText(FileModel):
    """One operation of RFC 6902 on the request document."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    value: Value = None
    source: str | None = Field(None, alias="from")


class RetryText(FileModel):
    """When and how the request may be sent again: the member `retry` of the feedback."""

    same_request: bool = False
    after_seconds: float | Annotated[str, Field(json_schema_extra={"format": "cel"})] | None = None
    max_attempts: int | None = Field(None, ge=1, le=10)
    idempotency_key: Literal["reuse", "new", "none"] | None = None


class EachText(FileModel):
    """One suggestion for each element of a list: the first five under `one_of`, at most 32 under `all`."""

    each: Cel
    name: str = Field("choice", alias="as", pattern="^[a-z][a-z0-9_]*$")
    suggest: SuggestionText


class SuggestionText(FileModel):
    """One entry of `suggest`: an action, or a group of actions. The first whose `if` holds is used."""

    condition: Condition | None = Field(None, alias="if")
    action: str | None = Field(None, pattern="^[A-Z][A-Z0-9_]*$")
    message: str | None = None
    differs: Cel | None = None
    actor: Actor | None = None
    parameters: dict[str, Value] | None = None
    set: dict[str, Value] | Cel | None = None
    patch: list[PatchText] | Cel | None = None
    steps: list[dict[str, Value]] | None = None
    applicability: Literal["MAYBE_INCORRECT", "HAS_PLACEHOLDERS", "UNSPECIFIED"] | None = None
    ask: Ask | None = None
    changes_intent: bool | None = None
    requires_confirmation: bool | None = None
    side_effects: Literal["none", "possible", "certain"] | None = None
    retry: RetryText | None = None
    recovery: Literal["correctable", "transient", "terminal"] | None = None
    type: Literal["recovery_guidance", "intent_disambiguation"] | None = None
    all: list[SuggestionText] | EachText | None = None
    one_of: list[SuggestionText] | EachText | None = None

    @model_validator(mode="before")
    @classmethod
    def _default_action(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.keys() & {"action", "all", "one_of"} and data.keys() & _EDITS:
            return {**data, "action": "MODIFY_PARAMS"}
        return data

    @model_validator(mode="after")
    def _one_kind(self) -> SuggestionText:
        kinds = [name for name in ("action", "all", "one_of") if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError("says exactly one of action, all, one_of")
        if self.action is not None and not self.message:
            raise ValueError("an action needs a message")
        if self.set is not None and self.patch is not None:
            raise ValueError("says either set or patch")
        return self


_EDITS = frozenset({"set", "patch", "parameters", "ask"})
"""What makes a suggestion an edit of the request."""

EachText.model_rebuild()


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
