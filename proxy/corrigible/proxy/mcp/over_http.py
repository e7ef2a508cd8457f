"""Servers of the Model Context Protocol over HTTP: who was listed which tools, and answers that are events.

Knows: streamable HTTP (a message in each POST, its answer as JSON or as server-sent events), sessions. Does not know:
sockets, mitmproxy, tools. Sources: the MCP specification, basic/transports (2025-11-25, 2026-07-28); the HTML standard,
section 9.2.6.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final

from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import RequestHead

from .relay import Relay, Tools

_MOST_SESSIONS: Final = 256
"""The one that was quiet for longest is forgotten: its calls are corrected without schemas."""
_LONGEST_EVENT: Final = 1 << 20
_END_OF_EVENT: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
_DATA: Final = b"data:"


class Sessions:
    """The sessions of one server. Who has none is known by the credentials."""

    def __init__(self, made: Callable[[Mapping[str, Any]], HttpCorrector], recorder: Recorder) -> None:
        """`made` makes a corrector of a description of tools."""
        self._made = made
        self._recorder = recorder
        self._tools: OrderedDict[str, Tools] = OrderedDict()

    def relay(self, request: RequestHead, body: bytes) -> Relay | None:
        """Return what corrects the answer to a request; None where the request has no message."""
        if request.method != "POST" or not body:
            return None
        headers = {name.lower(): value for name, value in request.headers}
        told = headers.get("mcp-session-id") or headers.get("authorization") or ""
        session = sha256(told.encode("utf-8", "surrogateescape")).hexdigest()
        tools = self._tools.setdefault(session, Tools(self._made))
        self._tools.move_to_end(session)
        while len(self._tools) > _MOST_SESSIONS:
            self._tools.popitem(last=False)
        relay = Relay(tools, self._recorder)
        relay.of_client(body)
        return relay if relay.is_waiting else None


class EventStream:
    """Server-sent events on their way. An event goes out once it is whole, and as it came unless its data changes."""

    def __init__(self, changed: Callable[[bytes], bytes]) -> None:
        """`changed` returns a message as the client gets it."""
        self._changed = changed
        self._held = b""
        self._is_passing = False
        """Whether an event was too long: then the rest of the stream passes."""

    def __call__(self, data: bytes) -> bytes:
        """Return what goes out when more has come. Empty data is the end of the stream."""
        if self._is_passing or not data:
            held, self._held = self._held, b""
            return held + data
        begun, self._held = max(0, len(self._held) - 3), self._held + data
        out, start = [], 0
        for end in _END_OF_EVENT.finditer(self._held, begun):
            out.append(self._event(self._held[start : end.end()]))
            start = end.end()
        self._held = self._held[start:]
        if len(self._held) > _LONGEST_EVENT:
            self._is_passing = True
            out.append(self._held)
            self._held = b""
        return b"".join(out)

    def _event(self, event: bytes) -> bytes:
        """Return an event with its data as the client gets it: JSON on lines, each of which begins with `data:`."""
        lines = [match[0] for match in _LINE.finditer(event)]
        told = [line for line in lines if line.startswith(_DATA)]
        if not told:
            return event
        begin = told[0][: len(_DATA) + told[0].startswith(_DATA + b" ")]
        end = told[0][len(told[0].rstrip(b"\r\n")) :]
        data = b"\n".join(line[len(_DATA) :].removeprefix(b" ").rstrip(b"\r\n") for line in told)
        changed = self._changed(data)
        if changed == data:
            return event
        first = lines.index(told[0])
        written = [begin + line + end for line in changed.split(b"\n")]
        kept = [line for line in lines[first:] if not line.startswith(_DATA)]
        return b"".join([*lines[:first], *written, *kept])
