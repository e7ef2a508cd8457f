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

    get: Cel | None = Field(
        None,
        description="The path and query of a GET; its path is one of the `lookups` of pack.yaml. With `message`: the "
        "full name of a gRPC method that only reads.",
        examples=["'/v1/charges/' + request.body.charge"],
    )
    post: Cel | None = Field(
        None,
        description="The path of a POST that only reads; the `lookups` of pack.yaml list it as `POST /flows/filter`.",
        examples=["'/flows/filter'"],
    )
    body: dict[str, Value] | None = Field(
        None, description="The JSON body of a POST.", examples=[{"name": "request.body.name"}]
    )
    message: dict[str, Value] | None = Field(
        None, description="The message of a gRPC call, in proto-JSON.", examples=[{"id": "request.body.orderId"}]
    )
    headers: dict[LookupHeader, Cel] = Field(
        {},
        description="Headers that say in which form or version the API answers; they go before `lookup_headers` of "
        "pack.yaml. Never credentials: a look-up has the caller's own.",
        examples=[{"Accept": "'application/vnd.acme.v2+json'"}],
    )
    condition: Condition | None = Field(
        None,
        alias="if",
        description="When the look-up is made. If it is not made, its name is null.",
        examples=["request.body.charge != null"],
    )
    optional: bool = Field(
        False,
        description="Whether a look-up that fails gives null. "
        "Without it, the rule fails, and the answer stays unchanged.",
        examples=[True],
    )

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

    pointer: str = Field(
        description="Where the value belongs: a JSON pointer into the request document, or a CEL expression that gives "
        "one.",
        examples=["/body/currency", "'/body/' + name"],
    )
    who: Literal["user", "agent"] = Field(
        "user",
        description="Who is asked: the user, or the agent, which may find it out by itself.",
        examples=["agent"],
    )
    json_schema: dict[str, Any] | None = Field(
        None,
        alias="schema",
        description="The JSON Schema of the value. Without it, the schema that the API's description has at the "
        "pointer.",
        examples=[{"type": "string", "pattern": "^ch_"}],
    )
    schema_from: Cel | None = Field(
        None,
        description="A CEL expression that gives a JSON Schema; its members are added to `schema`.",
        examples=["{'enum': tables.currencies}"],
    )


class AskEachText(AskText):
    """One value for each element of a list."""

    each: Cel = Field(
        description="The list: a CEL expression. Each element gives one placeholder.", examples=["missing"]
    )
    name: str = Field(
        "item",
        alias="as",
        pattern="^[a-z][a-z0-9_]*$",
        description="The name of the element in the other expressions.",
        examples=["name"],
    )


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

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(
        description="The operation.", examples=["move"]
    )
    path: str = Field(
        description="A JSON pointer into the request document, or a CEL expression that gives one.",
        examples=["/body/amount", "error.pointer + '/name'"],
    )
    value: Value = Field(None, description="The value of `add`, `replace` and `test`.", examples=["'milk'", 300])
    source: str | None = Field(
        None,
        alias="from",
        description="The place that `move` and `copy` take the value from: a pointer, or an expression.",
        examples=["/body/total"],
    )


class RetryText(FileModel):
    """When and how the request may be sent again: the member `retry` of the feedback."""

    same_request: bool = Field(
        False,
        description="Whether the unchanged request may be sent again. If an edit is suggested, or if the request may "
        "change something and has no idempotency key, the feedback says false.",
        examples=[True],
    )
    after_seconds: float | Annotated[str, Field(json_schema_extra={"format": "cel"})] | None = Field(
        None,
        description="The seconds to wait: a number, or a CEL expression that gives one. Anything else than a number "
        "from 0 on is left out.",
        examples=[2, "integer(response.headers['retry-after'])"],
    )
    max_attempts: int | None = Field(None, ge=1, le=10, description="The largest number of attempts.", examples=[3])
    idempotency_key: Literal["reuse", "new", "none"] | None = Field(
        None,
        description="Which idempotency key the next request has: the same (`reuse`), another one (`new`) or none. If "
        "the suggestion changes a request that has a key, the feedback says `new`.",
        examples=["new"],
    )


class EachText(FileModel):
    """One suggestion for each element of a list: the first five under `one_of`, at most 32 under `all`."""

    each: Cel = Field(description="The list: a CEL expression.", examples=["nearest(body.currency, known)"])
    name: str = Field(
        "choice",
        alias="as",
        pattern="^[a-z][a-z0-9_]*$",
        description="The name of the element in the expressions of `suggest`.",
        examples=["name"],
    )
    suggest: SuggestionText = Field(
        description="The suggestion for one element.",
        examples=[{"message": "Use this currency.", "set": {"currency": "name"}}],
    )


