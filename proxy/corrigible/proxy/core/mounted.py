"""The base path that an API is mounted at, where its description does not name it and a refusal proves it.

A server that finds something wrong with a declared value has a route for the path: if only the beginning of the path is
not in the description, the API is mounted there. Beginnings that are no common words may be somebody's own, and prove
nothing. Nor does a refusal that names no declared value: many servers refuse a request before they look for a route, so
that a caller could have any beginning believed, for all callers.

Knows: profiles, paths, statuses, which places errors are at. Does not know: rules, what is wrong with the request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from corrigible.adapters.bodies.answer import read_answer
from corrigible.adapters.operation import COMMON_BASE, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import segments
from corrigible.rules.safety.nearness import is_slip
from corrigible.schema.exchange import Exchange, Protocol, Request

from .api_profile import ApiProfile, MatchedOperation, parse_errors
from .document_size import measured, readable
from .limits import Limits

_BAD_REQUEST: Final = 400
_FOUND: Final = frozenset({409, 412, 422})
"""Statuses of what was found, whatever is wrong with it. 401, 403, 405 and 415 may be said of any path."""
_TEMPLATES_A_STEP: Final = 16
_LARGEST: Final = 8 << 10
"""Bytes of an answer that may prove something: what is larger is read once, and not for this."""
_MOST_VALUES: Final = 500
"""Of a request, and of an answer."""
_SHORTEST_SLIP: Final = 4
_WORD: Final = re.compile(r"[\w-]+")


def mounted(profiles: Sequence[ApiProfile], exchange: Exchange, limits: Limits) -> tuple[ApiProfile, ...] | None:
    """Return the profiles, one of them below its base path; None where the refusal of an unknown path proves none.

    What would prove it of several of them proves it of none.
    """
    request = exchange.request
    is_read = exchange.status == _BAD_REQUEST and not isinstance(request.body, str)  # else any path is refused so
    if request.protocol is not Protocol.HTTP or (exchange.status not in _FOUND and not is_read):
        return None
    bases = {
        number: base for number, profile in enumerate(profiles) if (base := _proven_base(profile, exchange, limits))
    }
    if len(bases) != 1:
        return None
    ((number, base),) = bases.items()
    below = profiles[number].below(base)
    if below is not None and base != base.lower():
        # Where case does not count, one caller's capitals are not how all others write it.
        below = below.below(base.lower())
    return None if below is None else (*profiles[:number], below, *profiles[number + 1 :])


def operation_below(profiles: Sequence[ApiProfile], request: Request) -> str:
    """Return the operation of a request below a base path that may be learned, empty where there is none.

    Another process may have learned it, and called the operation so.
    """
    found = (below[1].operation for profile in profiles if (below := _below_base(profile, request)) is not None)
    return next(found, "")


def _below_base(profile: ApiProfile, request: Request) -> tuple[str, MatchedOperation] | None:
    """Return the base path before a path that names nothing, and the operation below it."""
    description = profile.description
    if description is None or any(description.operations.base_paths()):
        return None
    spend(len(description.operations.names) // _TEMPLATES_A_STEP)
    base, _ = description.operations.base_of(request.path) or ("", "")
    if not COMMON_BASE.fullmatch(base) or not request.path.startswith(f"{base}/"):
        return None
    rest = request.path[len(base) :]
    name, params = description.operations.find(request.method, rest) or ("", {})
    if not name or len(params) > rest.strip("/").count("/"):
        return None
    return base, MatchedOperation(profile, name, params)


def _proven_base(profile: ApiProfile, exchange: Exchange, limits: Limits) -> str:
    """Return the base path that a refusal proves for an API, empty where it proves none."""
    base, match = _below_base(profile, exchange.request) or ("", None)
    return base if match is not None and _names_declared(match, exchange, limits) else ""


def _names_declared(match: MatchedOperation, exchange: Exchange, limits: Limits) -> bool:
    """Whether an answer is about a value that the operation declares, or about a misspelling of its name.

    Words of the path, the query and the headers do not count: a server may repeat what it does not know.
    """
    if len(exchange.body) > _LARGEST or measured(exchange.request.body, limits).values > _MOST_VALUES:
        return False
    content = read_answer(exchange.headers, exchange.body).content
    size = measured(content, limits)
    if size.is_over(limits) or size.values > _MOST_VALUES:
        return False
    errors = parse_errors(match, exchange, readable(content, limits))[: limits.errors]
    told = [one.pointer for one in errors if not one.likely or one.likely[0].is_told]
    places = [segments(one) for one in told if one.startswith(("/body/", "/query/"))]
    if not places or match.profile.description is None:
        return False
    declared = _names(match.profile.description.vocabulary(match.operation))
    repeatable = _repeatable(exchange.request)
    spend(len(places) * len(declared))
    return any(
        name not in repeatable and (name in declared or any(_is_misspelt(name, one) for one in declared))
        for *_, name in places
    )


def _names(vocabulary: Vocabulary) -> frozenset[str]:
    return frozenset(path[-1] for path in vocabulary.places if path[0] in ("body", "query") and len(path) > 1)


def _is_misspelt(name: str, declared: str) -> bool:
    return len(name) >= _SHORTEST_SLIP <= len(declared) and is_slip(name, declared)


def _repeatable(request: Request) -> frozenset[str]:
    """Return the words of a request that a server may repeat without having read what was sent."""
    told = [unquote(request.path), *request.headers.values(), str(request.query)]
    return frozenset(word for text in told for word in _WORD.findall(text))
