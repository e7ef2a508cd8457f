"""The field of a gRPC call that was not sent, where a sentence says what it needs or leaves a gap for it.

| the sentence                                        | means                                                |
|-----------------------------------------------------|------------------------------------------------------|
| `no family ""`, `Version  does not exist`           | the only field of that noun that was not sent        |
| `source 's1' requires a format`                     | the same, whatever the sentence says it of           |
| `a graph is required: graph_table or graph_source`  | the fields that are listed                           |
| "missing required `session-id` metadata header"     | the metadata                                         |
| `seal is required with closed crates`               | a field that was not sent, beside the one of `closed` |

Knows: one sentence, what was sent, what the method declares. Does not know: codes, rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from rapidfuzz.distance import Prefix

from corrigible.adapters.vocabulary import ANY, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import escape
from corrigible.rules.safety.decisive import words
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.schema.exchange import Request

from .call_fields import ANYTHING, MOST, given_fields, unset_fields
from .message.sent_values import SentValue, fold

_READ: Final = 500


def left_empty_named(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the only field that was not sent and that a sentence names where its value should be: `no family ""`."""
    read = message[:_READ]
    told = _EMPTY.search(read) or _GAP.match(read) or _NOTHING_BEHIND.match(read)
    noun = words(told["noun"])[-1:] if told is not None else ()
    if not noun or noun[0] in ANYTHING - {"version", "format", "content", "data"}:
        return ""
    found = [one for one in islice(unset_fields(request, vocabulary), MOST) if noun[0] in one.words]
    texts = [one.pointer for one in found if not one.is_message]
    return texts[0] if len(texts) == 1 else ""


_EMPTY: Final = re.compile(r"""(?i)\b(?P<noun>[a-z][\w-]{1,60})[ :=]{1,2}(?:""|''|``)(?![\w'"])""")
_GAP: Final = re.compile(
    r"(?i)\W*(?:\w+ ){0,3}(?P<noun>[a-z]\w{1,60})  (?:was not found|not found|does not exist"
    r"|is (?:unknown|invalid|not valid))\b"
)
"""Two blanks, where a text has an empty value: `Model version  does not exist`."""
_NOTHING_BEHIND: Final = re.compile(r"(?i)\W*(?:\w+ ){0,3}(?P<noun>[a-z]\w{1,60}) (?:was )?not found: ?$")
"""Nothing behind the colon: `Stream not found: `."""


