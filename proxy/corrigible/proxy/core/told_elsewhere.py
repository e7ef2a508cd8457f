"""Whether a text refuses the value of a member that was sent, and which the description finds nothing wrong with.

Descriptions contradict their servers: where one says that a title is an object, and the server takes a text, each
request has a violation. `Invalid author ID.` is about the author then, and a question for the title is astray.

Knows: one text, what was sent, schema violations. Does not know: rules, suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.adapters.formats.message.names_told import name_as_word
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Protocol, Request

_OF_VALUES: Final = frozenset({"type", "format", "pattern", "minimum", "maximum", "minLength", "maxLength"})
"""Keywords of faults of one value. A name that is not declared may be what a text calls by the name that was meant."""
_REFUSES: Final = re.compile(
    r"(?i)\b(?:invalid|illegal|malformed|bad|wrong|unknown|unsupported|must|should|can ?not|can't|may not"
    r"|not (?:an? )?(?:valid|allowed|permitted|supported|known|found)|(?:does|do)(?: not|n't) exist)\b"
)
"""Words of sentences about a value. Without one a name may stand for what the whole request is about."""
_OF_FORM: Final = re.compile(
    r"(?i)\b(?:types?|string|integer|number|object|array|list|boolean|json|format|schema|parse|body|payload|request)\b"
)
"""Words of sentences that may be about the form of anything."""


def is_told_elsewhere(message: str, violations: Sequence[SchemaViolation], request: Request) -> bool:
    """Whether a text names what was sent, and only such places as are none of the violations, around or inside."""
    if request.protocol is not Protocol.HTTP or not all(one.keyword in _OF_VALUES for one in violations):
        return False
    if _REFUSES.search(message) is None or _OF_FORM.search(message) is not None:
        return False
    named = name_as_word(message, list(sent_places(request)))
    return bool(named) and not any(_is_within(one, other.pointer) for one in named for other in violations)


def _is_within(one: str, other: str) -> bool:
    """Whether one of two places holds the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
