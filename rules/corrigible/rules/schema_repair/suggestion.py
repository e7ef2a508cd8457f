"""Suggestions in the shape of the wire, made from operations on the request: edits, closed choices, questions.

And the repairs that they are, as results of rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.engine.guarded_patch import LONGEST_GUARD, PatchError, guarded
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING, escape, resolve, segments, through_arrays, value_at
from corrigible.rules.safety.decisive import READS, is_plain_header, is_protected, is_the_senders
from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.safety.nearness import is_slip
from corrigible.schema.cache import cached
from corrigible.schema.credential_name import counts, is_secret_name
from corrigible.schema.document import BODILESS, leaves
from corrigible.schema.exchange import Json, Request
from corrigible.schema.word import EvidenceKind

from .json_schema import trim_schema
from .schema_violation import SchemaViolation

Suggestion = dict[str, Json]


class Proposal(NamedTuple):
    suggestions: Sequence[Suggestion]
    type: str = "recovery_guidance"
    recovery: str = "correctable"


class Repair(NamedTuple):
    """The suggestions for one violation, in the shape of the wire."""

    suggestions: tuple[Suggestion, ...]
    type: str
    diagnosis: str
    code: str
    recovery: str = "correctable"
    retry: Mapping[str, Json] | None = None
    """How the same request may be sent again."""


def repair_of(proposal: Proposal, diagnosis: str, code: str) -> Repair:
    return Repair(tuple(proposal.suggestions), proposal.type, diagnosis, code, proposal.recovery)


_SECRETS: Final = ("password", "passphrase", "secret", "credential", "authorization", "api_key", "access_token")
"""Names that are a secret's under a slip of the fingers, too."""
_PERSONAL: Final = re.compile(
    r"(?i)(?:^|[_.a-z-])(?:token|cv[cv]2?|pin|ssn|iban)$|(?:secret|encryption)[_-]?key$|^encrypted"
)
"""Names of members whose text is never repeated either, besides those of credentials."""
_VALUE: Final = re.compile(r"(?i)(?<=.)_?value$")
_LEAST_SECRET: Final = 100
"""A smaller number is a count, or that of a contact: a CVC has three digits."""
_SWITCHES: Final = frozenset({"", "true", "false", "yes", "no", "on", "off"}) | {
    *("enabled", "disabled", "enable", "disable"),
}
_IDENTIFYING: Final = ("name", "id", "key", "path", "type", "title")
_DEEPEST: Final = 2
"""How far inside an element its identifying value may stand."""
_MOST_TRIED: Final = 16
_EXACT: Final = 1 << 53
_MOST_BYTES: Final = 2048
ANSWER: Final = "the error"
"""The source of what the answer itself states."""
_SAID: Final = "The server's error says so."
_ASK_PROTECTED: Final = "Give the value that belongs there: it says who calls, or what is called."


def is_secret(pointer: str, value: Json) -> bool:
    """Whether the text or number at a place, or in a list there, is named like one that is never repeated."""
    if not any(map(_may_be_secret, value if isinstance(value, list) else [value])):
        return False
    names = [part for part in segments(pointer)[1:] if not part.isdecimal()]
    is_count = bool(names) and not isinstance(value, str | list) and counts(names[-1])
    return bool(names) and not is_count and _is_secret_name(names[-1])


def _may_be_secret(value: Json) -> bool:
    if isinstance(value, str):
        return value.casefold() not in _SWITCHES
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= _LEAST_SECRET


@cached(1024)
def _is_secret_name(name: str) -> bool:
    plain = _VALUE.sub("", name)
    if is_secret_name(plain) or _PERSONAL.search(plain) is not None:
        return True
    return any(abs(len(plain) - len(one)) <= 1 and is_slip(plain, one) for one in _SECRETS)


def guards(document: Mapping[str, Json], pointer: str, old: Json) -> list[Operation]:
    """Return the tests that an edit at a place needs: its old value, or what identifies the elements on the way.

    Raises PatchError where an element on the way cannot be identified.
    """
    if _is_short(old) and not is_secret(pointer, old):
        return [{"op": "test", "path": pointer, "value": old}]
    tests: list[Operation] = []
    elements = [one for one in through_arrays(document, pointer) if one != pointer or isinstance(old, Mapping)]
    for element in reversed(elements):
        try:
            tests.insert(0, _identified(document, element))
        except PatchError:
            if not tests:  # a test of an element inside of it is one of it, too
                raise
    return tests


def guarded_edit(request: Request, pointer: str, old: Json, operation: Operation) -> list[Operation]:
    """Return an operation at a place behind the tests that it needs. Raises PatchError where it cannot be guarded."""
    document = request.document()
    ops = [*guards(document, pointer, old), operation]
    guarded(document, ops)
    return ops


