"""What an author may write in pack.yaml."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from .file_model import Cel, FileModel, LookupHeader, Names, listed
from .mapping_model import ErrorText, OperationSources


class ActionText(FileModel):
    """A word that the pack adds to the vocabulary of actions."""

    base_action: str = Field(
        description="The action that readers who do not know the word use instead.", examples=["MODIFY_PARAMS"]
    )
    description: str = Field(
        description="What the caller is to do.", examples=["Use exactly this product for the ingredient."]
    )
    parameters: dict[str, Any] = Field(
        {},
        description="The JSON Schema of the suggestion's `parameters`.",
        examples=[{"type": "object", "required": ["ingredient"]}],
    )


class ApiText(FileModel):
    """The name of an API, and its versions."""

    name: str = Field(description="The name of the API.", examples=["Shop API"])
    versions: str = Field(
        "", description="The versions that the rules were written for.", examples=["2025-01 to 2026-06"]
    )


class DryRunText(FileModel):
    """How the API tries a request without doing it."""

    query: dict[str, str] = Field(description="What is added to the query.", examples=[{"dryRun": "All"}], min_length=1)
    methods: list[Literal["POST", "PUT", "PATCH", "DELETE"]] = Field(
        min_length=1, description="The methods that can be tried in this way.", examples=[["POST", "PUT", "PATCH"]]
    )
    unanswered: list[Annotated[str, Field(pattern="^/")]] = Field(
        [],
        description="Pointers into the body to members that answers never contain, such as secrets.",
        examples=[["/stringData", "/status"]],
    )
    silent: dict[str, str] | None = Field(
        None,
        description="Members of an answer that does not show the stored object.",
        examples=[{"kind": "Status"}],
    )
    version: str | None = Field(
        None,
        description="The member of the body that names the version of the API. Another version loses nothing if the "
        "answer to the dry run contains everything else.",
        examples=["apiVersion"],
    )


class MeaningText(FileModel):
    """A value that means something else once other members have changed: equal words of two versions of an API."""

    where: dict[Annotated[str, Field(pattern="^/")], Any] = Field(
        description="Members of the body before an edit.",
        examples=[{"/kind": "PodDisruptionBudget", "/apiVersion": "policy/v1"}],
        min_length=1,
    )
    becomes: dict[Annotated[str, Field(pattern="^/")], Any] = Field(
        description="Members of the body after it.", examples=[{"/apiVersion": "policy/v1beta1"}], min_length=1
    )
    at: str = Field(
        pattern="^/",
        description="A pointer into the body to the value; `*` is every element.",
        examples=["/spec/selector"],
    )
    value: Any = Field(
        None, description="The value with another meaning. Without it: the absence of a value.", examples=[{}]
    )
    because: str = Field(
        description="The two meanings, in a sentence.",
        examples=["An empty selector means every pod in v1, and none in v1beta1."],
    )

    @property
    def is_about_a_value(self) -> bool:
        return "value" in self.model_fields_set


def _texts(value: Any) -> Any:
    """Return the values of a slot, which are texts; an author may write a number without quotes."""
    return [str(one) if isinstance(one, int | float) and not isinstance(one, bool) else one for one in listed(value)]


SlotValues = Annotated[list[str], BeforeValidator(_texts, json_schema_input_type=str | float | list[str | float])]


class WordingText(FileModel):
    """A wording of the API: what one of its sentences says. `docs/wordings.md` is a guide."""

    id: str = Field(
        pattern=r"^[a-z_]+\.[a-z0-9-]+$",
        description="The kind of complaint and a name: `exists.seat-taken`.",
        examples=["exists.seat-taken"],
    )
    pattern: Names = Field(
        description="What the sentence has, in lower case: an expression of RE2 with slots such as `{field}`. A list "
        "has alternatives.",
        examples=["seat {value} (?:is|was) given to"],
        min_length=1,
    )
    unless: Names = Field(
        [], description="With this in it, the sentence says something else.", examples=["given to you"]
    )
    states: dict[str, Any] = Field(
        {},
        description="What the sentence says of the value, as keywords of JSON Schema; `{limit}` is the value of a "
        "slot, `{limit:2}` its second one.",
        examples=[{"minimum": "{limit}", "maximum": "{limit:2}"}],
    )
    example: Names = Field(
        min_length=1,
        description="A sentence that the pattern matches, or several.",
        examples=["The seat 12A was given to another guest."],
    )
    gives: dict[str, SlotValues] = Field(
        {}, description="The values of slots in the first example.", examples=[{"value": "12A"}]
    )
    counter: Names = Field(
        min_length=1,
        description="A sentence near to it that the pattern must not match, or several.",
        examples=["The seat 12A was taken from you."],
    )


class PackText(FileModel):
    """A pack: `pack.yaml` in the folder of the pack."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9-]*$",
        description="The name of the pack; the ids of its rules begin with it.",
        examples=["shop"],
    )
    title: str = Field(description="The name for readers.", examples=["Shop"])
    version: str = Field(
        pattern=r"^\d+\.\d+\.\d+$",
        description="The version of the pack. Its first number is part of what evidence names: `shop.rule@1`.",
        examples=["1.0.0"],
    )
    api: ApiText = Field(description="The API that the pack is about.", examples=[{"name": "Shop API"}])
    license: str = Field(description="The licence of the rules, by its SPDX identifier.", examples=["Apache-2.0"])
    author: str | None = Field(
        None, min_length=1, description="The author of those rules that name none.", examples=["Ada Lovelace"]
    )
    operations: dict[Annotated[str, Field(pattern=r"^([A-Z]+ /.*|[\w.:#-][\w.:/#-]*)$")], str] = Field(
        {},
        description="Names of operations for `match.operation`, by method and path; besides those of the adapter and "
        "of the API's description. With `operation`, also by the name that requests give.",
        examples=[{"POST /v1/refunds": "CreateRefund", "PutItem": "PutItem"}],
    )
    operation: OperationSources = Field(
        [],
        description="Where requests name their operation, if not by method and path. The first place that names one "
        "counts.",
        examples=[{"header": "x-shop-target", "after": "."}, [{"query": "Action"}, {"body": "/Action"}]],
    )
    error: ErrorText | None = Field(
        None,
        description="How the API writes its errors, if the general reader does not know it.",
        examples=[{"code": "/__type", "message": "/text"}],
    )
    dialect: Literal["graphql", "mcp"] | None = Field(
        None,
        description="The API refuses inside a 200: GraphQL over HTTP, or a server of the Model Context Protocol.",
        examples=["graphql"],
    )
    mirror: str | None = Field(
        None,
        pattern="^/",
        description="A pointer to an object of the answer in which the feedback is repeated, for SDKs that show "
        "nothing else.",
        examples=["/error"],
    )
    mirror_whole: list[Annotated[str, Field(min_length=1)]] | None = Field(
        None,
        description="How the User-Agent of these SDKs begins; all other callers get a reference there, "
        '`{"$ref": "#/recovery_feedback"}`. Without it everybody gets the whole.',
        examples=[["Stripe/v1 NodeBindings"]],
    )
    redact: list[Annotated[str, Field(pattern="^/")]] = Field(
        [],
        description="Pointers into the answer to texts that the mode `traditional` blanks.",
        examples=[["/error/message", "/error/param"]],
    )
    lookups: list[Annotated[str, Field(pattern=r"^(POST )?/[^?#\s]+$")]] = Field(
        [],
        description="Paths that look-ups may read. `{name}` is one segment, a final `{+name}` several. `POST "
        "/flows/filter` declares that this POST only reads; its last segment is fixed.",
        examples=[["/v1/charges/{charge}", "POST /flows/filter"]],
    )
    lookup_headers: dict[LookupHeader, Annotated[str, Field(pattern=r"^[\x20-\x7e]{1,200}$")] | None] = Field(
        {},
        description="Headers of all look-ups that say in which form or version the API answers. Without a value: as "
        "the refused request has it. A vendor's type or a version in the request's `Accept` goes with look-ups anyway, "
        "and so do headers with `version` in their name. Never credentials: look-ups have the caller's own.",
        examples=[{"Accept": "application/vnd.acme.v2+json", "X-Acme-Flavour": None}],
    )
    bases: list[Annotated[str, Field(pattern=r"^/[^?#{\s]+$")]] = Field(
        [],
        description="Paths below which some servers have the whole API; a look-up may begin with one.",
        examples=[["/api/v3"]],
    )
    idempotency_header: str | None = Field(
        None,
        description="The header with the idempotency key. A suggested edit of a request with a key gets a new key.",
        examples=["Idempotency-Key"],
    )
    dry_run: DryRunText | None = Field(
        None,
        description="How the API tries a request without doing it. Repairs are tried in this way before they are "
        "suggested.",
        examples=[{"query": {"dryRun": "All"}, "methods": ["POST", "PUT", "PATCH"]}],
    )
    secret_parameters: list[str] = Field(
        [], description="Parameters whose values are never repeated.", examples=[["cvc", "account_number"]]
    )
    decisive: list[str] = Field(
        [],
        description="Further members on which money, identity, permission, deletion or visibility depends: a similar "
        "value needs a confirmation there. Names with a common word for it (`amount`, `owner`) need no entry.",
        examples=[["reclaimPolicy"]],
    )
    tokens: list[str] = Field(
        [],
        description="Members that hold a version of stored data: to replace a stale one is no loss.",
        examples=[["sha", "resourceVersion"]],
    )
    path_members: list[str] = Field(
        [],
        description="Members of look-ups that stand for several segments of a path; every other value is escaped to "
        "one.",
        examples=[["groupVersion"]],
    )
    meanings: list[MeaningText] = Field(
        [],
        description="Values that mean something else once other members have changed.",
        examples=[[{"where": {"/v": 1}, "becomes": {"/v": 2}, "at": "/mode", "because": "The default differs."}]],
    )
    actions: dict[str, ActionText] = Field(
        {},
        description="Words that the pack adds to the vocabulary of actions.",
        examples=[{"SWAP_PART": {"base_action": "MODIFY_PARAMS", "description": "Use this part instead."}}],
    )
    min_coverage: float | None = Field(
        None,
        ge=0,
        le=100,
        description="The smallest percentage of the documented errors for which there is a rule.",
        examples=[14],
    )
    functions: dict[str, Cel] = Field(
        {},
        description="Named CEL expressions that all rules may call. A function may call those before it.",
        examples=[{"remaining(charge)": "charge.amount - charge.amount_refunded"}],
    )
    wordings: list[WordingText] = Field(
        [],
        description="Sentences of the API that the general reader does not know: rows beside those of `rules/`.",
        examples=[
            [
                {
                    "id": "exists.seat-taken",
                    "pattern": "seat {value} (?:is|was) given to",
                    "example": "The seat 12A was given to another guest.",
                    "counter": "The seat 12A was taken from you.",
                }
            ]
        ],
    )
    paraphrases: dict[str, list[str]] = Field(
        {},
        description="What gives a fix away in other words, for `conformance audit`.",
        examples=[{"1.5 cups": ["one and a half cups"]}],
    )
