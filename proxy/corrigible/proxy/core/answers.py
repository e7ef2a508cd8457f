"""What is answered to a refusal that no rule knows and for which nothing that was sent is to blame: one table.

| column   | says                                                                                     |
|----------|------------------------------------------------------------------------------------------|
| kind     | what the text complains of, by the rows of wordings; else by the native code             |
| statuses | under which statuses that is believed: 403 has rules of its own, 404 is about the path    |
| facts    | what is certain of the text and the request                                               |
| answer   | wait, tell who has to act, or silence: then others may know more  |

The first row that fits decides: what is certain stands before what is likely. A text alone never leads to an edit.

Knows: errors, requests, what texts say. Does not know: rules, which API it is, how texts say it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final, NamedTuple
from urllib.parse import unquote

from corrigible.adapters.formats.statement import complaint, has_word, is_down
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.safety.decisive import MONEY, READS, WORDS, word_set, words
from corrigible.rules.safety.nearness import letters
from corrigible.rules.schema_repair.levels import REQUIRED
from corrigible.rules.schema_repair.names import may_limit, references_to
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import (
    Repair,
    Suggestion,
    confirmed,
    effects,
    guarded_ops,
    is_secret,
    left_out,
)
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Json, Protocol, Request

from .api_profile import RefusalCase
from .request_at_fault import CHOSE_NONE, likely_value


class Answer(Enum):
    WAIT = "the same request may do later"
    TELL = "somebody has to act first"
    SILENT = "others may know more"


class Fact(Enum):
    """What is certain of a refusal."""

    OF_A_THING = "the text says of what an id that was sent names that it is in this state"
    REPEATED = "the text repeats a value, or names a member, that was sent"
    PASSING = "the answer says when to come back, or that something else ends by itself"
    OF_SOMEBODY = "the text says who did this, or who may"
    OF_THE_SERVER = "the text is about the server itself"
    OF_THE_PATH = "nothing was sent beside the path, or the text repeats what that names"
    TAKES_AWAY = "the request is to delete what its path names"
    BESIDE = "another error of the same refusal complains of a value"


class Told(NamedTuple):
    """What is said about a reason for which no other request helps."""

    message: str
    needed: str
    actor: str
    diagnosis: str
    code: str


TOLD: Final[Mapping[Kind, Told]] = {
    Kind.CREDENTIALS: Told(
        "Somebody has to give valid credentials. The same request will not do without them.",
        "credentials",
        "you",
        "The server does not know the caller.",
        "CREDENTIALS_REFUSED",
    ),
    Kind.RIGHT: Told(
        "Somebody who may do this has to do it, or has to decide whether the caller may. The same request is refused"
        " again.",
        "permission",
        "somebody_else",
        "The server does not allow this to the caller.",
        "FORBIDDEN",
    ),
    Kind.FEATURE: Told(
        "This is switched off, not set up, or not offered here. Until whoever runs the API changes that, the same"
        " request is refused again.",
        "a feature that is available",
        "somebody_else",
        "What the request needs is not available here.",
        "NOT_AVAILABLE",
    ),
    Kind.STATE: Told(
        "What the request is about is not in the state that this needs: the server says in its own words which. Until"
        " that changes, the same request is refused again.",
        "another state of the resource",
        "you",
        "The resource is not in the state that the request needs.",
        "STATE_REFUSED",
    ),
    Kind.IN_USE: Told(
        "Something depends on what the request would take away: the server says in its own words what. Until that"
        " changes, the same request is refused again.",
        "a resource that nothing depends on",
        "you",
        "Something depends on what the request would take away.",
        "STILL_NEEDED",
    ),
    Kind.FIXED: Told(
        "The server does not let this be done to the resource. Unless something else is changed first, the same"
        " request is refused again.",
        "a resource that can be changed",
        "somebody_else",
        "The server does not let this be done to the resource.",
        "READ_ONLY",
    ),
    Kind.LIMIT: Told(
        "A limit of how much there may be is reached. Until some of it is freed, time passes, or the limit is raised,"
        " the same request is refused again.",
        "room below the limit",
        "you",
        "A limit of how much there may be is reached.",
        "LIMIT_REACHED",
    ),
}


class Row(NamedTuple):
    """One row of the table."""

    name: str
    kinds: Collection[Kind]
    statuses: Collection[int]
    answer: Answer
    reason: str
    facts: Collection[Fact] = ()


_REFUSED: Final = frozenset({400, 409, 412, 422, 423})
"""Statuses of refusals of the request, those that gateways give for codes of google.rpc among them."""
_PATH: Final = frozenset({404, 405, 501})
"""Statuses under which the path may be wrong all the same."""
_ANY: Final = frozenset({*_REFUSED, *_PATH, 403, 410, 500})
_STANDING: Final = frozenset({Kind.STATE, Kind.EXISTS, Kind.IN_USE, Kind.FIXED, Kind.FEATURE, Kind.LIMIT})
_OF_A_THING: Final = _STANDING - {Kind.EXISTS}
_ALL: Final = frozenset(TOLD) | {Kind.EXISTS, Kind.ABSENT}


ROWS: Final = (
    Row("gone", {Kind.ABSENT, Kind.STATE}, {410}, Answer.TELL, "it is away already", (Fact.TAKES_AWAY,)),
    Row("one of several", {Kind.FIXED}, _REFUSED, Answer.SILENT, "a member is fixed, no resource", (Fact.BESIDE,)),
    Row("somebody", _ALL, {409}, Answer.TELL, "a person decided, and no value changes that", (Fact.OF_SOMEBODY,)),
    Row("of a thing", _OF_A_THING, {409}, Answer.TELL, "another thing is not meant", (Fact.OF_A_THING,)),
    Row(
        "repeated", _ALL - {Kind.RIGHT}, _ANY, Answer.SILENT, "what is repeated may be what is wrong", (Fact.REPEATED,)
    ),
    Row("own state", {Kind.STATE, Kind.LIMIT}, {500}, Answer.SILENT, "it is nobody's task", (Fact.OF_THE_SERVER,)),
    Row("passing", _STANDING, _REFUSED, Answer.WAIT, "it ends by itself", (Fact.PASSING,)),
    Row("caller", {Kind.CREDENTIALS}, _ANY, Answer.TELL, "no request does without credentials"),
    Row("right", {Kind.RIGHT}, _ANY - {403}, Answer.TELL, "who may is decided by others; of 403 rules say so"),
    Row("not offered", {Kind.FEATURE, Kind.LIMIT}, _ANY, Answer.TELL, "it is so for every path"),
    Row("there", {Kind.EXISTS}, {400, 409, 422}, Answer.TELL, "what is there is shown by no look-up"),
    Row("state", {Kind.STATE, Kind.IN_USE}, _ANY - _PATH - {410}, Answer.TELL, "something else has to change first"),
    Row("fixed", {Kind.FIXED}, _REFUSED, Answer.TELL, "of a body a part may be fixed", (Fact.OF_THE_PATH,)),
)


def answered(case: RefusalCase, error: Violation) -> Repair | None:
    """Return the answer to an error that names no place of the request; None where the table is silent."""
    refusal = _Refusal(case, error)
    if not refusal.is_unplaced:
        return None
    if case.request.protocol is not Protocol.HTTP:
        return refusal.of_call() if case.request.protocol is Protocol.GRPC else None
    if case.profile.described is not None and not case.match.operation:
        return None  # another path may do
    kind = refusal.kind
    row = next((one for one in ROWS if refusal.fits(one)), None) if kind is not None else None
    return None if row is None or kind is None else refusal.answer(row.answer, kind)


class _Refusal:
    """One refusal, and what is certain of it."""

    def __init__(self, case: RefusalCase, error: Violation) -> None:
        self._case, self._request, self._error = case, case.request, error
        self._reading = read(error.message)
        told = complaint(self._reading, (), is_bare=self._is_bare())
        if told is None and case.exchange.status == 410 and self._reading.of(Kind.ABSENT):
            told = Kind.ABSENT
        self.kind = told or _OF_CODE.get(error.code) or _OF_CODE.get(error.type)

    @property
    def is_unplaced(self) -> bool:
        """Whether no format tells a place of an error of the refusal, or a limit of a value."""
        error, is_loose = self._error, self._case.profile.adapter.tells_places_loosely
        is_whole = all(one.pointer in _WHOLE or one.likely for one in self._case.errors)
        return is_loose and is_whole and not error.stated and not error.constraint

    def fits(self, row: Row) -> bool:
        return (
            self.kind in row.kinds
            and self._case.exchange.status in row.statuses
            and all(getattr(self, f"_is_{one.name.lower()}")() for one in row.facts)
        )

    def answer(self, answer: Answer, kind: Kind) -> Repair | None:
        request = self._request
        if answer is Answer.WAIT:
            return _wait(request)
        if answer is Answer.SILENT:
            return None
        if kind in (Kind.EXISTS, Kind.ABSENT) or (kind is Kind.IN_USE and not self._is_takes_away()):
            kind = Kind.STATE
        return escalation(TOLD[kind], {"method": request.method, "path": request.path})

    def of_call(self) -> Repair | None:
        """Tell who has to act, where the text of a call says so under a code that says something else."""
        told = TOLD.get(self.kind) if self.kind is not None else None
        is_fault = self._error.type in CHOSE_NONE and is_down(self._error.message)
        if told is None or is_fault or self._error.type not in _OTHER_CODES:
            return None
        return escalation(told, {"method": self._request.method})

    # --- what is certain

    def _is_repeated(self) -> bool:
        place = likely_value(self._error)
        if place and not self._error.likely[0].is_told:
            # That it is likely by the form of the request says nothing: the text has its value, or the word for it.
            last = {*words(segments(place)[-1])[-1:]} - _VAGUE
            is_of_value = last and self.kind not in (Kind.RIGHT, Kind.CREDENTIALS)
            is_named = is_of_value and last <= {*words(self._error.message)} - {*words(self._request.path)}
            place = place if is_named or has_word(self._error.message, str(value_at(self._request, place))) else ""
        return bool(place)

    def _is_of_a_thing(self) -> bool:
        place = likely_value(self._error)
        sent = str(value_at(self._request, place)) if place else ""
        things = [thing for one in self._reading.of(*_OF_A_THING) for thing in one.slots.get("thing", ())]
        is_id = bool(place) and not _IDS.isdisjoint(words(segments(place)[-1])[-1:])
        return is_id and any(has_word(thing, sent) for thing in things)

    def _is_of_the_server(self) -> bool:
        return not _OF_THE_SERVER.isdisjoint(words(self._error.message))

    def _is_takes_away(self) -> bool:
        return self._request.method == "DELETE"

    def _is_beside(self) -> bool:
        others = (read(one.message) for one in self._case.errors if one is not self._error)
        return any(one.of(Kind.VALUE, Kind.MISSING, Kind.UNKNOWN) for one in others)

    def _is_passing(self) -> bool:
        says_when = bool(self._case.exchange.headers.get("retry-after", "").strip())
        return says_when or any(one.row.endswith(_ENDING) for one in self._reading.said)

    def _is_of_somebody(self) -> bool:
        return bool(self._reading.of(Kind.RIGHT))

    def _is_bare(self) -> bool:
        return self._request.body is None and not self._request.query

    def _is_of_the_path(self) -> bool:
        return self._is_bare() or any(has_word(self._error.message, one) for one in self._named)

    @property
    def _named(self) -> frozenset[str]:
        return frozenset(unquote(one) for one in self._case.match.params.values())


_OF_CODE: Final = {"FAILED_PRECONDITION": Kind.STATE}
_OTHER_CODES: Final = frozenset(
    {"NOT_FOUND", "UNKNOWN", "INTERNAL", "INVALID_ARGUMENT", "OUT_OF_RANGE", "RESOURCE_EXHAUSTED"}
)
"""Codes of google.rpc that servers send for what is about no value of the request."""
_WHOLE: Final = ("", "/", "/path", "/method", "/body", "/query")
_IDS: Final = frozenset({"id", "ids", "uuid", "key", "number"})
_VAGUE: Final = frozenset({"id", "name", "type", "value", "data", "item", "key", "status", "state"})
_OF_THE_SERVER: Final = word_set("server service system database cluster backend hardware storage disk memory api")
_ENDING: Final = (".under-way", ".locked-by-another")
"""Rows of what ends by itself."""


def settled_by_somebody(case: RefusalCase, error: Violation, result: RuleResult) -> Repair | None:
    """Return what is told instead of a question for who asks, or for an amount, where a person decided.

    A conflict that only says that a name or an address is taken is none of these.
    """
    request = case.request
    asked = {str(one["pointer"]) for each in result.suggestions for one in each.get("placeholders") or ()}
    if case.exchange.status != 409 or request.protocol is not Protocol.HTTP or not asked:
        return None
    reading = read(error.message)
    kind = complaint(reading)
    is_of_person = bool(reading.of(Kind.RIGHT))
    # Whose it is that another one has is not asked for where no description shows that it may be chosen.
    is_decided = is_of_person or kind is Kind.STATE or (kind is Kind.EXISTS and case.profile.described is None)
    guarded = [one for one in asked if may_not_be_asked(one) and (is_of_person or not _names_account(one))]
    if (is_of_person and not asked.isdisjoint(_WHOLE)) or (is_decided and guarded):
        return escalation(
            TOLD.get(kind or Kind.STATE, TOLD[Kind.STATE]), {"method": request.method, "path": request.path}
        )
    return None


_GUARDED: Final = (WORDS | MONEY) - {"label", "labels"} | word_set(
    "identity actor caller approver approval approved signature password plan group team member agent client"
    " pin otp code passcode passphrase captcha csrf nonce jwt bearer authorization certificate license licence session"
    " credential credentials answer hmac quota limit employee staff person worker manager supervisor author sender"
    " editor voter signer guest subject impersonate behalf"
)


def may_not_be_asked(place: str) -> bool:
    """Whether the names of a place say how much, who asks, whose it is, or what proves that."""
    return not _GUARDED.isdisjoint({word for part in segments(place)[1:] for word in words(part)})


_NOT_OFFERED: Final = frozenset({Kind.FEATURE, Kind.FIXED})
"""Kinds of complaints after which a member may be left out whatever the description says."""
_MAY_BE_A_VALUE: Final = ".only-available"
"""The row of "is not allowed", which may be said of a value as well."""
_NO_OMISSION: Final = frozenset({Kind.MISSING, Kind.MALFORMED, Kind.CREDENTIALS, Kind.RIGHT})
_LEAVE_OUT: Final = "Leave it out, if the call may do without it: no other value is known that the server takes."


def or_left_out(case: RefusalCase, error: Violation, result: RuleResult) -> RuleResult:
    """Return a question with the offer, to confirm, to leave out what it asks about.

    It is an element of a list, or a member that may be left out: by the description, or by what the sentence says. No
    other value is known: neither a limit nor a list of values is told.
    """
    request, place = case.request, _only_place(result)
    if not place or request.protocol is not Protocol.HTTP or error.stated or error.constraint:
        return result
    value, name = value_at(request, place), next(one for one in reversed(segments(place)) if not one.isdecimal())
    is_element = _is_element(place, request)
    is_guarded = may_limit(name) or (not is_element and may_not_be_asked(place))
    if value in (MISSING, None) or is_guarded or is_secret(place, value) or references_to(place, request):
        return result
    kinds = {one.kind for one in read(error.message).said}
    if not kinds.isdisjoint(_NO_OMISSION) or not (is_element or _is_optional(case, error, place)):
        return result
    ops = guarded_ops(request, place, value, {"op": "remove", "path": place})
    if not ops:
        return result
    offer = confirmed(left_out(SchemaViolation(place, "value", {}, value), request, ops, _LEAVE_OUT))
    return result.with_suggestions([*result.suggestions, {**offer, "evidence": {"kind": "answer", "pointer": place}}])


def _only_place(result: RuleResult) -> str:
    """Return the only place that a result asks about, if it does nothing else, and knows no value for it."""
    asked = [placeholder for one in result.suggestions for placeholder in one.get("placeholders") or ()]
    if len(asked) != 1 or len(result.suggestions) != 1 or result.suggestions[0].get("patch"):
        return ""
    place, schema = str(asked[0]["pointer"]), asked[0].get("schema") or {}
    is_inner = place.startswith(("/body/", "/query/")) and not {"enum", "const", "pattern"} & schema.keys()
    return place if is_inner else ""


def _is_element(place: str, request: Request) -> bool:
    """Whether a place is that of a plain value in a list, which in a query may be a parameter: `expand[0]`."""
    around, _, last = place.rpartition("/")
    if isinstance(value_at(request, place), Mapping | list):
        return False
    if place.startswith("/query/") and last.endswith("]"):
        return not last.partition("[")[2].strip("0123456789]")
    return last.isdecimal() and isinstance(value_at(request, around), list)


def _is_optional(case: RefusalCase, error: Violation, place: str) -> bool:
    """Whether a member may be left out: a format tells it without a sentence, and it is declared as optional.

    Or a sentence about it, by its place or its name, says that it is not offered, or takes no change.
    """
    reading, name = read(error.message), letters(segments(place)[-1])
    is_named = any(letters(one) == name for said in reading.said for one in said.slots.get("field", ()))
    is_told = error.pointer == place and not error.likely
    if not is_told and not is_named:
        return False
    declared = case.declared_place(place)
    is_required = segments(place)[-1] in ((declared.parent_schema or {}).get(REQUIRED) or ())
    if is_required or (not error.message and place.startswith("/body/") and declared.schema):
        return not is_required
    return any(
        not one.row.endswith(_MAY_BE_A_VALUE) for one in reading.of(*(_NOT_OFFERED if is_told else (Kind.FEATURE,)))
    )


def _names_account(place: str) -> bool:
    """Whether a place has what an account is made under: "That e-mail already has an account"."""
    return not {"email", "mail", "username", "login"}.isdisjoint(words(segments(place)[-1])[-1:])


def escalation(told: Told, of_request: Mapping[str, Json]) -> Repair:
    """Tell who has to act. `of_request` says which call it is about."""
    parameters: dict[str, Json] = {"needed": told.needed, "actor": told.actor, **of_request}
    suggestion = terminal("ESCALATE", told.message, parameters)
    return Repair((suggestion,), "recovery_guidance", told.diagnosis, told.code, "terminal")


def terminal(action: str, message: str, parameters: Mapping[str, Json], evidence: str = "mapping") -> Suggestion:
    """Return what is told where no other request helps."""
    return {
        "action": action,
        "message": message,
        "parameters": dict(parameters),
        "safety": {"side_effects": "none", "changes_intent": False},
        "evidence": {"kind": evidence},
    }


def _wait(request: Request) -> Repair:
    """Tell to wait: what was refused has had no effect."""
    is_safe, has_key = request.method in READS, "idempotency-key" in request.headers
    suggestion: dict[str, Json] = {
        "action": "WAIT_AND_RETRY",
        "message": "Something else has to end first. Wait for that, and send the same request again: it was refused"
        " before it had an effect. Each pause should be longer than the one before.",
        "parameters": {},
        "safety": {"side_effects": effects(request.method), "changes_intent": False},
        "evidence": {"kind": "mapping"},
    }
    retry: dict[str, Json] = {"same_request": is_safe or has_key}
    if has_key and not is_safe:
        retry["idempotency_key"] = "reuse"
    diagnosis = "Something else is being done just now."
    return Repair((suggestion,), "recovery_guidance", diagnosis, "UNDER_WAY", "transient", retry)
