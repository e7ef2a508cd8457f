"""Remarks in a list of messages: what was noted besides what is wrong, `{"severity": "INFO", "message": "..."}`.

Validators hand on all that they noted of a request. Where one message of a list is an error, a note beside it is none:
what it is about is not what the request was refused for, and nothing follows from it.

Knows: the items of one list. Does not know: places, the request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.schema.exchange import Json

_GRADE: Final = re.compile(r"(?i)(?:\w*_|[a-z]\w*(?=[A-Z]))?(?:severity|level|type|kind)")
"""Members that grade a message: `severity`, `logLevel`, `message_type`."""
_NOTED: Final = frozenset({"trace", "debug", "info", "information", "informational", "notice", "note", "hint"})
_NOTED_ALOUD: Final = frozenset({"warn", "warning"})
"""Grades of what does not refuse a request; all of them are words of logs, in any case."""


def without_remarks(items: Sequence[Json]) -> Sequence[Json]:
    """Return the items of a list without those that are only notes, where any is more than that."""
    if not any(_is_remark(one) for one in items):
        return items
    errors = [one for one in items if not _is_remark(one)]
    return errors if any(isinstance(one, Mapping) for one in errors) else items


def _is_remark(item: Json) -> bool:
    if not isinstance(item, Mapping):
        return False
    grades = [value.lower() for name, value in item.items() if isinstance(value, str) and _GRADE.fullmatch(name)]
    return any(one in _NOTED or one in _NOTED_ALOUD for one in grades)