def guarded_ops(request: Request, pointer: str, old: Json, operation: Operation) -> list[Operation]:
    """Return an operation at a place behind the tests that it needs; none where it cannot be guarded."""
    try:
        return guarded_edit(request, pointer, old, operation)
    except PatchError:
        return []


def _identified(document: Mapping[str, Json], element: str) -> Operation:
    """Return a test of a value of an element, of those of its objects where it has no plain value itself."""
    value = resolve(document, element)
    if value == {}:
        return {"op": "test", "path": element, "value": {}}
    level = [(element, value)]
    for _ in range(_DEEPEST):
        for place, inner in level:
            if (name := _plain_member(place, inner)) is not None:
                return {"op": "test", "path": f"{place}/{escape(name)}", "value": inner[name]}
        level = [
            (f"{place}/{escape(name)}", below)
            for place, inner in level
            if isinstance(inner, Mapping)
            for name, below in islice(inner.items(), _MOST_TRIED)
            if isinstance(below, Mapping) and not _is_secret_name(name)
        ]
    raise PatchError(f"{element} has nothing to be told by")


def _plain_member(place: str, value: Json) -> str | None:
    if not isinstance(value, Mapping):
        return None
    plain = [
        name for name, inner in value.items() if _is_short(inner) and not is_secret(f"{place}/{escape(name)}", inner)
    ]
    return next((name for name in _IDENTIFYING if name in plain), plain[0] if plain else None)


def _is_short(value: Json) -> bool:
    """Whether a test may repeat a value: a scalar, or a few of them in a list."""
    if value is MISSING or isinstance(value, dict):
        return False
    if isinstance(value, list):
        return not any(isinstance(item, list | dict) for item in value) and len(str(value)) <= LONGEST_GUARD
    return len(str(value)) <= LONGEST_GUARD


def edit(
    violation: SchemaViolation,
    request: Request,
    ops: list[Operation],
    message: str,
    *,
    changes_intent: bool = False,
    requires_confirmation: bool = False,
    action: str = "MODIFY_PARAMS",
    verified: bool | None = None,
) -> Suggestion:
    """Return a suggestion that a reader applies.

    Where it would write what says which request it is, or who makes it, the value is asked for.
    """
    written = [
        str(op["path"])
        for op in ops
        if op["op"] in ("add", "replace", "copy") and not isinstance(op.get("value"), bool)  # no secret is a switch
    ]
    if protected := [path for path in written if is_protected(path)]:
        return _question(violation, request, _ASK_PROTECTED, [(path, {}) for path in protected])
    moved = [str(op["from"]) for op in ops if op["op"] == "move"]
    headers = [path for path in (*written, *moved) if path.startswith("/headers/") and not is_plain_header(path)]
    requires_confirmation = requires_confirmation or bool(headers) or any(map(is_protected, moved))
    out: Suggestion = {
        "action": action,
        "message": message,
        "parameters": merged(request, ops),
        "patch": ops,
        "applicability": "MAYBE_INCORRECT",
    }
    if verified is not None:
        out["verification"] = {"status": "verified" if verified else "unverified", "method": "schema"}
    method = next((op["value"] for op in ops if op["path"] == "/method" and op["op"] == "replace"), request.method)
    out["safety"] = {"side_effects": effects(str(method)), "changes_intent": changes_intent}
    if requires_confirmation:
        out["safety"]["requires_confirmation"] = True
    out["evidence"] = {"kind": "spec", "pointer": violation.pointer}
    return out


def left_out(violation: SchemaViolation, request: Request, ops: list[Operation], message: str) -> Suggestion:
    """Return an edit that leaves out what was sent: it may have been wanted, and a write asks first."""
    writes = request.method not in READS
    return edit(violation, request, ops, message, changes_intent=True, requires_confirmation=writes)


def confirmed(suggestion: Suggestion) -> Suggestion:
    """Return an edit that whoever calls has to confirm; a question as it is."""
    safety = {**suggestion["safety"], "requires_confirmation": True}
    return {**suggestion, "safety": safety} if "patch" in suggestion else suggestion


def effects(method: str) -> str:
    return "none" if method in READS else "certain"


def options(edits: Sequence[Suggestion], group: str) -> Proposal:
    """Return a closed choice: the caller takes one of them."""
    marked = [{**edit, "group": {"id": f"{group}1", "relation": "one_of"}} for edit in edits]
    return Proposal(marked, "intent_disambiguation")


