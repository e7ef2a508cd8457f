"""Node's own complaint about an argument of one of its functions, which has the name of a member only by chance.

`The "password" argument must be of type string. Received undefined` is about the member `password` where the operation
declares one. `The "path" argument must be of type string. Received undefined` of an operation without such a member is
about something that the server has lost itself.

Knows: one error, what is declared. Does not know: values, rules, what follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from corrigible.adapters.vocabulary import Vocabulary
from corrigible.rules.pointer import segments
from corrigible.rules.violation import Violation

from .place_by_path import is_declared

_READ: Final = 1000
_COMPLAINT: Final = re.compile(
    r'The "[\w.\[\]]{1,80}" (?:argument|property) must be .{1,600}[.] Received \S', re.DOTALL
)


def is_of_runtime(error: Violation, declared: Callable[[], Vocabulary]) -> bool:
    """Whether an error is Node's, and at a place that the operation does not declare."""
    if not error.pointer or _COMPLAINT.match(error.message[:_READ]) is None:
        return False
    places = declared()
    return bool(places.places) and not is_declared(segments(error.pointer), places)
