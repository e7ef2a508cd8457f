"""Sentences that deny something of a thing as it is: "Cannot edit a paid invoice", "Only drafts can be confirmed".

| the sentence                                      | the verb | what it is denied of         |
|---------------------------------------------------|----------|------------------------------|
| "Cannot delete a department that still has staff" | delete   | department, staff            |
| "Only active job offers can be edited"            | edited   | active, job, offer           |
| "You can only update pending feedback"            | update   | pending, feedback            |
| "Cannot follow yourself"                          | follow   | nothing but the caller       |
| "Cannot parse the body"                           | (none: it is about how the request is written) |

Knows: one sentence. Does not know: requests, what follows.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .own_action import stems
from .state_wording import is_doubtful, sentence


class DeniedThing(NamedTuple):
    """What a sentence denies."""

    verb: str
    words: frozenset[str]
    """The words of what it is denied of, as they stand."""
    is_of_caller: bool
    """Whether that is whoever calls, or theirs."""


_CANNOT: Final = r"(?:can ?not|can'?t|may not|must not|could not|are not able to)"
_VERB: Final = r"(?P<verb>[a-z]{3,20}?)(?: (?:off|out|up|back))?"
_DENIED: Final = (
    rf"^(?:sorry,? )?(?:(?:you|users?|members?) )?{_CANNOT} {_VERB} (?P<thing>[^.;:(\n]{{2,120}})",
    rf"^(?:sorry,? )?only (?P<thing>[^.;:(\n]{{2,80}}?) (?:can|may) be {_VERB}\b",
    rf"^(?:you )?can only {_VERB} (?P<thing>[^.;:(\n]{{2,120}})",
)
_DENIES: Final = tuple(re.compile(one, re.IGNORECASE) for one in _DENIED)
_OF_CALLER: Final = re.compile(r"(?i)\b(?:yourself|your own|your only|themselves|themself|oneself)\b")
_OF_TIME: Final = re.compile(r"(?i)\b(?:in the (?:past|future)|past (?:date|time)|future (?:date|time))s?\b")
"""Another time may do."""
_WORD: Final = re.compile(r"[a-z][a-z-]{2,}")
_VERBS: Final = (
    "add apply approve archive assign attach ban block book buy cancel capture cast change claim clone close "
    "comment complete confirm connect copy create deactivate delete demote deploy deposit detach disable "
    "duplicate edit enable enroll extend file finalize finish follow fulfill handoff hire invite issue join leave "
    "like link lock mark merge message modify move order pause pay place post process promote publish push rate "
    "record redeem refer refund reject release remove rename reopen replace report request reschedule reset "
    "restart restore resume retry return review revoke schedule sell send ship sign start stop submit subscribe "
    "suspend switch terminate transfer unarchive unassign unfollow unlink unlock unpublish unsubscribe update "
    "upgrade vote withdraw "
)
"""What is done to things. Verbs about how a request is written, such as `parse`, `use`, `contain`, are none of them."""
_STEMS: Final = frozenset(stem for verb in _VERBS.split() for stem in stems(verb.removeprefix("re")))


def denied_thing(message: str) -> DeniedThing | None:
    """Return what a sentence denies of a thing; None where it may be about how the request is written."""
    text = sentence(message)
    if is_doubtful(text) or _OF_TIME.search(text) is not None:
        return None
    for pattern in _DENIES:
        match = pattern.search(text)
        if match is not None and not _STEMS.isdisjoint(stems(match["verb"].lower().removeprefix("re"))):
            thing = match["thing"]
            found = frozenset(_WORD.findall(thing.lower()))
            return DeniedThing(match["verb"].lower(), found, _OF_CALLER.search(thing) is not None)
    return None
