"""What an author may write in the file of a rule, and in the file of its cases."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, TypeAdapter, model_validator

from .file_model import Cel, Condition, FileModel, Names, Numbers, Value
from .pack_model import PackText
from .suggestion_model import LookupText, SuggestionText


class Match(FileModel):
    """When a rule is a candidate. Every key that is there must hold; a list holds if one of its values does."""

    operation: Names = Field(
        [],
        description="Operations: the names in pack.yaml, in the API's description or of the adapter; over gRPC the "
        "full method, such as `shop.v1.Orders/Create`.",
        examples=["CreateRefund", ["CreateRefund", "UpdateRefund"]],
    )
    status: Numbers = Field([], description="Statuses of HTTP, or codes of gRPC (0 to 16).", examples=[400, [400, 422]])
    code: Names = Field([], description="Values of `error.code`.", examples=["too_much"])
    type: Names = Field([], description="Values of `error.type`.", examples=["invalid_request_error"])
    param: Names = Field([], description="Values of `error.param`.", examples=["amount"])
    message: str | None = Field(
        None,
        description="An RE2 pattern that is searched for in `error.message`. Named groups become `captures.NAME`.",
        examples=["^Refund amount (?P<asked>[0-9.]+) is greater"],
    )


class RuleText(FileModel):
    """A rule: one file, `<name>.yaml`, in the folder of the pack."""

    id: str = Field(
        pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9]+(-[a-z0-9]+)*$",
        description="`<name of the pack>.<name of the file>`; never used again for another rule.",
        examples=["shop.refund-exceeds-remaining"],
    )
    title: str = Field(
        min_length=1, description="The rule in a few words.", examples=["Refund is larger than what is left"]
    )
    status: Literal["draft", "stable", "deprecated"] = Field(
        description="`draft` and `stable` rules are used; a `deprecated` one never matches. A stable rule needs `date` "
        "and an author.",
        examples=["draft"],
    )
    references: list[str] = Field(
        min_length=1,
        description="Where the vendor documents the error: one address at least.",
        examples=[["https://example.com/docs/refunds"]],
    )
    author: str | None = Field(
        None,
        min_length=1,
        description="Who wrote the rule, if that is not the author in pack.yaml.",
        examples=["Ada Lovelace"],
    )
    date: str | None = Field(
        None, pattern=r"^\d{4}-\d\d-\d\d$", description="When the rule was written.", examples=["2026-11-22"]
    )
    false_positives: str | list[str] | None = Field(
        None,
        description="When the advice would be wrong, for readers of the rule.",
        examples=["Wrong if the refund is to come out of another charge."],
    )
    priority: int = Field(
        0,
        description="Rules with a higher number are tried first; of equal ones, the narrower `match`. Below 0, the "
        "rule is tried after the API's description.",
        examples=[-10],
    )
    match: Match = Field(
        Match(),
        description="When the rule is a candidate; without it, always.",
        examples=[{"operation": "CreateRefund", "status": 400}],
    )
    when: Condition | None = Field(
        None,
        description="A further condition, evaluated after `match` and before look-ups.",
        examples=["request.body.amount > 0"],
    )
    lookup: dict[str, LookupText] = Field(
        {},
        description="Reads of live state, by the name that expressions use. Each may use those before it.",
        examples=[{"charge": {"get": "'/v1/charges/' + request.body.charge"}}],
    )
    let: dict[str, Value] = Field(
        {},
        description="Named values. Each may use the look-ups, and the values before it.",
        examples=[{"left": "charge.amount - charge.amount_refunded"}],
    )
    suggest: list[SuggestionText] = Field(
        min_length=1,
        description="What the rule suggests: the first entry whose `if` holds. If none holds, the rule does not match.",
        examples=[[{"if": "left > 0", "message": "Refund what is left.", "set": {"amount": "left"}}]],
    )
    also_resolves: Cel | None = Field(
        None,
        description="A CEL expression that gives the numbers (`errors[i].number`) of further errors that this answer "
        "resolves. No other rule is tried for them.",
        examples=["errors.filter(e, e.code == 'POD_SECURITY').map(e, e.number)"],
    )
    diagnosis: str = Field(
        min_length=1,
        description="What is wrong, without the fix: the mode `verbose` shows nothing else.",
        examples=["The refund is larger than what is left on the charge."],
    )
    code: str | None = Field(
        None,
        pattern="^[A-Z][A-Z0-9_]*$",
        description="The code of the diagnosis in `validation_errors`. Default: the native code, else the name of the "
        "rule in capitals.",
        examples=["REFUND_TOO_LARGE"],
    )
    type: Literal["recovery_guidance", "intent_disambiguation"] = Field(
        "recovery_guidance",
        description="`intent_disambiguation` if the caller must choose one of the alternatives.",
        examples=["intent_disambiguation"],
    )


class CaseRequest(FileModel):
    """The request of a case."""

    method: str = Field(
        "POST", description="The method; over gRPC the full name `/package.Service/Method`.", examples=["PATCH"]
    )
    path: str = Field("/", description="The path, without the query.", examples=["/v1/refunds"])
    query: dict[str, Any] = Field({}, description="The parameters of the query.", examples=[{"limit": "10"}])
    headers: dict[str, str] = Field(
        {}, description="Headers, or metadata of gRPC. No credentials.", examples=[{"Idempotency-Key": "k1"}]
    )
    body: Any = Field(
        None,
        description="The body as data: of JSON, of a form, or the message of gRPC in proto-JSON.",
        examples=[{"charge": "ch_1", "amount": 500}],
    )
    form: bool = Field(False, description="Whether the body was sent as a form. Its values are texts.", examples=[True])


class CaseResponse(FileModel):
    """The answer of a case."""

    status: int = Field(description="The status of HTTP, or the code of gRPC.", examples=[400])
    headers: dict[str, str] = Field(
        {}, description="Headers. Default of Content-Type: application/json.", examples=[{"Retry-After": "7"}]
    )
    body: Any = Field(
        None,
        description="The body as JSON data.",
        examples=[{"error": {"code": "too_much", "message": "Refund amount is too large"}}],
    )
    body_file: str | None = Field(
        None,
        description="A file with the bytes of the body, instead of `body`: its path from the folder of the case file. "
        "Use it for a long body, and for one that is not JSON.",
        examples=["recorded/refund-too-large.json"],
    )


class CaseText(FileModel):
    """A case: one element of the list in `<name>.cases.yaml`, beside its rule."""

    name: str = Field(min_length=1, description="What the case is, in a few words.", examples=["part of it is left"])
    origin: Literal["recorded", "documented", "synthetic"] = Field(
        description="Where the answer comes from: a real server, the vendor's documentation, or the author.",
        examples=["recorded"],
    )
    source: str | None = Field(
        None, description="Which server or page that was.", examples=["stripe-stateful-mock 0.0.16"]
    )
    request: CaseRequest = Field(
        description="What was sent.", examples=[{"path": "/v1/refunds", "body": {"charge": "ch_1"}}]
    )
    response: CaseResponse = Field(description="What the server answered.", examples=[{"status": 404}])
    lookups: dict[str, Any] = Field(
        {},
        description="The look-ups that the rule makes, and the body of each answer. `null`: nothing exists there; "
        "`{answer: {status: 403}}`: another status.",
        examples=[{"GET /v1/charges/ch_1": {"amount": 1000, "amount_refunded": 700}}],
    )
    started: float = Field(
        0.0, description="When the request was sent, in seconds since 1970: `exchange.started`.", examples=[1795392000]
    )
    elapsed: float = Field(0.0, description="How many seconds the answer took: `exchange.elapsed`.", examples=[0.5])
    expect: dict[str, Any] | None = Field(
        None,
        description="Members of the feedback that must be equal. Lists are compared element by element; null: absent.",
        examples=[{"recovery": "correctable", "suggestions": [{"parameters": {"amount": 300}}]}],
    )
    after: dict[str, Any] | None = Field(
        None,
        description="Members of the request that a reader sends next.",
        examples=[{"body": {"charge": "ch_1", "amount": 300}}],
    )
    no_match: bool = Field(False, description="Whether the rule must not match, instead of `expect`.", examples=[True])

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