def ask(
    violation: SchemaViolation,
    request: Request,
    message: str,
    *,
    schema: Mapping[str, Json] | None = None,
    places: Sequence[tuple[str, Mapping[str, Json]]] = (),
    whom: str = "user",
) -> Proposal:
    """Return the question for a value that only the caller has, at its place and with its schema.

    The `agent` itself is asked about the form, not about the facts.

    Of headers that no suggestion sets it is said that the caller has to.
    """
    questions = places or [(violation.pointer, trim_schema(violation.schema) if schema is None else schema)]
    if not any(is_the_senders(pointer) for pointer, _ in questions):
        return Proposal([_question(violation, request, message, questions, whom)])
    suggestion: Suggestion = {
        "action": "ESCALATE",
        "message": "The server wants a header that only the sender sets: credentials, or where the request goes.",
        "parameters": {"needed": "credentials", "actor": "you"},
        "safety": {"side_effects": "none", "changes_intent": False},
        "evidence": {"kind": "mapping"},
    }
    return Proposal([suggestion], recovery="terminal")


def _question(
    violation: SchemaViolation,
    request: Request,
    message: str,
    questions: Sequence[tuple[str, Mapping[str, Json]]],
    whom: str = "user",
) -> Suggestion:
    return {
        "action": "MODIFY_PARAMS",
        "message": message,
        "parameters": {},
        "applicability": "HAS_PLACEHOLDERS",
        "placeholders": [
            {"pointer": pointer, "ask": whom, "schema": _open(schema) if is_protected(pointer) else dict(schema)}
            for pointer, schema in questions
        ],
        "safety": {"side_effects": effects(request.method), "changes_intent": False},
        "evidence": {"kind": "spec", "pointer": violation.pointer},
    }


def _open(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return a schema without the values that it names."""
    return {name: value for name, value in schema.items() if name not in ("enum", "const", "default", "examples")}


def merged(request: Request, ops: Sequence[Operation]) -> dict[str, Json]:
    """Return a patch as parameters for readers without patch support, empty where that would mean something else."""
    into = "query" if request.body is None and request.method in BODILESS else "body"
    out: dict[str, Any] = {}
    document = request.document()
    for op in ops:
        if op["op"] == "test":
            continue
        changes = [(str(op["path"]), op.get("value"))]
        if op["op"] == "move":
            changes = [(str(op["from"]), None), (str(op["path"]), value_at(request, str(op["from"])))]
        for path, value in changes:
            parts = segments(path)
            if parts[:1] != [into] or len(parts) < 2 or isinstance(value, list | dict):
                return {}
            if next(through_arrays(document, path), None) is not None:
                return {}
            node = out
            for part in parts[1:-1]:
                node = node.setdefault(part, {})
            node[parts[-1]] = value
    return out


# Values that a suggestion writes anew as a whole


def may_be_repeated(value: Json) -> bool:
    """Whether a value may be written into a suggestion: it is short, holds no secret and no number that was rounded."""
    try:
        if len(orjson.dumps(value)) > _MOST_BYTES:
            return False
    except TypeError:  # half a surrogate pair, an integer of more than 64 bits
        return False
    return not any(is_secret(one.pointer, one.value) for one in leaves(value, "/body")) and not is_rounded(value)


def is_rounded(value: Json) -> bool:
    """Whether a number, or one in a list or object, may have been an integer too large to be read as such."""
    return any(isinstance(one.value, float) and abs(one.value) >= _EXACT for one in leaves(value))


# Results


class RepairSource(NamedTuple):
    """What a repair was made from, in the place of a rule."""

    diagnosis: str
    code: str
    id: str
    may_guess: bool = False
    """Its evidence says what it was made from."""
    is_weighed: bool = False
    """Whoever made it has weighed what speaks for it."""

    @property
    def verbose_code(self) -> str:
        return self.code


def stated_by_answer(repair: Repair) -> Repair:
    """Return a repair that comes from what the answer states: evidence and texts say so; no schema verifies it."""
    return repair._replace(suggestions=tuple(map(_stated, repair.suggestions)))


def _stated(suggestion: dict[str, Json]) -> dict[str, Json]:
    out = {name: value for name, value in suggestion.items() if name != "verification"}
    out["message"] = f"{suggestion['message']} {_SAID}" if suggestion.get("message") else _SAID
    out["evidence"] = {**suggestion["evidence"], "kind": EvidenceKind.ANSWER.value}
    return out


def result_of(
    repair: Repair, source: str, seen: Sequence[LookupResult] = (), *, is_weighed: bool = False
) -> RuleResult:
    """Return a repair as a result; `seen` is what look-ups showed."""
    author = RepairSource(repair.diagnosis, repair.code, source, is_weighed=is_weighed)
    return RuleResult(
        author,
        repair.suggestions,
        repair.type,
        repair.recovery,
        repair.retry,
        used_live_state=bool(seen),
        lookup_results=tuple(seen),
    )
