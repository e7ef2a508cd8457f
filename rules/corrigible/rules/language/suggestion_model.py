"""What an author may write under `lookup:` and `suggest:` of a rule."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from .file_model import Cel, Condition, FileModel, LookupHeader, Value

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
