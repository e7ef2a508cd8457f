"""Sentences that deny something of a thing as it is: "Cannot edit a paid invoice", "Only drafts can be confirmed".

| the sentence                                      | the verb                                   |
|---------------------------------------------------|--------------------------------------------|
| "Cannot delete a department that still has staff" | delete                                     |
| "Only active job offers can be edited"            | edit                                       |
| "You can only update pending feedback"            | update                                     |
| "Cannot parse the body"                           | none: it is about how the request is written |

Knows: one sentence. Does not know: requests, what follows.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from .doubt import is_doubtful, sentence
from .own_action import stems

_CANNOT: Final = r"(?:can ?not|can'?t|may not|must not|are not able to)"
_VERB: Final = r"(?P<verb>[a-z]{3,20}?)(?: (?:off|out|up|back))?"
_DENIED: Final = (
    rf"^(?:sorry,? )?(?:(?:you|users?|members?) )?{_CANNOT} {_VERB} (?P<thing>[^.;:(\n]{{2,120}})",
    rf"^(?:sorry,? )?only (?P<thing>[^.;:(\n]{{2,80}}?) (?:can|may) be {_VERB}\b",
    rf"^(?:you )?can only {_VERB} (?P<thing>[^.;:(\n]{{2,120}})",
)
_DENIES: Final = tuple(re.compile(one, re.IGNORECASE) for one in _DENIED)
_OF_TIME: Final = re.compile(r"(?i)\b(?:in the (?:past|future)|past (?:date|time)|future (?:date|time))s?\b")
"""The denial is about a time: the call may succeed at another time."""
_VERBS: Final = (
    "add apply approve archive assign attach ban block book buy cancel capture cast change claim clone close "
    "comment complete confirm connect copy create deactivate delete demote deploy deposit detach disable "
    "duplicate edit enable enroll extend file finalize finish follow fulfill handoff hire invite issue join leave "
    "like link lock mark merge message modify move order pause pay place post promote publish push rate "
    "record redeem refer refund reject release remove rename reopen replace report request reschedule reset "
    "restart restore resume retry return review revoke schedule sell send ship sign start stop submit subscribe "
    "suspend switch terminate transfer unarchive unassign unfollow unlink unlock unpublish unsubscribe update "
    "upgrade vote withdraw "
)
"""What is done to things. Verbs about how a request is written, such as `parse`, `use`, `contain`, are none of them."""
_WRITING: Final = frozenset({"add", "create", "update", "change", "modify", "edit", "order", "copy", "move"})
"""Verbs of any request: that one is not done is no reason, as "Cannot add coupon" gives none."""
_WORD: Final = re.compile(r"\b(?!(?:the|this|that|an|your|more|any|it)\b)[A-Za-z][\w'-]+")
_QUALIFIED: Final = 2
"""Words that tell which things are meant."""
_STEMS: Final = frozenset(stem for verb in _VERBS.split() for stem in stems(verb.removeprefix("re")))


def denies_thing(message: str, verbs: Collection[str] = ()) -> bool:
    """Whether a sentence denies something of a thing, and is not about how the request is written.

    `verbs` are the stems of what the request does.
    """
    text = sentence(message)
    if is_doubtful(text) or _OF_TIME.search(text) is not None:
        return False
    for pattern in _DENIES:
        match = pattern.search(text)
        if match is None:
            continue
        verb, words = match["verb"].lower(), _WORD.findall(match["thing"])
        is_known = not _STEMS.isdisjoint(stems(verb.removeprefix("re"))) or not stems(verb).isdisjoint(verbs)
        if is_known and (verb not in _WRITING or len(words) >= _QUALIFIED):
            return True
    return False
