"""What tools that only read have answered in a session: near names are choices where a call names what is not there.

Knows: results of tools, questions about a value, the parameters of a look-up. Does not know: messages, which tools may
be called. No name of a result is sent unasked, and no word of a server's text is an argument.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from corrigible.rules.pointer import resolve, segments
from corrigible.rules.safety.nearness import nearest
from corrigible.rules.wordings import Kind, read
from corrigible.schema.credential_name import is_secret_parameter
from corrigible.schema.document import leaves

from .for_client import RESERVED, Object

_OF_PROTOCOL: Final = frozenset({f"{RESERVED}protocolVersion", f"{RESERVED}clientInfo"})
_MOST_RESULTS: Final = 4
_LONGEST: Final = 1 << 15
"""Bytes of an answer whose result is kept."""
_MOST_NAMES: Final = 2000


class Seen:
    """The results of a session."""

    def __init__(self) -> None:
        self._results: dict[str, Object] = {}

    def keep(self, tool: Object, result: Any, length: int) -> None:
        """Keep the newest result of a tool, if the tool says that it only reads."""
        is_result = isinstance(result, dict) and isinstance(result.get("content"), list)
        if not is_result or length > _LONGEST or not _only_reads(tool):
            return
        self._results.pop(tool["name"], None)
        self._results[tool["name"]] = result
        while len(self._results) > _MOST_RESULTS:
            del self._results[next(iter(self._results))]

    def add_choices(self, feedback: Object, params: Object, text: str) -> bool:
        """Add choices to the only question of feedback, where a text says that what was sent is not there."""
        asked = asked_about(feedback, params, text)
        if asked is None:
            return False
        for result in reversed(self._results.values()):
            sent = resolve({"body": {"params": params}}, asked["pointer"])
            near = nearest(sent, [*islice(_names(result), _MOST_NAMES)])
            if near and sent not in near:
                asked["schema"] = {**(asked.get("schema") or {}), "type": "string", "enum": near}
                return True
        return False


def asked_about(feedback: Object, params: Object, text: str) -> Any:
    """Return the only question of feedback, if that is about a name of which a text says that it is not there."""
    asked = [one for some in feedback.get("suggestions") or () for one in some.get("placeholders") or ()]
    if len(asked) != 1 or "enum" in (asked[0].get("schema") or {}) or not read(text).of(Kind.ABSENT):
        return None
    place = asked[0]["pointer"]
    sent = resolve({"body": {"params": params}}, place)
    return asked[0] if isinstance(sent, str) and not is_secret_parameter(segments(place)[-1]) else None


def _only_reads(tool: Object) -> bool:
    """Whether a tool says that it only reads. That is a hint, and nothing more."""
    return (tool.get("annotations") or {}).get("readOnlyHint") is True


def call_of(tool: Object, params: Object, place: str) -> dict[str, Any] | None:
    """Return the parameters of a look-up by a tool, None where it does not say that it only reads.

    What it has to have is what the refused call has under the same names, but for the name that is not there.
    """
    if not _only_reads(tool):
        return None
    given, refused, meta = params.get("arguments") or {}, segments(place)[3:4], params.get("_meta") or {}
    required = [name for name in tool["inputSchema"].get("required") or () if name in given and name not in refused]
    kept = {name: one for name, one in meta.items() if name in _OF_PROTOCOL}
    # It has no user who could be asked.
    about = {"_meta": {**kept, f"{RESERVED}clientCapabilities": {}}} if kept else {}
    return {"name": tool["name"], "arguments": {name: given[name] for name in required}, **about}


def _names(result: Object) -> Iterator[str]:
    """Yield the texts in a result: in its structure, and in what its content is as JSON, or the lines of that."""
    yield from (one for _, one in leaves(result.get("structuredContent")) if isinstance(one, str))
    for item in result.get("content") or ():
        try:
            body = json.loads(text := item.get("text") or "")
        except (ValueError, RecursionError):
            body = text.splitlines()
        except (AttributeError, TypeError):
            continue  # no text
        yield from (one for _, one in leaves(body) if isinstance(one, str))