def what_is_required(message: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the only field that a sentence says something requires: one that was not sent, else one that was."""
    told = _REQUIRES.search(message[:_READ])
    noun = words(told["noun"])[-1:] if told is not None else ()
    if not noun or noun[0] in ANYTHING - {"format", "content", "data", "version"}:
        return ""
    for fields in (unset_fields(request, vocabulary), given_fields(sent)):
        found = [one for one in islice(fields, MOST) if noun[0] in one.words]
        whole = [one for one in found if one.words == noun] or found
        if whole:
            return whole[0].pointer if len(whole) == 1 else ""
    return ""


_REQUIRES: Final = re.compile(r"(?i)\b(?:requires|needs) (?:an? |the )?(?P<noun>[a-z]\w{1,60})\W*(?:$|[;,(])")


def place_of_condition(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place whose value a sentence gives as the condition under which something else is required.

    That value is no mistake, so that nothing else is asked for there.
    """
    told = _ON_CONDITION.search(message[:_READ])
    if told is None:
        return ""
    condition = {word.strip("'\"`.,;()").lower() for word in told["condition"].split()}
    spend(len(sent) // _COMPARED_A_STEP)
    texts = (one for one in sent if len(one.path) > 1 and not one.text_place and isinstance(one.value, str))
    found = [one.pointer for one in texts if one.value and str(one.value).lower() in condition]
    return found[0] if len(found) == 1 else ""


def required_beside(message: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the only field that was not sent beside a condition, and that is called nearly as what it requires."""
    told, place = _ON_CONDITION.search(message[:_READ]), place_of_condition(message, sent)
    if told is None or not place:
        return ""
    wanted = [word for word in words(told["what"])[-_MOST_WORDS:] if word not in ANYTHING]
    around = place.rpartition("/")[0]
    unset = [one for one in islice(unset_fields(request, vocabulary), MOST) if one.pointer.rpartition("/")[0] == around]
    for is_match in (str.__eq__, _is_of_one_stem):
        counts = {one.pointer: sum(any(is_match(a, b) for b in one.words) for a in wanted) for one in unset}
        most = max(counts.values(), default=0)
        found = [pointer for pointer, count in counts.items() if count == most] if most else []
        if found:
            return found[0] if len(found) == 1 else ""
    return ""


_ON_CONDITION: Final = re.compile(
    r"(?i)(?:^|[:;,.] ?)(?:an? |the )?(?P<what>[a-z][\w .-]{0,60}?) (?:is|are|must be) "
    r"(?:required|mandatory|needed|set|specified|provided|given)"
    r" (?:with|when|if|where)(?: using)? (?P<condition>[^;:\n]{1,100})"
)
_MOST_WORDS: Final = 6
_COMPARED_A_STEP: Final = 8
_SHORTEST_STEM: Final = 5
_SHARED: Final = 0.7
"""Of the letters of the longer of two words with one stem: `replicate`, `replication`; not `provider`, `provision`."""


def _is_of_one_stem(word: str, other: str) -> bool:
    shared = Prefix.similarity(word, other)
    return shared >= _SHORTEST_STEM and shared >= _SHARED * max(len(word), len(other))


def read_of_nothing(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the only message that was not sent, and that has the member which a program could not read of nothing."""
    told = _OF_NOTHING.search(message[:_READ])
    if told is None:
        return ""
    name = next(filter(None, told.groups()))
    names = {fold(name), fold(re.sub(r"^(?:has|get|is)_?(?=[A-Za-z])", "", name))}
    owners = {path[:-1] for path in vocabulary.places if fold(path[-1]) in names}
    messages = (one for one in islice(unset_fields(request, vocabulary), MOST) if one.is_message)
    found = [one.pointer for one in messages if owners & {one.path, (*one.path, ANY)}]
    return found[0] if len(found) == 1 else ""


_OF_NOTHING: Final = re.compile(
    r"Cannot read propert(?:y|ies) of (?:undefined|null) \(reading '(\w{1,60})'\)"
    r"|Cannot read property '(\w{1,60})' of (?:undefined|null)|'NoneType' object has no attribute '(\w{1,60})'"
)
"""What programs in JavaScript and Python say of a member of what is not there."""


def metadata_missing(message: str, request: Request) -> str:
    """Return the place of the metadata that a sentence misses; what proves who calls is another matter."""
    text = message[:_READ]
    told = _METADATA.search(text) if _MISSED.search(text) is not None else None
    name = next(filter(None, told.groups()), "").lower() if told is not None else ""
    is_session = name.endswith(("session-id", "sessionid"))  # which an earlier call gave: it is asked for
    if not name or name in request.headers or "auth" in name or (is_secret(f"/headers/{name}", "x") and not is_session):
        return ""
    return f"/headers/{escape(name)}"


_METADATA: Final = re.compile(
    r"(?i)['\"`]([a-z][a-z0-9_.-]{2,60})['\"`] (?:in (?:the )?)?(?:grpc )?(?:metadata|header)"
    r"|\b(?:metadata|header)(?: key| field| entry| value)?:? ['\"`]?([a-z][a-z0-9]*(?:-[a-z0-9]+)+)\b"
    r"|\b([a-z][a-z0-9]*(?:-[a-z0-9]+)+) (?:metadata|header)\b"
)
_MISSED: Final = re.compile(
    r"(?i)\b(?:missing|required?|not (?:set|provided|found|present|specified)|without|no|must)\b"
)