class SuggestionText(FileModel):
    """One entry of `suggest`: an action, or a group of actions. The first whose `if` holds is used."""

    condition: Condition | None = Field(
        None, alias="if", description="When this entry is used; without it, always.", examples=["left > 0"]
    )
    action: str | None = Field(
        None,
        pattern="^[A-Z][A-Z0-9_]*$",
        description="What the caller is to do: `MODIFY_PARAMS`, `WAIT_AND_RETRY`, `USE_ALTERNATIVE_ENDPOINT`, "
        "`RESOLVE_PRECONDITION`, `ALREADY_DONE`, `ESCALATE`, `NO_RECOVERY_AVAILABLE`, or an action of pack.yaml. "
        "Default beside set, patch, parameters or ask: `MODIFY_PARAMS`. The last three are final: nothing is sent.",
        examples=["NO_RECOVERY_AVAILABLE"],
    )
    message: str | None = Field(
        None,
        description="One sentence that tells what to do. Every action has one.",
        examples=["Refund what is left on the charge."],
    )
    differs: Cel | None = Field(
        None,
        description="A CEL expression that gives the names of members by which the existing object differs from the "
        "request. They are added to the message.",
        examples=["differing(existing, body)"],
    )
    actor: Actor | None = Field(
        None,
        description="Who can act, beside `ESCALATE` and `NO_RECOVERY_AVAILABLE`: `nobody`, `somebody_else`, or `you` "
        "(the caller has to supply or decide something).",
        examples=["somebody_else"],
    )
    parameters: dict[str, Value] | None = Field(
        None,
        description="Values that are merged into the body, or into the query of a request without one; null removes. "
        "With a final action: facts, such as what is missing.",
        examples=[{"amount": "left", "currency": None}],
    )
    set: dict[str, Value] | Cel | None = Field(
        None,
        description="Values by name of a parameter, by JSON pointer, or by `(expression that gives a pointer)`; null "
        "removes. Or a CEL expression that gives a list of [pointer, value] and [pointer].",
        examples=[{"/body/options/mode": "'fast'", "(error.pointer + '/name')": "'milk'"}],
    )
    patch: list[PatchText] | Cel | None = Field(
        None,
        description="Operations of RFC 6902, or a CEL expression that gives them. Use it where `set` is not enough.",
        examples=[[{"op": "move", "from": "/body/total", "path": "/body/amount"}]],
    )
    steps: list[dict[str, Value]] | None = Field(
        None,
        description="Requests to send first, in this order: `method`, `path`, `query`, `headers`, `body`.",
        examples=[[{"method": "'GET'", "path": "request.path"}]],
    )
    applicability: Literal["MAYBE_INCORRECT", "HAS_PLACEHOLDERS", "UNSPECIFIED"] | None = Field(
        None,
        description="How sure the edit is. Default: `MAYBE_INCORRECT`, and `HAS_PLACEHOLDERS` with ask. "
        "`MACHINE_APPLICABLE` is not for authors: a dry run that succeeds gives it.",
        examples=["UNSPECIFIED"],
    )
    ask: Ask | None = Field(
        None,
        description="Values that only the caller knows: a JSON pointer, a list of pointers, or maps (below).",
        examples=["/body/currency", [{"pointer": "/body/currency", "who": "agent"}]],
    )
    changes_intent: bool | None = Field(
        None,
        description="Whether the edit does something else than the user asked for. Where it loses a value of the "
        "request, that is so anyway.",
        examples=[True],
    )
    requires_confirmation: bool | None = Field(
        None,
        description="Whether a person must agree before the edit is sent, though it keeps the intent: `true` where "
        "money, identity, permission, deletion or visibility depends on a guess.",
        examples=[True],
    )
    side_effects: Literal["none", "possible", "certain"] | None = Field(
        None,
        description="Whether the next request changes something. Default: `none` for a final action and for GET and "
        "HEAD, else `certain`. With `none`, the same request may be repeated without an idempotency key.",
        examples=["none"],
    )
    retry: RetryText | None = Field(
        None,
        description="When and how the request may be sent again.",
        examples=[{"same_request": True, "after_seconds": 2, "max_attempts": 3}],
    )
    recovery: Literal["correctable", "transient", "terminal"] | None = Field(
        None,
        description="What kind of recovery there is. Default: `terminal` for a final action, `transient` for "
        "`WAIT_AND_RETRY`, else `correctable`.",
        examples=["transient"],
    )
    type: Literal["recovery_guidance", "intent_disambiguation"] | None = Field(
        None,
        description="`intent_disambiguation` if the caller must choose one of the alternatives. Default: that of the "
        "rule.",
        examples=["intent_disambiguation"],
    )
    all: list[SuggestionText] | EachText | None = Field(
        None,
        description="Actions that belong together: a list, or one for each element of a list (below).",
        examples=[
            [
                {"message": "Name the buyer.", "ask": "/body/buyer"},
                {"message": "Drop it.", "set": {"x": None}},
            ]
        ],
    )
    one_of: list[SuggestionText] | EachText | None = Field(
        None,
        description="Alternatives, of which one is used: a list, or one for each element of a list (below).",
        examples=[{"each": "near", "as": "name", "suggest": {"message": "Use this.", "set": {"currency": "name"}}}],
    )

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
