"""The value that the text of a refusal hints at without its name.

| the text                                          | the value                                       |
|---------------------------------------------------|-------------------------------------------------|
| states a limit: `at least 8 characters`            | the only one that breaks it                     |
| has a value that was sent as a word of its own    | that                                            |
| is about the past, the future or an overlap       | the only time that was sent, of several the first |
| says what alone is taken: `Only HTTPS URLs are supported` | the only one of that name, or the only text |
| refuses something, and says not what              | the only value that was sent, if the path has none |

It is good for a question, and comes after all that knows more.

Knows: a refusal. Does not know: descriptions, look-ups, rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.adapters.formats.message.complaint import told_state
from corrigible.adapters.formats.message.sent_values import SentValue
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.nearness import is_plural, is_same
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Protocol

from .about_what import ABOUT_ABSENCE, REFUSES_VALUE
from .api_profile import RefusalCase
from .state_reader import repeats

_READ: Final = 300
_STATUSES: Final = frozenset({400, 409, 422})
_CONFLICT: Final = 409
_MOST: Final = 60
_DISTINCT: Final = 6
"""Letters of a value that no text has by chance."""
_OF_OTHERS: Final = re.compile(
    r"(?i)\b(?:credential\w*|token|auth\w*|headers?|log ?in|permi\w+|denied|forbidden|missing|required?)\b"
)
"""Words of complaints about something else than a value that was sent."""
_OF_TIME: Final = re.compile(
    r"(?i)\b(?:in the (?:past|future)|past (?:dates?|times?)|(?:earlier|later|before|after) (?:than )?(?:or equal "
    r"(?:to )?)?(?:the )?(?:current|today|now|present)|overlap\w*|(?:time ?slot|slot|time|date|period) (?:is |has "
    r"|was )?(?:already |no longer |not )\w+|too (?:early|late|far)"
    r"|(?:different|another|valid|later|earlier|future|past) (?:date|time|day)|double[- ]booked)\b"
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_ONLY: Final = re.compile(
    r"(?i)^(?:sorry,? )?(?:currently,? )?only (?P<what>[^.;:\n]{2,80}?) (?:is|are) (?:currently )?"
    r"(?:supported|allowed|accepted|permitted|valid)\b"
)
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z-]+")


def hinted_value(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the value that a text hints at; None where that is nothing or several."""
    request, message = case.request, error.message[:_READ]
    if case.exchange.status not in _STATUSES or request.protocol is not Protocol.HTTP or not case.match.operation:
        return None
    if error.pointer or len(case.errors) > 1 or _OF_OTHERS.search(message) is not None:
        return None
    spend()
    sent = [one for one in list(sent_places(request))[:_MOST] if one.path[:1] != ("path",)]
    in_path = any(repeats(message, value) for value in case.match.params.values())
    found = _breaking(error, sent) or (None if in_path else _repeated(message, sent))
    found = found or _time(message, sent) or _kind(message, sent) or _only(case, message, sent)
    if found is None or is_secret(found.pointer, found.value):
        return None
    wanted = dict(error.stated) if error.stated else {"not": {"const": found.value}}
    return SchemaViolation(found.pointer, "value", wanted, found.value)


def _breaking(error: Violation, sent: Sequence[SentValue]) -> SentValue | None:
    """Return the only value that breaks the limit that an error states."""
    limits = {name: limit for name, limit in error.stated.items() if name in _LIMITS}
    if not limits:
        return None
    plain = [one for one in sent if isinstance(one.value, str | int | float) and not isinstance(one.value, bool)]
    broken = [one for one in plain if first_violation(one.value, limits) is not None]
    return broken[0] if len(broken) == 1 else None


_LIMITS: Final = frozenset({"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


def _repeated(message: str, sent: Sequence[SentValue]) -> SentValue | None:
    if told_state(message) is not None:
        return None  # it may say of it what no other value mends
    told = [one for one in sent if isinstance(one.value, str) and one.value and repeats(message, one.value)]
    return told[0] if len(told) == 1 and len(str(told[0].value)) >= _DISTINCT else None


def _time(message: str, sent: Sequence[SentValue]) -> SentValue | None:
    if _OF_TIME.search(message) is None:
        return None
    times = [one for one in sent if isinstance(one.value, str) and _TIME.fullmatch(one.value)]
    return times[0] if times else None


def _kind(message: str, sent: Sequence[SentValue]) -> SentValue | None:
    only = _ONLY.search(message)
    if only is None or not (kinds := _KIND.findall(only["what"])):
        return None
    texts = [one for one in sent if isinstance(one.value, str)]
    named = [one for one in texts if any(_is_kind(kinds[-1], word) for word in words(str(one.path[-1])))]
    meant = named or texts
    return meant[0] if len(meant) == 1 else None


def _only(case: RefusalCase, message: str, sent: Sequence[SentValue]) -> SentValue | None:
    """Return the only value that was sent, where a text refuses something: nothing else can be meant by it."""
    is_elsewhere = _OF_THE_SERVER.search(message) is not None or ABOUT_ABSENCE.search(message) is not None
    if case.exchange.status == _CONFLICT or REFUSES_VALUE.search(message) is None:
        return None
    if case.match.params or is_elsewhere or len(message.split()) < _FEW_WORDS or told_state(message) is not None:
        return None
    if _QUOTED.search(message) is not None:
        return None  # it names what is meant, and that was not found in what was sent
    values = [one for one in sent if isinstance(one.value, str | int | float) and not isinstance(one.value, bool)]
    return values[0] if len(values) == 1 and values[0].path[:1] == ("body",) and values[0].value != "" else None


_QUOTED: Final = re.compile(r"['\"`][^'\"`\n]{1,80}['\"`]")
_FEW_WORDS: Final = 3
_OF_THE_SERVER: Final = re.compile(
    r"(?i)\b(?:fail\w*|errors?|unable|could(?:n't| not)|internal|try again|unavailable|time[d ]?out|exception"
    r"|unexpected\w*|not (?:installed|implemented|configured|found|exist)|connection|no such|no value|method|route|path"
    r"|json|syntax|parse\w*|body|media|content[ -]type)\b"
)
"""Words of what is no value's fault, or not known to be."""


def _is_kind(kind: str, word: str) -> bool:
    return is_same(kind, word) or is_plural(kind, word)
