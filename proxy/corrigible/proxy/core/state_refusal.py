"""Refusals for which no value of the request is the reason: what is told about them, and who has to act.

| the server says that              | what has to change                     | who                |
|-----------------------------------|----------------------------------------|--------------------|
| the caller is not known           | the credentials                        | you                |
| the caller may not do it          | a permission                           | somebody else      |
| it is switched off, or not set up | how the API is set up                  | somebody else      |
| the resource is in another state  | that state                             | you                |
| something else needs the resource | what refers to it                      | you                |
| it takes no changes               | nothing that is known                  | somebody else      |
| no more of it may be there        | a limit, or how much of it is there    | you                |
| what was asked for has been done  | nothing: the goal holds                | nobody             |

The sentence may deny what the request does, in a verb that only the request tells: `/jobs/1/resume`.

Where the sentence is about something that was sent ("The coupon has expired"), another value may do: it is asked for.
What passes by itself ("Another import is in progress", or a Retry-After) is waited for.

Nothing is said where an error names a place of the request, or a value that was sent: that may be what is wrong.

If the wording tells no reason, but nothing was sent beside the path, the description lets nothing else be sent, and
finds no fault, then the resource of the path is not as the call needs it, or another one was meant: that is asked.
Where something was sent, nothing follows: of 405 such refusals of servers of others, 19 were about state.

Knows: errors, requests, the wordings of such refusals. Does not know: rules, descriptions, which API it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from corrigible.adapters.base import Described
from corrigible.adapters.formats.message.denial_of_thing import denies_thing
from corrigible.adapters.formats.message.doubt import sentence
from corrigible.adapters.formats.message.own_action import (
    RequestAction,
    action_of,
    denied_reason,
    denies_another,
    is_told_as_done,
    reason_of_call,
)
from corrigible.adapters.formats.message.sent_values import ABSENT
from corrigible.adapters.formats.message.state_wording import Reason, told_reason
from corrigible.adapters.formats.message.told_code import is_fault
from corrigible.adapters.formats.message.under_way import is_under_way
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.safety.decisive import READS, words
from corrigible.rules.safety.nearness import letters
from corrigible.rules.schema_repair.json_schema import kind_of
from corrigible.rules.schema_repair.levels import REQUIRED
from corrigible.rules.schema_repair.route import has_segment, schema_of_path
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Repair, ask, effects
from corrigible.rules.violation import Violation
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Protocol, Request

from .api_profile import RefusalCase
from .forbidden_value import may_not_be_asked
from .likely_place import likely_value
from .state_reader import repeats, values_in
from .state_subject import value_refused
from .terminal_answer import Told, already_done, escalation

_OF_THE_REQUEST: Final = frozenset({400, 409, 422, 423})
_OF_THE_PATH: Final = frozenset({404, 405, 501})
"""Statuses under which the path may be wrong all the same."""
_FORBIDDEN: Final = 403
_GONE: Final = 410
"""Of what is not there any more. Some servers answer so for what cannot be had now: a device that is offline."""
_FOR_GOOD: Final = re.compile(
    r"(?i)\b(?:deleted|removed|gone|expired|ended|retired|discontinued|revoked|destroyed|terminated|closed|no longer)\b"
)
"""Words of what does not come back."""
_CONFLICT: Final = 409
_OF_SOMEBODY: Final = re.compile(
    r"(?i)\b(?:an?|the|another|some) (?:[\w-]+ ){1,3}?(?:has|have|had) (?:already |just )?"
    r"\w+(?:ed|en|t) (?:this|that|it|the)\b"
    r"|\bonly (?:[\w-]+ ){1,5}?(?:can|may|is allowed to|are allowed to) (?!be\b)"
)
"""A sentence about who did this, or who may: not about what was sent."""
_OF_A_PERSON: Final = re.compile(
    r"(?i)\b(?:someone|somebody)\b"
    r"|\banother (?:user|person|tenant|customer|member|account|session|device|employee|editor)\b"
    r"|\b\w+(?:ed|en|wn) (?:[\w-]+ ){0,3}by (?:[\w@.'-]+ ?){1,3}[.!]?$|^\W*you\b"
)
"""The same, with who did it at the end, or about the caller: no other content of the request changes that."""
_SERVER_FAULT: Final = 500
_OF_ANY_PATH: Final = frozenset({Reason.CREDENTIALS, Reason.FEATURE, Reason.RIGHT, Reason.LIMIT})
_OF_THE_STATUS: Final = frozenset({Reason.RIGHT, Reason.FIXED})
"""What the status 403 says already, and rules about it say better."""
_NOT_PASSING: Final = frozenset({Reason.CREDENTIALS, Reason.RIGHT})
_TAKING_AWAY: Final = action_of("DELETE", ("detach", "unassign", "revoke", "uninstall", "drop", "purge"), "").own
_READ: Final = 1000
"""Letters of a message that are looked at."""
_FEW_WORDS: Final = 3
_ELSEWHERE: Final = re.compile(
    r"(?i)\b(?:missing|required?|without|provide|specify|supply|choose|select|give|at least|must|should"
    r"|credential|token"
    r"|auth\w*|cookie|session|headers?|log(?:ged)? ?in|sign(?:ed)? ?in|csrf|permi\w+|denied|body|payload|json"
    r"|query|media"
    r" type|bad request|internal|unexpected|error)\b"
)
"""Words of complaints about what was not sent, about headers, or about nothing in particular."""
_NOT_IN_PARAMETERS: Final = ("", "/", "/path", "/method", "/body", "/query")


_TOLD: Final = {
    Reason.CREDENTIALS: Told(
        "Somebody has to give valid credentials. The same request will not do without them.",
        "credentials",
        "you",
        "The server does not know the caller.",
        "CREDENTIALS_REFUSED",
    ),
    Reason.RIGHT: Told(
        "Somebody who may do this has to do it, or has to decide whether the caller may. The same request is"
        " refused again.",
        "permission",
        "somebody_else",
        "The server does not allow this to the caller.",
        "FORBIDDEN",
    ),
    Reason.FEATURE: Told(
        "This is switched off, not set up, or not offered here. Until whoever runs the API changes that, the same"
        " request"
        " is refused again.",
        "a feature that is available",
        "somebody_else",
        "What the request needs is not available here.",
        "NOT_AVAILABLE",
    ),
    Reason.STATE: Told(
        "What the request is about is not in the state that this needs: the server says in its own words which. Until"
        " that changes, the same request is refused again.",
        "another state of the resource",
        "you",
        "The resource is not in the state that the request needs.",
        "STATE_REFUSED",
    ),
    Reason.IN_USE: Told(
        "Something depends on what the request would take away: the server says in its own words what. Until that"
        " changes, the same request is refused again.",
        "a resource that nothing depends on",
        "you",
        "Something depends on what the request would take away.",
        "STILL_NEEDED",
    ),
    Reason.FIXED: Told(
        "The server does not let this be done to the resource. Unless something else is changed first, the same"
        " request is"
        " refused again.",
        "a resource that can be changed",
        "somebody_else",
        "The server does not let this be done to the resource.",
        "READ_ONLY",
    ),
    Reason.LIMIT: Told(
        "A limit of how much there may be is reached. Until some of it is freed, or the limit is raised, the same"
        " request"
        " is refused again.",
        "room below the limit",
        "you",
        "A limit of how much there may be is reached.",
        "LIMIT_REACHED",
    ),
}


def refused_for_state(case: RefusalCase, error: Violation) -> Repair | None:
    """Return what is told where an error says that no value of the request is the reason; None where it does not."""
    request = case.request
    if not case.profile.adapter.tells_places_loosely:
        return None
    if error.stated or error.constraint or any(one.pointer not in _NOT_IN_PARAMETERS for one in case.errors):
        return None
    if request.protocol is not Protocol.HTTP:
        return _refused_call(request, error) if request.protocol is Protocol.GRPC else None
    if case.profile.described is not None and not case.match.operation:
        return None  # another path may do
    action = action_of(request.method, _literals_behind(request.path, case.match.params), case.match.operation)
    sends_values = request.body is not None or bool(request.query)
    reason = told_reason(error.message)
    is_of_path = any(one and repeats(error.message[:_READ], one) for one in case.match.params.values())
    if reason is Reason.FIXED and not is_of_path and denies_another(error.message, action):
        reason = None
    denied = denied_reason(error.message, action, sends_values=sends_values)
    reason = reason or denied or (Reason.STATE if denies_thing(error.message, action.own) else None)
    if case.exchange.status == _GONE and _FOR_GOOD.search(error.message[:_READ]) is not None:
        return None
    if reason is None or not _may_be_told(reason, case.exchange.status):
        return None
    if case.exchange.status == _CONFLICT and (reason is Reason.RIGHT or _OF_SOMEBODY.search(error.message[:_READ])):
        return escalation(_TOLD[reason], {"method": request.method, "path": request.path})
    if (suspected := likely_value(error)) and not _is_all_of_it(case, suspected, error.message):
        # Other rules read what is told of a value, but not under a status that says nothing of the request.
        is_of_thing = case.exchange.status == _CONFLICT or (
            case.exchange.status == _SERVER_FAULT and _is_reference(suspected)
        )
        is_of_values = reason in (Reason.STATE, Reason.LIMIT)
        return _value_asked(request, suspected) if is_of_values and is_of_thing else None
    if reason is Reason.STATE and not sends_values and is_told_as_done(error.message, action, *_acted_on(case)):
        return already_done(request)
    if reason not in _NOT_PASSING and case.exchange.status in _OF_THE_REQUEST:
        says_when = bool(case.exchange.headers.get("retry-after", "").strip())
        if says_when or (reason is not Reason.LIMIT and is_under_way(error.message)):
            return _passing(request)
    may_be_value = case.exchange.status in _OF_THE_REQUEST and reason is not Reason.CREDENTIALS
    if sends_values and denied is None and may_be_value:
        names = {unquote(one) for one in case.match.params.values()}
        place = value_refused(sentence(error.message), request, names, is_of_rights=reason is Reason.RIGHT)
        if place is not None:
            number = _only_number(request.body) if reason is Reason.LIMIT and place == "/body" else ""
            return _value_asked(request, number or place)
    if reason is Reason.IN_USE and not _takes_away(request, action):
        reason = Reason.STATE
    return escalation(_TOLD[reason], {"method": request.method, "path": request.path})


def settled_by_somebody(case: RefusalCase, error: Violation, result: RuleResult) -> Repair | None:
    """Return what is told instead of a question for who asks, for an amount, or for anything, where a person decided.

    A conflict that only says that a name or an address is taken is none of these.
    """
    request, text = case.request, error.message[:_READ]
    asked = {str(one["pointer"]) for each in result.suggestions for one in each.get("placeholders") or ()}
    if case.exchange.status != _CONFLICT or request.protocol is not Protocol.HTTP or not asked:
        return None
    reason, is_of_person = told_reason(text), _OF_A_PERSON.search(text) is not None
    is_state = reason in (Reason.STATE, Reason.RIGHT)
    if any(one in ("/body", "/query") and is_of_person for one in asked) or any(
        may_not_be_asked(one) and (is_of_person or (is_state and not _names_account(one))) for one in asked
    ):
        return escalation(_TOLD[reason or Reason.STATE], {"method": request.method, "path": request.path})
    return None


def _names_account(place: str) -> bool:
    """Whether a place has what an account is made under: "That e-mail already has an account"."""
    return not _ACCOUNT_NAMES.isdisjoint(words(segments(place)[-1])[-1:])


_ACCOUNT_NAMES: Final = frozenset({"email", "mail", "username", "login"})


def _only_number(body: Json) -> str:
    """Return the place of the only number in a body: what there is not enough of, if less of it may do."""
    numbers = [place for place, value in values_in(body, "/body") if isinstance(value, int | float)]
    return numbers[0] if len(numbers) == 1 else ""


def _is_reference(place: str) -> bool:
    """Whether what is sent at a place is the identifier of a thing."""
    return not _REFERENCES.isdisjoint(words(segments(place)[-1])[-1:])


_REFERENCES: Final = frozenset({"id", "uuid", "key", "name", "slug"})


def _is_all_of_it(case: RefusalCase, place: str, message: str) -> bool:
    """Whether a sentence begins with the name of a member without which there is no such call: it is about the call.

    "Caching is not enabled" of a call that has to send `caching`.
    """
    described, name = case.profile.described, segments(place)[-1]
    if described is None or place.count("/") != 2 or scalar_text(value_at(case.request, place)) in message:
        return False
    around = described.declared_place(case.request, case.match.operation, place).parent_schema or {}
    required = around.get(REQUIRED)
    spelled = letters(re.split(r"\b(?:is|are|was|were|has|have)\b", message[:_READ], maxsplit=1)[0])
    return isinstance(required, list | tuple) and name in required and spelled == letters(name)


def _takes_away(request: Request, action: RequestAction) -> bool:
    return request.method == "DELETE" or not action.own.isdisjoint(_TAKING_AWAY)


def _passing(request: Request) -> Repair:
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


def _value_asked(request: Request, place: str) -> Repair:
    """Ask for another value of what a sentence is about: what it says of the one that was sent may not hold of that."""
    message = (
        "Give another value for what the server refuses: it says in its own words which. If none will do, somebody has"
        " to change what it says about this one."
    )
    sent = value_at(request, place)
    question = ask(SchemaViolation(place, "value", {}, sent), request, message, schema={"type": kind_of(sent)})
    diagnosis = "The server does not take something that was sent, as it is now."
    return Repair(tuple(question.suggestions), question.type, diagnosis, "VALUE_REFUSED")


def _refused_call(request: Request, error: Violation) -> Repair | None:
    """Return what is told where the text of a gRPC call's status says so under a code that says something else."""
    if error.type not in _OTHER_CODES or is_fault(error.message):
        return None
    reason = reason_of_call(error.message, request.method)
    return None if reason is None else escalation(_TOLD[reason], {"method": request.method})


