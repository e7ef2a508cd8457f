"""What an author may write: the shape of pack.yaml, a rule, a case. The editors' JSON Schema comes from here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from .mapping_model import ErrorText, Names, OperationSources, listed

Value = Any
"""A YAML string is a CEL expression; numbers, booleans and null are themselves; maps and lists nest."""


Numbers = Annotated[list[int], BeforeValidator(listed, json_schema_input_type=int | list[int])]
Actor = Literal["nobody", "somebody_else", "you"]
Cel = Annotated[str, Field(description="A CEL expression.", min_length=1)]
CelOrTrue = Annotated[str | bool, Field(description="A CEL expression that gives a boolean.")]


RENAMED = {
    "on": "match",
    "also": "also_resolves",
    "placeholders": "ask",
    "speaks": "expect",
    "silent": "no_match",
    "covers": "min_coverage",
}
"""Keys of earlier versions, and what they are called now."""


class FileModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Match(FileModel):
    """When a rule is a candidate. Every key that is there must hold; a list holds when one of its values does."""

    operation: Names = []
    status: Numbers = []
    code: Names = []
    type: Names = []
    param: Names = []
    message: str | None = Field(
        None, description="An RE2 pattern searched in error.message; named groups become captures."
    )


class LookupText(FileModel):
    """One read of live state with the caller's credentials: a GET on the upstream's own origin, or a call to it.

    With `message`, `get` gives the full name of a gRPC method that only reads. `post` is for APIs that read by POST:
    the `lookups` of pack.yaml list such a path as `POST /flows/filter`, which says that it only reads.
    """

    get: Cel | None = None
    post: Cel | None = None
    body: dict[str, Value] | None = Field(None, description="The JSON body of a POST.")
    message: dict[str, Value] | None = Field(None, description="The message of a gRPC call, in proto-JSON.")
    condition: CelOrTrue | None = Field(None, alias="if")
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
    """One value that only the caller knows. Without a schema it is the one that the API's description has there."""

    pointer: str = Field(description="A pointer into the request document, or a CEL expression that gives one.")
    who: Literal["user", "agent"] = "user"
    json_schema: dict[str, Any] | None = Field(None, alias="schema")
    schema_from: Cel | None = Field(None, description="A CEL expression that gives a schema; added to `schema`.")


class AskEachText(AskText):
    """One value for every element of a list."""

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
    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str = Field(description="A pointer into the request document, or a CEL expression that gives one.")
    value: Value = None
    source: str | None = Field(None, alias="from")


class RetryText(FileModel):
    same_request: bool = False
    after_seconds: float | str | None = None
    max_attempts: int | None = Field(None, ge=1, le=10)
    idempotency_key: Literal["reuse", "new", "none"] | None = None


class EachText(FileModel):
    """One suggestion for every element of a list; of alternatives five at most."""

    each: Cel
    name: str = Field("choice", alias="as", pattern="^[a-z][a-z0-9_]*$")
    suggest: SuggestionText


class SuggestionText(FileModel):
    """One thing that the rule may suggest. The first whose `if` holds is taken."""

    condition: CelOrTrue | None = Field(None, alias="if")
    action: str | None = Field(
        None,
        pattern="^[A-Z][A-Z0-9_]*$",
        description="MODIFY_PARAMS where it is left out beside set, patch, parameters or ask.",
    )
    message: str | None = None
    differs: Cel | None = Field(
        None, description="The names of members by which what is there differs from what was sent: said in the message."
    )
    actor: Actor | None = Field(
        None,
        description="Where nothing more can be sent: nobody can act, somebody else must, or you, the caller and whom "
        "it acts for, have something to supply or decide.",
    )
    parameters: dict[str, Value] | None = None
    set: dict[str, Value] | Cel | None = Field(
        None,
        description="Values by pointer, by name of a parameter, or by `(expression that gives a pointer)`; null "
        "removes. Or a CEL expression that gives a list of [pointer, value] and [pointer].",
    )
    patch: list[PatchText] | Cel | None = Field(
        None, description="RFC 6902 operations, or a CEL expression that gives them: see edits()."
    )
    steps: list[dict[str, Value]] | None = None
    applicability: Literal["MAYBE_INCORRECT", "HAS_PLACEHOLDERS", "UNSPECIFIED"] | None = None
    ask: Ask | None = Field(None, description="What only the caller knows: a pointer, a list of them, or maps.")
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


class RuleText(FileModel):
    id: str = Field(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9]+(-[a-z0-9]+)*$")
    title: str = Field(min_length=1)
    status: Literal["draft", "stable", "deprecated"]
    references: list[str] = Field(min_length=1)
    author: str | None = Field(None, min_length=1, description="Who wrote it, where that is not the pack's author.")
    date: str | None = Field(None, pattern=r"^\d{4}-\d\d-\d\d$", description="When the rule was written.")
    false_positives: str | list[str] | None = Field(None, description="When the advice would be wrong.")
    priority: int = 0
    match: Match = Match()
    when: CelOrTrue | None = None
    lookup: dict[str, LookupText] = {}
    let: dict[str, Value] = {}
    suggest: list[SuggestionText] = Field(min_length=1)
    also_resolves: Cel | None = Field(
        None, description="Numbers (`errors[i].number`) of further complaints that this answer settles as well."
    )
    diagnosis: str = Field(min_length=1)
    code: str | None = Field(None, pattern="^[A-Z][A-Z0-9_]*$")
    type: Literal["recovery_guidance", "intent_disambiguation"] = "recovery_guidance"


