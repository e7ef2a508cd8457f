"""The list that was sent, of which a refusal says that some elements do not exist.

`Some tags not found` is not about the resource that the path names. The list is that in the body, of `/flows/7/tags`,
or under the name of `tags`. The server does not name the element, so the caller is asked for the list, unless the list
has one element.

Knows: one sentence, what was sent. Does not know: state, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.safety.nearness import is_plural, letters
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from .api_profile import RefusalCase

_READ: Final = 300
_STATUSES: Final = frozenset({400, 404, 422})
_BE: Final = r"(?:were|was|are|is|could|can|do|does|did|have|has)"
_KIND: Final = (
    r" (?:of )?(?:the |your |these |those )?(?:(?:given|specified|provided|requested|selected|referenced) )?"
    rf"(?P<kind>[a-z]\w{{1,40}}(?: (?!{_BE}\b|not\b|do\w*n't)[a-z]\w{{1,40}})?)(?: (?:ids?|identifiers|names))?"
)
_KINDS: Final = _KIND.replace("?P<kind>", "?P<kinds>", 1)
_IN: Final = r"(?: (?:in|on) (?:the|this|our|that|your) \w{2,40})?"
_SOME: Final = re.compile(
    rf"(?i)(?:some|several|one or more|one of|at least one){_KIND}(?: {_BE}(?: not|n't)| don't| doesn't| not)"
    rf" (?:be )?(?:found|exist|known|there){_IN}[.!]?"
    rf"|(?:some|several|one or more|at least one){_KINDS} (?:is|are) (?:invalid|unknown){_IN}[.!]?"
)
_OF_REFERENCES: Final = re.compile(r"(?:^|_|-)ids$|[a-z]Ids$|[a-z]IDs$")
_NOT_ALL: Final = re.compile(rf"(?i)not all{_KIND}(?: {_BE})? (?:be )?(?:found|exist|known|there)[.!]?")


def absent_of_several(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the list of which some elements are not there, or its only element; None where that is not said."""
    if case.exchange.status not in _STATUSES or error.pointer or len(case.errors) > 1 or not case.match.operation:
        return None
    text = error.message[:_READ].strip()
    told = _SOME.fullmatch(text) or _NOT_ALL.fullmatch(text)
    if told is None:
        return None
    kind = (told.groupdict().get("kind") or told["kinds"]).rpartition(" ")[2]
    lists = dict(_lists(case.request.body))
    named = [place for place, name in lists.items() if is_plural(name, kind) or letters(name) == letters(kind)]
    places = named or [place for place, name in lists.items() if not name or _OF_REFERENCES.search(name) is not None]
    if len(places) != 1:
        return None
    place = places[0]
    value = _at(case.request.body, place)
    if len(value) == 1:
        place, only = f"{place}/0", value[0]
        if isinstance(only, Mapping) and len(only) == 1:
            ((name, only),) = only.items()
            place = f"{place}/{escape(str(name))}"
        if is_secret(place, only):
            return None
        is_plain = isinstance(only, str | int) and not isinstance(only, bool)
        return SchemaViolation(place, "value", {"not": {"const": only}} if is_plain else {}, only)
    return SchemaViolation(place, "value", {"type": "array"}, value)


def _lists(body: Json) -> Iterator[tuple[str, str]]:
    """Yield the lists that a body is or has, with their names."""
    if isinstance(body, list) and body:
        yield "/body", ""
    for name, value in body.items() if isinstance(body, Mapping) else ():
        if isinstance(value, list) and value:
            yield f"/body/{escape(str(name))}", str(name)


def _at(body: Json, place: str) -> list[Json]:
    """Return one of the lists of a body."""
    if isinstance(body, list):
        return body
    listed = {f"/body/{escape(str(name))}": value for name, value in body.items()} if isinstance(body, Mapping) else {}
    value = listed[place]
    return value if isinstance(value, list) else []