_OTHER_CODES: Final = frozenset(
    {"NOT_FOUND", "UNKNOWN", "INTERNAL", "INVALID_ARGUMENT", "OUT_OF_RANGE", "RESOURCE_EXHAUSTED"}
)
"""Codes of google.rpc that servers send for what is about no value of the request."""


def _acted_on(case: RefusalCase) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words of a path for what is acted on, and what it is called: `orders` and `7` of `/orders/7/refund`.

    A path without names is about what its words say.
    """
    parts = [unquote(part) for part in case.request.path.strip("/").split("/")]
    named = [at for at, part in enumerate(parts) if part in {unquote(one) for one in case.match.params.values()}]
    return (parts[max(0, named[-1] - 1) : named[-1]], [parts[named[-1]]]) if named else (parts, ())


def _literals_behind(path: str, params: Mapping[str, str]) -> Sequence[str]:
    """Return the parts of a path behind the last name in it: `resume` of `/jobs/1/resume`."""
    parts = path.strip("/").split("/")
    named = [at for at, part in enumerate(parts) if unquote(part) in params.values() or part in params.values()]
    return parts[named[-1] + 1 :] if named else ()


def refused_as_a_whole(case: RefusalCase, error: Violation, description: Described) -> Repair | None:
    """Return the question for the only name in the path, if nothing else was sent, and the operation takes no more.

    The request fits the description.
    """
    request, operation = case.request, case.match.operation
    if case.exchange.status not in _OF_THE_REQUEST or not operation or request.protocol is not Protocol.HTTP:
        return None
    if request.body is not None or request.query or any(one.pointer not in _NOT_IN_PARAMETERS for one in case.errors):
        return None
    names = [value for value in case.match.params.values() if value and has_segment(request.path, value)]
    if len(names) != 1 or not case.profile.adapter.tells_places_loosely or error.stated or error.constraint:
        return None
    text = error.message[:_READ]
    is_elsewhere = _ELSEWHERE.search(text) is not None and not _lacks(text, names[0])
    if len(text.split()) < _FEW_WORDS or is_elsewhere or ABSENT.search(text) is not None:
        return None
    if any(place[0] in ("body", "query") for place in description.vocabulary(operation).places):
        return None
    message = (
        "Name another resource, if another one was meant. Else this one has to be changed first: the request has"
        " nothing but"
        " its path, and fits the description, so that the same request is refused again."
    )
    violation = SchemaViolation("/path", "value", {"type": "string"}, request.path)
    question = ask(violation, request, message, schema=schema_of_path(request.path, names[0], {"type": "string"}))
    diagnosis = "The server does not do this to the resource that the path names."
    return Repair(tuple(question.suggestions), question.type, diagnosis, "STATE_REFUSED")


def _lacks(text: str, name: str) -> bool:
    """Whether a sentence says of what the path names that it lacks something: `Flow "a" (ID: 7) has no start`.

    What it lacks is no right of whoever calls.
    """
    ends = [one.end() for one in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
    return any(_HAS_NOT.match(text[end:]) for end in ends) and _OF_THE_CALLER.search(text) is None


_OF_THE_CALLER: Final = re.compile(
    r"(?i)\b(?:credential|token|auth\w*|cookie|session|headers?|log(?:ged)? ?in|sign(?:ed)? ?in|csrf|permi\w+|denied"
    r"|access|rights?|roles?)"
)
_HAS_NOT: Final = re.compile(
    r"(?i)['\"`)\]]{0,3} (?:(?:still |currently |already )?(?:has|have|contains|includes) (?:no|not enough|too few)\b"
    r"|(?:does not|doesn't) (?:\w+ )?(?:have|contain|include)\b|lacks\b|is missing\b)"
)


def _may_be_told(reason: Reason, status: int) -> bool:
    """Whether a status leaves a reason to be the reason."""
    if status == _FORBIDDEN:
        return reason not in _OF_THE_STATUS
    if status == _SERVER_FAULT:
        return reason is not Reason.FIXED
    if status == _GONE:
        return reason is Reason.STATE or reason in _OF_ANY_PATH
    return status in _OF_THE_REQUEST or (status in _OF_THE_PATH and reason in _OF_ANY_PATH)
