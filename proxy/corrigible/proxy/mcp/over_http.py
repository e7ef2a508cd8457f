"""Servers of the Model Context Protocol over HTTP: who was listed which tools, and answers that are events.

Knows: streamable HTTP (a message in each POST, its answer as JSON or as server-sent events), sessions, the headers of a
look-up. Does not know: sockets, mitmproxy, tools. Sources: the MCP specification, basic/transports (2025-11-25,
2026-07-28); the HTML standard, section 9.2.6.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.http.messages import RequestHead
from corrigible.rules.lookup import Lookup, LookupAnswer

from .for_client import WITH_QUESTIONS, Wishes
from .relay import Relay, Tools

_MOST_SESSIONS: Final = 256
"""The one that was quiet for longest is forgotten: its calls are corrected without schemas."""
_LONGEST_EVENT: Final = 1 << 20
_END_OF_EVENT: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
_DATA: Final = b"data:"
_SESSION: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"
_INITIALIZE: Final = b'"initialize"'
_ANY: Final = "application/json, text/event-stream"


class Sessions:
    """The sessions of one server, of each caller. Who has none is known by the credentials."""

    def __init__(self, made: Callable[[], Tools], recorder: Recorder) -> None:
        """`made` makes what is known of the tools of one session."""
        self._made = made
        self._recorder = recorder
        self._tools: OrderedDict[tuple[str, str], Tools] = OrderedDict()

    def relay(self, request: RequestHead, body: bytes, caller: str, begun: str = "") -> Relay | None:
        """Return what corrects the answer to a request, None where that is no call or list of tools.

        `caller` is whose credentials it has, `begun` the session that the answer to `initialize` begins, if any.
        """
        if request.method != "POST" or not body:
            return None
        headers = _fields(request)
        session = headers.get(_SESSION) or (begun if _INITIALIZE in body else "")
        tools = self._tools.setdefault((caller, session), self._made())
        self._tools.move_to_end((caller, session))
        while len(self._tools) > _MOST_SESSIONS:
            self._tools.popitem(last=False)
        relay = Relay(tools, self._recorder, changes_calls=headers.get(_VERSION, "") >= WITH_QUESTIONS)
        relay.passed = relay.of_client(body)
        if not session:
            tools.wishes = Wishes()  # others have the same credentials, or none
        return relay if relay.is_waiting or relay.passed.back else None


def _fields(request: RequestHead) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers}


def may_change(request: RequestHead) -> bool:
    """Whether the body of a request may say what a user was asked for: it is the call of a tool."""
    headers = _fields(request)
    is_call = headers.get("mcp-method") == "tools/call" and headers.get(_VERSION, "") >= WITH_QUESTIONS
    is_short = 0 < int(headers.get("content-length", "0")) <= _LONGEST_EVENT
    return is_call and is_short and headers.keys().isdisjoint(("expect", "content-encoding"))


def lookup_of(request: RequestHead, message: bytes) -> Lookup:
    """Return the look-up that a message is, in the session of a request."""
    headers = _fields(request)
    named = {"accept": _ANY, "mcp-method": "tools/call", "mcp-name": json.loads(message)["params"]["name"]}
    stated = named | {name: one for name, one in headers.items() if name in (_SESSION, _VERSION)}
    return Lookup(request.target, "POST", message, "application/json", tuple(stated.items()))


def take_answer(relay: Relay, answer: LookupAnswer) -> bytes:
    """Have a relay take note of the answer to a look-up, and return what that releases."""
    lines = [answer.body] if answer.body.lstrip()[:1] == b"{" else answer.body.splitlines()
    return b"".join(relay.looked_up(one.removeprefix(_DATA)) or b"" for one in lines)


class EventStream:
    """Server-sent events on their way. An event goes out once it is whole, and as it came unless its data changes."""

    def __init__(self, changed: Callable[[bytes], bytes]) -> None:
        """`changed` returns a message as the client gets it."""
        self._changed = changed
        self._held = b""
        self.waiting = b""
        """An event whose data is there later, until it is sent."""
        self._is_passing = False
        """Whether an event was too long: then the rest of the stream passes."""

    def __call__(self, data: bytes) -> Sequence[bytes]:
        """Return what goes out when more has come, if any: an empty chunk would be the end. Empty data is the end."""
        passed = self._passed(data)
        return [passed] if passed else []

    def _passed(self, data: bytes) -> bytes:
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

    def release(self, data: bytes) -> None:
        """Give the event that waits its data."""
        self.waiting = self._event(self.waiting, data)

    def _event(self, event: bytes, later: bytes = b"") -> bytes:
        """Return an event with its data as the client gets it: JSON on lines, each of which begins with `data:`."""
        lines = [match[0] for match in _LINE.finditer(event)]
        told = [line for line in lines if line.startswith(_DATA)]
        if not told:
            return event
        begin = told[0][: len(_DATA) + told[0].startswith(_DATA + b" ")]
        end = told[0][len(told[0].rstrip(b"\r\n")) :]
        data = b"\n".join(line[len(_DATA) :].removeprefix(b" ").rstrip(b"\r\n") for line in told)
        changed = later or self._changed(data)
        if not changed:
            self.waiting = event
        if changed in (data, b""):
            return changed and event
        first = lines.index(told[0])
        written = [begin + line + end for line in changed.split(b"\n")]
        kept = [line for line in lines[first:] if not line.startswith(_DATA)]
        return b"".join([*lines[:first], *written, *kept])
