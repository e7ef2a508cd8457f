"""Bring your own agent: an HTTP server that hands out prompts and base URLs, and carries out the agent's calls.

    POST /episodes              -> {id, prompt, about, base_url, attempts}; 410 when all are handed out
    anything under base_url     -> the API, as one arm of the plan shows it
    POST /episodes/ID/finish    {"outcome": "done", "reason": "..."}

The agent learns neither its arm, nor its task's id, nor whether it succeeded.
Knows: HTTP. Does not know: plans, environments, how an episode is played or scored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from corrigible.conformance.lift.environment.response import Response
from corrigible.conformance.model.usage_error import UsageError
from corrigible.conformance.transport.http1 import HttpRequest, request_document
from corrigible.schema.document import is_credential_name
from corrigible.schema.exchange import Json, Request

from .external_agent import ENDINGS
from .service import EpisodeService

HTTP_OF_GRPC: Final[Mapping[int, int]] = {
    0: 200, 1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 13: 500,
    14: 503, 15: 500, 16: 401,
}  # fmt: skip
"""The mapping of google.rpc.Code, for gRPC APIs that are served as JSON over HTTP."""
_NOT_FORWARDED: Final = frozenset(
    {"authorization", "prefer", "recovery-feedback", "recovery-feedback-caller", "host", "connection", "content-length"}
    | {"accept-encoding"}
)
"""Request headers that do not reach the API: credentials are added here, and the arm decides how errors look."""
_NOT_RETURNED: Final = frozenset(
    {"content-length", "transfer-encoding", "content-encoding", "connection", "preference-applied"}
)
_LONGEST_BODY: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back to the agent."""

    status: int
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)


