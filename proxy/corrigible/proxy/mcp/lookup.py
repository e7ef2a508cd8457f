"""What tools that only read have answered in a session: near names are choices where a call names what is not there.

Knows: results of tools, questions about a value. Does not know: messages, how a tool is called. No tool is called for
this, and no name of a result is sent unasked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from corrigible.rules.pointer import resolve, segments
from corrigible.rules.safety.nearness import nearest
from corrigible.rules.wordings import Kind, read
from corrigible.schema.credential_name import is_secret_parameter
from corrigible.schema.document import leaves

_MOST_RESULTS: Final = 4
_LONGEST: Final = 1 << 15
"""Bytes of an answer whose result is kept."""
_MOST_NAMES: Final = 2000


class Seen:
    """The results of a session."""

    def __init__(self) -> None:
        self._results: dict[str, Mapping[str, Any]] = {}

    def keep(self, tool: Mapping[str, Any], result: Mapping[str, Any], length: int) -> None:
        """Keep the newest result of a tool, if the tool says that it only reads."""
        if length > _LONGEST or (tool.get("annotations") or {}).get("readOnlyHint") is not True:
            return
        self._results.pop(tool["name"], None)
        self._results[tool["name"]] = result
        while len(self._results) > _MOST_RESULTS:
            del self._results[next(iter(self._results))]

    def add_choices(self, feedback: Mapping[str, Any], params: Mapping[str, Any], text: str) -> None:
        """Add choices to the only question of feedback, where a text says that what was sent is not there."""
        asked = [one for some in feedback.get("suggestions") or () for one in some.get("placeholders") or ()]
        if len(asked) != 1 or "enum" in (asked[0].get("schema") or {}) or not read(text).of(Kind.ABSENT):
            return
        place = asked[0]["pointer"]
        sent = resolve({"body": {"params": params}}, place)
        if not isinstance(sent, str) or is_secret_parameter(segments(place)[-1]):
            return
        for result in reversed(self._results.values()):
            near = nearest(sent, [*islice(_names(result), _MOST_NAMES)])
            if near and sent not in near:
                asked[0]["schema"] = {**(asked[0].get("schema") or {}), "type": "string", "enum": near}
                return


def _names(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in a result: in its structure, and in what its content is as JSON, or the lines of that."""
    yield from (one for _, one in leaves(result.get("structuredContent")) if isinstance(one, str))
    for item in result.get("content") or ():
        try:
            body = json.loads(text := item.get("text") or "")
        except (ValueError, RecursionError):
            body = text.splitlines()
        yield from (one for _, one in leaves(body) if isinstance(one, str))
