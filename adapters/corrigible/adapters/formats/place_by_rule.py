"""The only value of a request that breaks the rule which a sentence gives without a place.

| the sentence                                      | what is meant                                                   |
|---------------------------------------------------|-----------------------------------------------------------------|
| `names must match [a-z][a-z0-9]*`                 | the only text under a `name` that does not                      |
| `repository name must be lowercase`               | the only text of the request that has a capital letter          |
| `name and positive size number are required`      | the only `size` that is zero or less: which one, nobody knows   |

Knows: sentences, the texts and numbers that were sent. Does not know: what is declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import re2

from corrigible.adapters.formats.message.sent_values import SentValue
from corrigible.rules.budget import spend
from corrigible.rules.pattern import compiled
from corrigible.rules.safety.decisive import words
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

_READ: Final = 1000
_MATCHES: Final = re.compile(
    r"(?i)\b(?P<name>[a-z]{2,30}?)s? (?:must|should|have to|has to) match(?: the (?:pattern|regex|regular expression))?"
    r" ['\"`]?(?P<pattern>\^?\[[^\s'\"`]{2,200}?)['\"`]?(?=[:;,.]?(?:\s|$))"
)
_LOWER: Final = re.compile(r"(?i)\b(?:must|should|has to) be (?:in )?(?:all )?lower[ -]?case\b")
_POSITIVE: Final = re.compile(r"(?i)\bpositive (?P<name>[a-z]\w{2,40})(?: numbers?| integers?| values?)?\b")
_CAPITAL: Final = re.compile(r"[A-Z]")
_MOST: Final = 200


def place_by_rule(error: Violation, sent: Sequence[SentValue]) -> Violation:
    """Return the error at the only value that breaks the rule of its sentence; the same error if that is not sure."""
    message = error.message[:_READ]
    texts = [(one, one.value) for one in sent[:_MOST] if isinstance(one.value, str) and len(one.path) > 1]
    spend(len(texts))
    if (rule := _MATCHES.search(message)) is not None:
        breaking = list(_not_matching(rule["name"].lower(), rule["pattern"], texts))
        stated = {"pattern": f"^(?:{rule['pattern'].strip('^$')})$"}
    elif _LOWER.search(message) is not None:
        breaking = [one for one, text in texts if one.path[0] != "headers" and _CAPITAL.search(text) is not None]
        stated = {"pattern": "^[^A-Z]*$"}
    elif (rule := _POSITIVE.search(message)) is not None:
        named = [one for one in sent[:_MOST] if len(one.path) > 1 and words(str(one.path[-1])) == words(rule["name"])]
        places = [one.pointer for one in named if _is_not_positive(one.value)]
        return error.at(places[0], "exclusiveMinimum", {"exclusiveMinimum": 0}) if len(places) == 1 else error
    else:
        return error
    return error.at(breaking[0].pointer, "pattern", stated) if len(breaking) == 1 else error


def _is_not_positive(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= 0


def _not_matching(name: str, pattern: str, texts: Sequence[tuple[SentValue, str]]) -> Iterator[SentValue]:
    try:
        rule = compiled(pattern)
    except re2.error:
        return
    for one, text in texts:
        if words(str(one.path[-1]))[-1:] == (name,) and text and rule.fullmatch(text) is None:
            yield one
