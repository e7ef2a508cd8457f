"""What tools that only read have answered in a session: near names are choices where a call names what is not there.

Knows: results of tools, questions about a value, the parameters of a look-up. Does not know: messages, which tools may
be called. No name of a result is sent unasked, and no word of a server's text is an argument.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from corrigible.rules.pointer import resolve, segments
from corrigible.rules.safety.nearness import nearest
from corrigible.rules.wordings import Kind, read
from corrigible.schema.credential_name import is_secret_parameter
from corrigible.schema.document import leaves

from .for_client import RESERVED

_OF_PROTOCOL: Final = frozenset({f"{RESERVED}protocolVersion", f"{RESERVED}clientInfo"})
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

    def add_choices(self, feedback: Mapping[str, Any], params: Mapping[str, Any], text: str) -> bool:
        """Add choices to the only question of feedback, where a text says that what was sent is not there."""
        asked = asked_about(feedback, params, text)
        if asked is None:
            return False
        for result in reversed(self._results.values()):
            near = nearest(asked.sent, [*islice(_names(result), _MOST_NAMES)])
            if near and asked.sent not in near:
                asked.placeholder["schema"] = {**(asked.placeholder.get("schema") or {}), "type": "string", "enum": near}
                return True
        return False


class AskedAbout(NamedTuple):
    """The only question of feedback, about a name that is not there."""

    placeholder: dict[str, Any]
    sent: str

    @property
    def pointer(self) -> str:
        return str(self.placeholder["pointer"])


def asked_about(feedback: Mapping[str, Any], params: Mapping[str, Any], text: str) -> AskedAbout | None:
    """Return what feedback asks about, if that is one name without choices, of which a text says that it is not there."""
    asked = [one for some in feedback.get("suggestions") or () for one in some.get("placeholders") or ()]
    if len(asked) != 1 or "enum" in (asked[0].get("schema") or {}) or not read(text).of(Kind.ABSENT):
        return None
    place = asked[0]["pointer"]
    sent = resolve({"body": {"params": params}}, place)
    is_name = isinstance(sent, str) and not is_secret_parameter(segments(place)[-1])
    return AskedAbout(asked[0], sent) if is_name else None


def call_of(tool: Mapping[str, Any], params: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    """Return the parameters of a look-up by a tool, None where it does not say that it only reads.

    What it has to have is what the refused call has under the same names, but for the name that is not there.
    """
    schema, given, meta = tool.get("inputSchema"), params.get("arguments"), params.get("_meta")
    if (tool.get("annotations") or {}).get("readOnlyHint") is not True or not isinstance(schema, dict):
        return None
    refused = segments(place)[3:4]
    known = {name: one for name, one in given.items() if name not in refused} if isinstance(given, dict) else {}
    arguments = {name: known[name] for name in schema.get("required") or () if name in known}
    kept = {name: one for name, one in meta.items() if name in _OF_PROTOCOL} if isinstance(meta, dict) else {}
    # It has no user who could be asked.
    about = {"_meta": {**kept, f"{RESERVED}clientCapabilities": {}}} if kept else {}
    return {"name": tool["name"], "arguments": arguments, **about}


def _names(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in a result: in its structure, and in what its content is as JSON, or the lines of that."""
    yield from (one for _, one in leaves(result.get("structuredContent")) if isinstance(one, str))
    for item in result.get("content") or ():
        try:
            body = json.loads(text := item.get("text") or "")
        except (ValueError, RecursionError):
            body = text.splitlines()
        yield from (one for _, one in leaves(body) if isinstance(one, str))
