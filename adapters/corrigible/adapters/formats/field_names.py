"""Names of fields as sentences of gRPC services have them: in a list, behind the field around, as a key of a map.

| the sentence                                        | means                                              |
|-----------------------------------------------------|----------------------------------------------------|
| `must provide required parameters: Type, Reason`    | the only one of them that was not sent             |
| `Hour Start is not in range [0-23]`                 | `hour.0.start`, the only `start` inside an `hour`  |
| `no mapping defined for search attribute Custmer`   | the only key of a map that is called so            |
| `parsing "": invalid syntax`                        | the only text that was sent empty                  |

Knows: one sentence, what was sent, what the method declares. Does not know: values in sentences, rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from corrigible.adapters.vocabulary import MOST, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, to_pointer, value_at
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Request

from .message.sent_values import SentValue, fold
from .place_by_path import find_missing

_READ: Final = 500
_MOST_NAMES: Final = 40
_SHORTEST_KEY: Final = 3
_COMPARED_A_STEP: Final = 8
_REQUIRED: Final = re.compile(
    r"(?i)\b(?:required|mandatory|missing)(?: \w+)? (?:parameters?|fields?|arguments?|attributes?|values?"
    r"|propert(?:y|ies)|options?)(?: (?:are|is|missing|not (?:set|provided|given|specified)))*:? (?P<list>\S.{0,300})"
    r"|^\W*(?:all of )?(?P<before>\w[\w.]{0,60}(?:, ?\w[\w.]{0,60}){0,6},? (?:and|or) \w[\w.]{0,60})"
    r" (?:are|must be|need to be|have to be|should be|fields? are|parameters? are) (?:all |both )?"
    r"(?:required|set|provided|given|specified|mandatory|non-?empty)\b"
)
_CHOICE: Final = re.compile(r"(?i)\b(?:one of|either|at least|or)\b|[({;]")
"""Behind it come fields of which some will do."""
_NAME: Final = re.compile(r"[A-Za-z_][\w.]{0,60}")
_EMPTY: Final = re.compile(r"(?<![\w'\"`])(?:\"\"|''|``)(?![\w'\"`])")


def required_of_list(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the only field that was not sent of those that a sentence lists as required."""
    told = _REQUIRED.search(message[:_READ])
    if told is None:
        return ""
    listed_names = _CHOICE.split(told["list"] or told["before"], maxsplit=1)[0]
    names = [fold(one) for one in _NAME.findall(listed_names)][:_MOST_NAMES]
    declared = {fold(path[1]): path for path in vocabulary.places if len(path) == 2 and path[0] == "body"}
    spend(len(names))
    listed = [to_pointer(declared[name]) for name in dict.fromkeys(names) if name in declared]
    unset = [place for place in listed if value_at(request, place) in (MISSING, None, "")]
    return unset[0] if len(unset) == 1 and len(listed) > 1 else ""


def nested_name(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place whose name a sentence has right behind the name of the field around it."""
    text = _SEPARATORS.sub(" ", message[:_READ]).lower()
    together = text.replace(" ", "")
    spend(len(sent) // _COMPARED_A_STEP)
    found: dict[str, SentValue] = {}
    patterns: dict[str, bool] = {}
    for one in sent:
        if len(one.path) < 3 or one.path[-1].isdecimal() or one.folded[-1] not in together:
            continue
        names = [name for name in one.path if not name.isdecimal()]
        if len(names) < 3:
            continue
        spend()
        phrase = " ".join((*words(names[-2]), *words(names[-1])))
        if phrase not in patterns:
            if len(patterns) >= _MOST_NAMES:
                return ""
            patterns[phrase] = phrase in text and re.search(rf"(?<![\w]){re.escape(phrase)}(?!\w)", text) is not None
        if patterns[phrase]:
            found[one.pointer] = one
    innermost = [place for place in found if not any(other.startswith(f"{place}/") for other in found)]
    return innermost[0] if len(innermost) == 1 else ""


def nested_missing(phrase: Sequence[str], request: Request, vocabulary: Vocabulary) -> str:
    """Return the only field that was not sent and that a phrase ends in, behind the field around: `plan kind`."""
    for start in range(max(0, len(phrase) - _MOST_WORDS), len(phrase) - 1):
        for middle in range(start + 1, len(phrase)):
            tail = ["".join(phrase[start:middle]), "".join(phrase[middle:])]
            if place := find_missing("body", tail, request, vocabulary):
                return place
    return ""


_MOST_WORDS: Final = 4
_SEPARATORS: Final = re.compile(r"[\s._\[\]'\"`/-]+|(?<=[a-z])(?=[A-Z])")


def map_key(message: str, sent: Sequence[SentValue], vocabulary: Vocabulary) -> str:
    """Return the only entry of a map whose key, which the caller chose, is a word of a sentence.

    A message has no names but the declared ones, and the keys of its maps.
    """
    if not vocabulary.places or len(vocabulary.places) >= MOST:
        return ""
    declared = {fold(path[-1]) for path in vocabulary.places}
    text = message[:_READ]
    keys = [
        one
        for one in islice(sent, _MOST_KEYS)
        if len(one.path) > 2 and len(one.path[-1]) >= _SHORTEST_KEY and one.path[-1] in text
    ]
    spend(len(vocabulary.places) // _COMPARED_A_STEP + len(keys))
    told = [
        one.pointer
        for one in keys
        if one.folded[-1] not in declared
        and not one.path[-1].isdecimal()
        and re.search(rf"(?<![\w.-]){re.escape(one.path[-1])}(?![\w-]|\.\w)", text) is not None
    ]
    return told[0] if len(told) == 1 else ""


_MOST_KEYS: Final = 500


def blank_told(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only text that was sent empty, where a sentence quotes an empty one."""
    if _EMPTY.search(message[:_READ]) is None:
        return ""
    blank = [one.pointer for one in sent if one.value == ""]
    return blank[0] if len(blank) == 1 else ""


def field_quoted(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only field that was sent and whose name a sentence has in quotes: `'cell_id' is not supported`."""
    quoted = {fold(one) for one in _QUOTED.findall(message[:_READ])}
    found = [one.pointer for one in sent if one.path and one.folded[-1] in quoted]
    return found[0] if len(found) == 1 else ""


_QUOTED: Final = re.compile(r"['\"`]([A-Za-z_]\w{0,60})['\"`]")