class Server(ThreadingHTTPServer):
    """An episode service over HTTP, on 127.0.0.1."""

    daemon_threads = True

    def __init__(self, service: EpisodeService, port: int = 0) -> None:
        self.service = service
        super().__init__(("127.0.0.1", port), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def reply(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Reply:
        """Answer one request."""
        parts = target.partition("?")[0].split("/")
        match parts[1:]:
            case ["episodes"] if method == "POST":
                return self._open()
            case ["episodes", name, "finish"] if method == "POST":
                return self._finish(name, body)
            case ["at", name, *_]:
                return self._call(name, method, target, headers, body)
            case ["status"] if method == "GET":
                return Reply(200, self.service.status())
            case _:
                usage = "POST /episodes, call what is under its base_url, POST /episodes/ID/finish; GET /status"
                return Reply(404, {"message": usage})

    def _open(self) -> Reply:
        try:
            opened = self.service.open()
        except UsageError as problem:
            return Reply(503, {"message": f"no episode can be set up: {problem}"})
        if opened is None:
            return Reply(410, {"message": "all episodes are handed out", **self.service.status()})
        name, episode = opened
        assert episode.briefing is not None
        document: dict[str, Json] = {
            "id": name,
            "prompt": episode.briefing.prompt,
            "about": episode.briefing.about,
            "base_url": f"{self.url}/at/{name}",
            "attempts": episode.attempts,
        }
        if episode.briefing.refusal is not None:
            grpc = self.service.is_grpc(name)
            document["refused"] = refused(episode.briefing.request, episode.briefing.refusal, grpc=grpc)
        return Reply(201, document)

    def _finish(self, name: str, body: bytes) -> Reply:
        episode = self.service.episode(name)
        if episode is None:
            return Reply(404, {"message": f"no episode {name}"})
        try:
            document = json.loads(body or b"{}")
            outcome, reason = str(document.get("outcome", "done")), str(document.get("reason", ""))
        except (ValueError, AttributeError):
            return Reply(400, {"message": 'the body is {"outcome": "done", "reason": "..."}'})
        ending = next((ending for ending in ENDINGS if ending == outcome.replace("_", " ")), None)
        if ending is None:
            return Reply(400, {"message": f"outcome {outcome}: one of {', '.join(ENDINGS)}"})
        episode.finish(ending, reason[:2000])
        return Reply(200, {"recorded": True, **self.service.status()})

    def _call(self, name: str, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Reply:
        episode = self.service.episode(name)
        if episode is None:
            return Reply(404, {"message": f"no episode {name}"})
        grpc, form = self.service.is_grpc(name), self.service.is_form(name)
        try:
            request = read_call(method, target.removeprefix(f"/at/{name}"), headers, body, grpc=grpc, form=form)
        except ValueError as problem:
            episode.lose()
            return Reply(400, {"message": f"this does not reach the API, and is an attempt: {problem}"})
        response = episode.call(request)
        if response is None:
            over = f"the episode is over: no attempt or no time is left. POST {self.url}/episodes for another one"
            return Reply(410, {"message": over})
        return _reply(response, grpc=grpc)


def refused(request: Request, response: Response, *, grpc: bool) -> dict[str, Json]:
    """Return the call that was made and its refusal, as an agent would have sent and got them under its base URL."""
    reply = _reply(response, grpc=grpc)
    headers = {name: value for name, value in request.headers.items() if not is_credential_name(name)}
    sent: dict[str, Json] = {"method": request.method, "path": request.path, "query": request.query}
    if grpc:
        sent = {"method": "POST", "path": request.method, "query": {}}
    return {
        "request": {**sent, "headers": headers, "body": request.body},
        "answer": {"status": reply.status, "headers": dict(reply.headers), "body": reply.body},
    }


def read_call(
    method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes, *, grpc: bool, form: bool
) -> Request:
    """Read an agent's call as a request document. Raises ValueError where that is not possible."""
    dropped = _NOT_FORWARDED | {"content-type"} if grpc else _NOT_FORWARDED
    forwarded = tuple((name, value) for name, value in headers if name.lower() not in dropped)
    try:
        request = request_document(HttpRequest(method, target or "/", forwarded, body))
    except UnicodeDecodeError:
        raise ValueError("the body is no UTF-8") from None
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"the body is no JSON: {problem}") from None
    if grpc:
        if method != "POST":
            raise ValueError("this is a gRPC API: POST /package.Service/Method, with the message as JSON")
        metadata = {n: v for n, v in request.headers.items() if n not in ("accept", "user-agent")}
        return Request(request.path, "", headers=metadata, body=request.body)
    if request.body is not None and request.form is not form:
        expected_type = "application/x-www-form-urlencoded" if form else "application/json"
        raise ValueError(f"bodies have the content-type {expected_type} here")
    return replace(request, headers={n: v for n, v in request.headers.items() if n != "user-agent"})


def _reply(response: Response, *, grpc: bool) -> Reply:
    status = HTTP_OF_GRPC.get(response.status, 500) if grpc else response.status
    return Reply(status, response.body, {n: v for n, v in response.headers.items() if n not in _NOT_RETURNED})


_LOCAL: Final = re.compile(r"(?i)(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?")
"""Host of who calls an address of this machine. A page of another host may have its name lead here (DNS rebinding)."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def _any(self) -> None:
        length = self.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _LONGEST_BODY or self.headers.get("transfer-encoding"):
            self.close_connection = True
            return self._send(Reply(411, {"message": f"send a content-length, up to {_LONGEST_BODY}"}))
        body = self.rfile.read(int(length))
        host, origin = self.headers.get("host", ""), self.headers.get("origin")
        if _LOCAL.fullmatch(host) is None or origin not in (None, f"http://{host}"):
            return self._send(Reply(403, {"message": "episodes are played by programs of this machine, not by pages"}))
        self._send(self.server.reply(self.command, self.path, list(self.headers.items()), body))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _any

    def _send(self, reply: Reply) -> None:
        headers = {"content-type": "application/json", **reply.headers}
        if isinstance(reply.body, str):
            content = reply.body.encode("utf-8", "replace")
            if "json" in headers["content-type"]:
                headers["content-type"] = "text/plain; charset=utf-8"
        else:
            content = b"" if reply.body is None else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in headers.items():
            self.send_header(name, value.replace("\r", " ").replace("\n", " "))
        if reply.status != 204:
            self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and reply.status != 204:
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: episodes are in the log."""
