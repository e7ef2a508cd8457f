"""Providers that are none: real servers on 127.0.0.1 that speak real wire formats, with a script for a model.

They read requests as strictly as the providers do, bill tokens, and are busy, slow or broken when told to be. Every
answer owns up to being a fake in a header.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from corrigible.schema.carrier import find
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from tests._support.repaired import agrees

from .wire_formats import FORMATS, PATHS, Heard, Refused, Speaks


@dataclass(frozen=True, slots=True)
class Trouble:
    """An answer without a model."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    goes_on: bool = False
    """After the delay the model answers all the same."""


Mind = Callable[[Heard], Speaks]


def error(wire: str, status: int, kind: str, said: str, headers: Mapping[str, str] | None = None) -> Trouble:
    """Return an error as the provider writes it."""
    inner: dict[str, Json] = {"type": kind, "message": said}
    if wire == "anthropic":
        document: Json = {"type": "error", "error": inner, "request_id": "req_1"}
    else:
        document = {"error": {**inner, "param": None, "code": kind}}
    return Trouble(status, json.dumps(document).encode(), headers or {})


@dataclass(slots=True)
class Asked:
    """One request on the wire."""

    headers: dict[str, str]
    document: Any


class FakeProvider:
    """One provider. `troubles` come first, one for each request; None among them lets the model answer."""

    def __init__(self, wire: str, mind: Mind, troubles: Iterable[Trouble | None] = (), *, port: int = 0) -> None:
        self.wire, self._mind = wire, mind
        self.troubles = deque(troubles)
        self.asked: list[Asked] = []
        self.problems: list[str] = []
        self._lock = threading.Lock()
        provider = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 64 * 1024  # one write, or the second waits for an acknowledgement

            def do_POST(self) -> None:
                provider._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Answers)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        base = f"http://127.0.0.1:{self._server.server_address[1]}"
        return base if self.wire == "anthropic" else f"{base}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, http: BaseHTTPRequestHandler) -> None:
        content = http.rfile.read(int(http.headers["content-length"]))
        headers = {name.lower(): value for name, value in http.headers.items()}
        with self._lock:
            self.asked.append(Asked(headers, json.loads(content)))
            trouble = self.troubles.popleft() if self.troubles else None
        if trouble is not None:
            time.sleep(trouble.delay)
        if trouble is None or trouble.goes_on:
            try:
                if http.path != PATHS[self.wire]:
                    raise Refused(f"no {http.path} here")
                trouble = Trouble(body=self._spoken(headers, json.loads(content), len(content)))
            except Refused as problem:
                self.problems.append(str(problem))
                trouble = error(self.wire, 400, "invalid_request_error", str(problem))
        try:
            http.send_response(trouble.status)
            sent = {"content-type": "application/json", "x-corrigible-fake": "1", **trouble.headers}
            for name, value in sent.items():
                http.send_header(name, value)
            http.send_header("content-length", str(len(trouble.body)))
            http.end_headers()
            http.wfile.write(trouble.body)
        except (BrokenPipeError, ConnectionResetError):
            http.close_connection = True  # whoever asked did not wait

    def _spoken(self, headers: Mapping[str, str], document: Any, size: int) -> bytes:
        read, write = FORMATS[self.wire]
        heard = read(headers, document)
        said = self._mind(heard)
        out = len(said.text) + sum(len(name) + len(text) for name, text in said.calls)
        number = sum(role == "assistant" for role, _ in heard.turns)
        return json.dumps(write(said, document["model"], size // 4, out // 4 + 1, number)).encode()


# Scripts for a model. They see what a model would see, and nothing else.


def follower(heard: Heard) -> Speaks:
    """Does what feedback in the last answer says, with the published reader; gives up where there is none."""
    if "You reflect" in heard.system:
        return reflector(heard)
    call, answer = last_exchange(heard)
    found = find(answer.get("body")) if answer is not None else None
    if call is None or found is None:
        return _finish("gave_up", "nothing says how to go on", heard)
    match apply(found, call, confirm=agrees):
        case Next(request=request):
            return calls(request, heard)
        case Terminal(action=action):
            return _finish("impossible", action, heard)
        case NeedsInput(reason=reason):
            return _finish("needs_input", reason, heard)


def stubborn(heard: Heard) -> Speaks:
    """Sends the same call again and again."""
    if "You reflect" in heard.system:
        return reflector(heard)
    call, _ = last_exchange(heard)
    return calls(call, heard) if call is not None else _finish("gave_up", "no call to repeat", heard)


def reflector(heard: Heard) -> Speaks:
    """Reflects as it is asked to: in the schema's members, or in words."""
    if heard.schema is None:
        return Speaks("Something was wrong with the call; I should change it.")
    rule = {"error_type": "FORMAT_MISMATCH", "first_error_in_call": 1, "correction_rule": "Send it in the other form."}
    return Speaks(json.dumps(rule))


def calls(request: Request, heard: Heard) -> Speaks:
    """Return a call of the API, by tool or in plain JSON."""
    document = request.document()
    if heard.tools:
        return Speaks("I try this.", (("call_api", json.dumps(document)),))
    return Speaks(f"```json\n{json.dumps({'tool': 'call_api', **document})}\n```")


def _finish(outcome: str, reason: str, heard: Heard) -> Speaks:
    arguments = {"outcome": outcome, "reason": reason}
    if heard.tools:
        return Speaks("", (("finish", json.dumps(arguments)),))
    return Speaks(json.dumps({"tool": "finish", **arguments}))


def last_exchange(heard: Heard) -> tuple[Request | None, Any]:
    """Return the last call and its answer, wherever in the conversation they stand."""
    call: Request | None = None
    answer: Any = None
    for _, text in heard.turns:
        for document in _documents(text):
            if "method" in document:
                form = any("are forms" in said for _, said in heard.turns)
                call = Request(
                    document["method"],
                    document.get("path", ""),
                    document.get("query") or {},
                    document.get("headers") or {},
                    document.get("body"),
                    form,
                )
            elif "status" in document:
                answer = document
    return call, answer


def _documents(text: str) -> Iterable[Any]:
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


MINDS: Final[Mapping[str, Mind]] = {"follower": follower, "stubborn": stubborn}


def main() -> None:
    """Serve one fake until it is killed, for runs of the whole command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wire", choices=sorted(PATHS))
    parser.add_argument("--mind", choices=sorted(MINDS), default="follower")
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    with FakeProvider(args.wire, MINDS[args.mind], port=args.port) as fake:
        print(f"listening on {fake.base_url}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