class ActionText(FileModel):
    base_action: str
    description: str
    parameters: dict[str, Any] = {}


class ApiText(FileModel):
    name: str
    versions: str = ""


class DryRunText(FileModel):
    """How the API tries a call without carrying it out."""

    query: dict[str, str] = Field(description="What the query gains, such as {dryRun: All}.", min_length=1)
    methods: list[Literal["POST", "PUT", "PATCH", "DELETE"]] = Field(min_length=1)
    unanswered: list[Annotated[str, Field(pattern="^/")]] = Field(
        [], description="Pointers into the body to what answers do not hold, such as secrets that are only written."
    )
    silent: dict[str, str] | None = Field(
        None, description="Members of an answer that does not show what would be stored, such as {kind: Status}."
    )
    version: str | None = Field(
        None,
        description="The member of the body that names the version of the API: another one loses nothing where the "
        "answer of a dry run holds all the rest.",
    )


class MeaningText(FileModel):
    """Members that mean something else once others have changed: equal words of two versions of an API."""

    where: dict[Annotated[str, Field(pattern="^/")], Any] = Field(
        description="What stands in the body before an edit: `{/kind: Job, /apiVersion: batch/v1}`", min_length=1
    )
    becomes: dict[Annotated[str, Field(pattern="^/")], Any] = Field(
        description="What stands there after it: `{/apiVersion: batch/v1beta1}`", min_length=1
    )
    at: str = Field(pattern="^/", description="A pointer into the body; `*` is every element.")
    value: Any = Field(None, description="The value with another meaning. Without it: that there is none.")
    because: str

    @property
    def is_about_a_value(self) -> bool:
        return "value" in self.model_fields_set


class PackText(FileModel):
    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    api: ApiText
    license: str
    author: str | None = Field(None, min_length=1, description="Who wrote those rules that name nobody.")
    operations: dict[Annotated[str, Field(pattern=r"^([A-Z]+ /.*|[\w.:#-][\w.:/#-]*)$")], str] = Field(
        {},
        description="What `match.operation` may name, besides adapter's and spec's: `POST /v1/refunds: CreateRefund`. "
        "With `operation`, also the names that requests give: `PutItem: PutItem`",
    )
    operation: OperationSources = Field(
        [], description="Where requests name their operation: `{header: x-amz-target, after: .}`, `{body: /Action}`."
    )
    error: ErrorText | None = Field(None, description="How the API writes its errors.")
    dialect: Literal["graphql", "mcp"] | None = Field(
        None, description="All answers are of this kind: GraphQL over HTTP, or a server of the Model Context Protocol."
    )
    mirror: str | None = Field(None, pattern="^/")
    redact: list[Annotated[str, Field(pattern="^/")]] = []
    lookups: list[Annotated[str, Field(pattern=r"^(POST )?/[^?#\s]+$")]] = Field(
        [], description="Paths that look-ups may read. `POST /flows/filter` says that this POST only reads."
    )
    bases: list[Annotated[str, Field(pattern=r"^/[^?#{\s]+$")]] = Field(
        [], description="Paths below which some servers have the whole API: a look-up may begin with one."
    )
    idempotency_header: str | None = None
    dry_run: DryRunText | None = None
    secret_parameters: list[str] = []
    decisive: list[str] = Field(
        [],
        description="Members, besides those whose names say so, by which money, identity, permission, deletion or "
        "visibility is decided: what is only near is asked there.",
    )
    tokens: list[str] = Field(
        [],
        description="Members whose value is a version of what is stored, such as `sha` or `resourceVersion`: another "
        "one in the place of a stale one takes nothing from the request.",
    )
    path_members: list[str] = Field(
        [],
        description="Members of look-ups whose values are several segments of a path, such as groupVersion: all others "
        "stand for one segment, whatever is in them.",
    )
    meanings: list[MeaningText] = []
    actions: dict[str, ActionText] = {}
    min_coverage: float | None = Field(
        None, ge=0, le=100, description="The percentage of the API's documented errors for which there is a rule."
    )
    functions: dict[str, Cel] = Field(
        {},
        description="Named CEL expressions for all rules: `remaining(charge): charge.amount - charge.amount_refunded`. "
        "A function may call those before it.",
    )
    paraphrases: dict[str, list[str]] = Field(
        {}, description="What would give a fix away in other words: `1.5 cups: [one and a half cups]`. For the audit."
    )


class CaseRequest(FileModel):
    method: str = "POST"
    path: str = "/"
    query: dict[str, Any] = {}
    headers: dict[str, str] = {}
    body: Any = None
    form: bool = False


class CaseResponse(FileModel):
    status: int
    headers: dict[str, str] = {}
    body: Any = None
    body_file: str | None = None


class CaseText(FileModel):
    name: str = Field(min_length=1)
    origin: Literal["recorded", "documented", "synthetic"]
    source: str | None = None
    request: CaseRequest
    response: CaseResponse
    lookups: dict[str, Any] = {}
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
