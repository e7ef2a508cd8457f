"""Sentences that deny what a request does: "Alarms cannot be silenced" where it is sent to `/alarms/{id}/silence`.

Which verbs there are is not listed: the request tells which one is meant, by its method, the end of its path, and the
name of its operation. Forms of verbs are compared by their stems.

| what the request does                    | is denied by the verb alone                    | why                    |
|------------------------------------------|------------------------------------------------|------------------------|
| takes away, or has a verb: `/jobs/1/run` | yes                                            | it sends few values    |
| creates, or changes                      | only with a reason: "since it has been locked" | a value may be refused |

Knows: sentences, what a request does. Does not know: descriptions, what follows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple

from corrigible.rules.safety.nearness import is_plural, is_same

from .doubt import is_doubtful, sentence
from .state_wording import Reason, told_reason

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TAKING_AWAY: Final = ("delete", "remove", "destroy")
_CHANGING: Final = ("update", "change", "modify", "edit", "set")
_CREATING: Final = ("create", "add", "register", "make", "new", "save", "put", "post")
_READING: Final = ("get", "list", "show", "read", "view", "fetch", "find", "search", "query", "check", "validate")
_BY_METHOD: Final = {"DELETE": _TAKING_AWAY, "PUT": _CHANGING, "PATCH": _CHANGING, "POST": _CREATING}
_SHORTEST: Final = 3
_IRREGULAR: Final = {
    "sent": "send", "ran": "run", "shrunk": "shrink", "begun": "begin", "undone": "undo", "bound": "bind",
    "frozen": "freeze", "held": "hold", "sold": "sell", "withdrawn": "withdraw", "taken": "take", "written": "write",
    "left": "leave", "made": "make", "paid": "pay", "rebuilt": "rebuild", "built": "build", "sought": "seek",
    "bought": "buy", "shown": "show", "given": "give", "chosen": "choose", "split": "split", "lent": "lend",
}  # fmt: skip
_REVERSED: Final = re.compile(r"(?:un|de|dis)-?(?P<base>[a-z]{3,})")


class RequestAction(NamedTuple):
    """What a request does, as stems of verbs."""

    own: frozenset[str]
    """Verbs for which no other value of the request is needed: `/jobs/1/resume`, DELETE."""
    writing: frozenset[str]
    """Verbs of requests whose values are what is written."""

    @property
    def reversed(self) -> frozenset[str]:
        """The verbs whose result the own ones undo: "mute" for "unmute"."""
        return frozenset(match["base"] for one in self.own if (match := _REVERSED.fullmatch(one)) is not None)


class Denial(NamedTuple):
    """One way to say that what a request does is not done: a word in the place of the verb is its verb."""

    reason: Reason
    pattern: str
    example: str
    path: str
    """What the example was told for."""
    is_hindered: bool = False
    """Whether the sentence tells what hinders it: then it may be a verb of writing, too."""
    of_reversed: bool = False
    behind: str = ""
    """What has to come before it in the sentence."""


_CANNOT: Final = r"(?:can ?not|can'?t|may not|must not)(?: currently| yet| now)?"
_REFUSED: Final = r"(?:allowed|permitted|possible|available|supported|enabled)"
_VERB: Final = "([a-z]{3,20})"
"""The only kind of group in the patterns."""
_HINDRANCE: Final = (
    r"(?:(?:while|since|because|as|until|unless|when|after|once) (?:it|they|he|(?:(?:the|this|its|all|another|an?) )?"
    r"(?:[\w-]+ ){1,5}?)(?:is|are|has|have|was|were|been|being)\b|at (?:runtime|this time)\b"
    r"|(?:before|during) (?:[\w-]+ ){0,2}\w*(?:up|ion)\b)"
)

DENIALS: Final = (
    Denial(
        Reason.RIGHT,
        rf"\bonly (?:[\w'-]+ ){{1,5}}(?:can|may|is allowed to|are allowed to) {_VERB}\b"
        rf"|\byou (?:may|can) only {_VERB} your own\b"
        rf"|\b(?:access|permissions?|rights?|role|login) (?:is |are )?(?:required|needed) (?:to|for) {_VERB}\b",
        "Only real users can execute tools or run jobs.",
        "POST /tools/{id}/execute",
        is_hindered=True,
    ),
    Denial(
        Reason.STATE,
        rf"\b{_CANNOT} (?:be )?{_VERB}\b.{{0,80}}?\b{_HINDRANCE}"
        rf"|^{_VERB}\b.{{1,80}}?\b{_HINDRANCE}.{{0,60}}\b(?:is|are) (?:not|n't) {_REFUSED}\b",
        "Snapshots cannot be created for share s1 since it has been soft deleted.",
        "POST /snapshots",
        is_hindered=True,
    ),
    Denial(
        Reason.STATE,
        rf"\balready (?:been )?(?:being )?{_VERB}\b(?! (?:for|to|with|by|in|on|as)\b)"
        rf"|\b(?:is|are) (?:not )?(?:currently )?being {_VERB}\b"
        rf"|\b(?:was|were|has been|have been) recently {_VERB}\b",
        "The alarm is already silenced or acknowledged",
        "POST /alarms/{id}/silence",
    ),
    Denial(
        Reason.STATE,
        rf"\b(?:is|are|was|were|has|have)(?: not|n't| never)(?: been| currently| yet)* {_VERB}\b",
        "The channel is not muted.",
        "POST /channels/{id}/unmute",
        of_reversed=True,
    ),
    Denial(
        Reason.STATE,
        rf"\b(?:before|to be|to|when attempting to|when|for) {_VERB}\b",
        "Wait for the current response to finish before forking.",
        "POST /chats/{id}/fork",
        behind=r"\b(?:no|nothing|(?:must|needs? to|has to|have to) (?:not )?be|wait for|(?:status|state) must)\b",
    ),
    Denial(
        Reason.FIXED,
        rf"\b{_CANNOT} (?:be )?{_VERB}\b|\b(?:unable|not (?:currently )?(?:able|{_REFUSED})) to (?:be )?{_VERB}\b"
        rf"|\bnot be {_VERB}\b",
        "Alarm cannot be silenced!",
        "POST /alarms/{id}/silence",
    ),
    Denial(
        Reason.FIXED,
        rf"^(?:[\w-]+ ){{0,2}}?{_VERB}\b(?:(?: (?:of|on|for|in|by|an?|the|this) | )[\w ()'-]{{1,80}}?)?"
        rf" (?:is |are |was )?(?:currently )?(?:(?:not|n't) {_REFUSED}|denied|forbidden|prohibited|refused"
        rf"|disallowed)\b"
        rf"|\bdoes(?: not|n't) (?:support|allow|permit) {_VERB}\b",
        "Restoring incomplete snapshot is not supported.",
        "POST /snapshots/{id}/restore",
    ),
)
_DENIED: Final = re.compile(rf"(?i)\b{_CANNOT} (?:be )?{_VERB}\b")
_PASSIVE: Final = re.compile(rf"(?i)\b{_CANNOT} be \w")
_HINDERED: Final = re.compile(rf"(?i)\b{_HINDRANCE}")
_OF_VALUES: Final = re.compile(
    r"(?i): \S|\bmore than\b|\bat once\b|\bmultiple\b|\bexpected\b|\bbut got\b|\bwithout\b|\bwith (?:an?|that|this)\b"
    r"|\bfrom (?:an?|that|this)\b|\bfailed\b|\berror\b|\bwhen an?\b|\byou sent\b|\busing\b"
)
"""Words of sentences about what was sent with the action, or about a fault: the reason may be told behind a colon."""
_NOT_ALLOWED: Final = re.compile(r"(?i)(?:sorry,? )?not (?:allowed|permitted|authori[sz]ed)[.!]?")
_STATUS_MUST: Final = re.compile(r"(?i)\b(?:status|state) must (?:not )?be\b")
_OF_THE_RESOURCE: Final = re.compile(
    r"(?i)\b(?:is|are) (?:not|n't) (?:currently )?(?:available|enabled|accessible"
    r"|applicable)\b|^(?:the |this )?(?:[\w-]+ ){1,4}(?:has|have|contains?) no [\w-]+\b"
)
"""Sentences about a resource that say so only where the request has nothing but the path of it."""


def action_of(method: str, literals: Iterable[str], operation: str) -> RequestAction:
    """Return what a request does.

    `literals` are the parts of its path behind the last name: none of a collection or of one resource.
    """
    last = [word for part in literals for word in _words(part)]
    named = [word for word in _words(operation)[:4] if word not in _READING]
    weak = {*_CHANGING, *_CREATING}
    by_method = _BY_METHOD.get(method, ())
    strong = {*last, *(named if last or method == "DELETE" else named[:1])}
    if method == "DELETE":
        strong |= set(_TAKING_AWAY)
    writing = {*by_method, *strong} & weak if method != "DELETE" else set()
    return RequestAction(_stems(strong - weak - set(_READING)), _stems(writing))


def denied_reason(message: str, action: RequestAction, *, sends_values: bool = True) -> Reason | None:
    """Return why a request is refused, where a message denies the very thing that it does; None where it does not.

    `sends_values` is false if the request has nothing but its path: what is said of a resource is said of that.
    """
    text = sentence(message)
    if not sends_values and _STATUS_MUST.search(text) is not None:
        return Reason.STATE
    if not sends_values and _NOT_ALLOWED.fullmatch(text) is not None:
        return Reason.RIGHT
    if is_doubtful(text):
        return None
    for denial in DENIALS:
        verbs = action.reversed if denial.of_reversed else action.own
        if denial.is_hindered:
            verbs = verbs | action.writing
        elif _OF_VALUES.search(text) is not None:
            continue
        if any(not verbs.isdisjoint(stems(word)) for word in _verbs(denial, text)):
            return denial.reason
    if not sends_values and _OF_THE_RESOURCE.search(text) is not None:
        return Reason.STATE
    return None


def reason_of_call(message: str, method: str) -> Reason | None:
    """Return why a gRPC call is refused, where a message says that this is about no value; None where it does not.

    `method` is its full name: the first word is what the call does.
    """
    action = action_of("POST", _words(method.rpartition("/")[2])[:1], "")
    for text in _unwrapped(message):
        reason = told_reason(text)
        if reason is Reason.FIXED and denies_another(text, action):
            reason = None
        if reason := reason or denied_reason(text, action):
            return reason
    return None


_WRAPPED: Final = re.compile(
    r"(?i)(?:failed|failure|unable|could not|couldn't|cannot|can't|error|rejected|rejecting|refused)\b"
    r"[^:\n]{0,80}: (?=\S)"
)
"""What failed, before the reason: `failed to remove node: cannot remove the only member`."""


def _unwrapped(message: str) -> Iterator[str]:
    """Yield a sentence, and what is behind each part of it that only says what failed."""
    yield message
    for _ in range(_MOST_WRAPPED):
        if (wrapped := _WRAPPED.match(message)) is None:
            return
        message = message[wrapped.end() :]
        yield message


_MOST_WRAPPED: Final = 3


def denies_another(message: str, action: RequestAction) -> bool:
    """Whether a message denies something else than what the request does: "cannot close the file" for an upload.

    What cannot be changed may be a member alone: "The name cannot be changed" says nothing of the other values.
    """
    text = sentence(message)
    denied = {word for match in _DENIED.finditer(text) for word in match.groups() if word}
    if not denied or any(not action.own.isdisjoint(stems(word)) for word in denied):
        return False
    if all(action.writing.isdisjoint(stems(word)) for word in denied):
        return True
    return _PASSIVE.search(text) is not None and _HINDERED.search(text) is None


def is_told_as_done(message: str, action: RequestAction, kinds: Collection[str], names: Collection[str]) -> bool:
    """Whether a message says that what the request does has been done already to what it names, and nothing else.

    `kinds` are the words that its path has for what is acted on, `names` what stands for that: "The order 9 has
    already been refunded" says nothing of order 7, nor does "The parent order".
    """
    match = _DONE.fullmatch(sentence(message))
    if match is None or action.own.isdisjoint(stems(match["verb"])):
        return False
    subject = [word.strip("'\"`#()[]:,") for word in (match["subject"] or "").split()]
    kind = " ".join(word for word in subject if word not in names)
    if len(subject) - len(kind.split()) > 1:
        return False
    return not kind or kind.lower() in _ANY_KIND or any(is_same(kind, one) or is_plural(kind, one) for one in kinds)


_DONE: Final = re.compile(
    r"(?i)(?:(?:the|this|that|your) )?(?P<subject>[^.;,]{1,160}? )??(?:(?:is|has|was) )?already (?:been )?"
    r"(?P<verb>[a-z]{3,20}(?:ed|en))[.!]?"
)
_ANY_KIND: Final = frozenset({"it", "this", "resource", "item", "object", "record", "entity", "one"})


def stems(word: str) -> frozenset[str]:
    """Return the stems that a form of a verb may have: "silencing" and "silenced" have that of "silence"."""
    word = word.lower()
    if word in _IRREGULAR:
        return frozenset({_base(_IRREGULAR[word])})
    found = {_base(word)}
    for ending in ("ing", "ed", "d", "es", "s", "ation", "ion", "al"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            found.add(_base(word[: -len(ending)]))
    return frozenset(found)


def _base(word: str) -> str:
    """Return a verb without what changes at its end: stop(p)ed, silenc(e)ing, appl(y)ied."""
    if word.endswith("e"):
        word = word[:-1]
    if word.endswith("y"):
        return f"{word[:-1]}i"
    is_doubled = len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "aeious"
    return word[:-1] if is_doubled else word


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem for word in words if len(word) >= _SHORTEST for stem in stems(word))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _verbs(denial: Denial, text: str) -> Iterator[str]:
    """Yield the words of a text in the places of the verb."""
    cue = _compiled(denial.behind).search(text)
    if cue is not None:
        for match in _compiled(denial.pattern).finditer(text, cue.end()):
            yield from (word for word in match.groups() if word)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
