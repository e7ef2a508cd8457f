"""The base path that an API is mounted at, where its description does not name it and a refusal proves it.

A server that finds something wrong with a request has a route for its path: if only the beginning of the path is not in
the description, the API is mounted there. Beginnings that are no common words may be somebody's own, and prove nothing.

Knows: profiles, paths, statuses. Does not know: rules, what is wrong with the request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Exchange, Protocol

from .api_profile import ApiProfile

_COMMON: Final = re.compile(r"(?:/(?:apis?|rest|v\d{1,3}(?:\.\d{1,3}){0,2})){1,3}", re.IGNORECASE)
_BAD_REQUEST: Final = 400
_FOUND: Final = frozenset({409, 412, 422})
"""Statuses of what was found, whatever is wrong with it. 401, 403, 405 and 415 may be said of any path."""
_TEMPLATES_A_STEP: Final = 16


def mounted(profiles: Sequence[ApiProfile], exchange: Exchange) -> tuple[ApiProfile, ...] | None:
    """Return the profiles, one of them below its base path; None where the refusal of an unknown path proves none."""
    request = exchange.request
    is_read = exchange.status == _BAD_REQUEST and not isinstance(request.body, str)  # else any path is refused so
    if request.protocol is not Protocol.HTTP or (exchange.status not in _FOUND and not is_read):
        return None
    for number, profile in enumerate(profiles):
        if profile.description is None:
            continue
        spend(len(profile.description.operations.names) // _TEMPLATES_A_STEP)
        base, _ = profile.description.operations.base_of(request.path) or ("", "")
        if not _COMMON.fullmatch(base) or any(profile.description.operations.base_paths()):
            continue
        below = profile.below(base)
        if below is not None:
            return (*profiles[:number], below, *profiles[number + 1 :])
    return None
