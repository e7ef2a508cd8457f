"""The member of a body that a sentence says was not given, where the description has no member of the body at all.

`Status not specified` is about `status`, and `Member to be added not specified` about `member`. Nothing but the
sentence tells the name, so that it has to be one word, said as not given, of a body that was sent without it.

Knows: one sentence, the body that was sent. Does not know: what is near, what is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from corrigible.adapters.vocabulary import Vocabulary
from corrigible.rules.pointer import escape
from corrigible.rules.safety.decisive import word_set
from corrigible.schema.exchange import Request

_READ: Final = 200
_NOT_GIVEN: Final = re.compile(
    r"(?i)^(?:the |a |an )?['\"`]?(?P<noun>[a-z][a-z0-9_]{1,40})['\"`]?"
    r"(?: (?:for|of|to be) [a-z]+(?: [a-z]+)?)?"
    r" (?:(?:is|was|has) )?not (?:been )?(?:specified|provided|given|supplied)[.!]?$"
)
_NO_MEMBERS: Final = word_set(
    "body payload request content data json object input value parameter field member property argument header token"
    " credentials authorization authentication user permission id path url method file"
) - {"member"}
"""Nouns of sentences about the request as a whole, about who sends it, or about its path."""


def undescribed_lack(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the place of the member that a sentence says was not given, empty where the body is described."""
    body = request.body
    if not isinstance(body, Mapping) or not body or any(len(one) > 1 and one[0] == "body" for one in vocabulary.places):
        return ""
    told = _NOT_GIVEN.match(message[:_READ].strip())
    noun = told["noun"] if told is not None else ""
    if not all(str(name)[:1].isupper() for name in body):
        noun = noun.lower()  # a capital only begins the sentence
    if not noun or noun.lower() in _NO_MEMBERS or any(str(name).lower() == noun.lower() for name in body):
        return ""
    return f"/body/{escape(noun)}"
