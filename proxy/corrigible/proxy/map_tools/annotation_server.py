"""Serves the page on which mappings are judged, to this machine alone.

| asks for            | gets                                                |
|---------------------|-----------------------------------------------------|
| GET /               | the page; its script and its style are files beside |
| GET /state          | proposals, and what the annotator has said          |
| POST /judgements    | keeps one                                           |
| GET /annotations.jsonl | what counts, as a file                           |

A page of another site must not read or write here: requests name this server as their host, and where a browser says
where they come from, that is this page. Knows: HTTP. Does not know: what a judgement is.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from pydantic import ValidationError

from corrigible.schema.exchange import Json

from .annotation_desk import AnnotationDesk, BadJudgement, Judgement

HOST: Final = "127.0.0.1"
_LARGEST: Final = 1 << 20
"""Bytes of a request."""
_SILENCE: Final = 30.0
"""Seconds that a client may be silent."""
_LINGERING: Final = 2.0
"""Seconds that a client whose request was too large may be silent."""
_MOST_UNREAD: Final = 64 << 20
"""Bytes of it that are read and dropped."""
_TOKEN: Final = "x-corrigible-token"
_FILES: Final = {
    "/": ("annotate.html", "text/html; charset=utf-8"),
    "/annotate.js": ("annotate.js", "text/javascript; charset=utf-8"),
    "/annotate.css": ("annotate.css", "text/css; charset=utf-8"),
}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class AnnotationServer(ThreadingHTTPServer):
    """Listens from its making on. Raises OSError where the port is taken."""

    daemon_threads = True

    def __init__(self, desk: AnnotationDesk, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.desk = desk
        self.token = secrets.token_urlsafe(24)
        """What the page sends with each question: who cannot read the page cannot ask."""

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may name as its host: another name may be a foreign site's, led here by its DNS."""
        return frozenset({f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: AnnotationServer
    timeout = _SILENCE

    def do_GET(self) -> None:
        target = urlsplit(self.path)
        if not self._is_own():
            return
        if target.path in _FILES:
            name, media = _FILES[target.path]
            text = files(__package__).joinpath(name).read_text("utf-8")
            self._answer(HTTPStatus.OK, text.replace("{{token}}", self.server.token).encode(), media)
        elif target.path == "/state" and self._has_token():
            annotator = parse_qs(target.query).get("annotator", [""])[0]
            self._json(HTTPStatus.OK, self._state(annotator))
        elif target.path == "/annotations.jsonl" and self._has_token():
            self._answer(HTTPStatus.OK, self.server.desk.export().encode(), "application/x-ndjson")
        else:
            self._json(HTTPStatus.NOT_FOUND, {"message": "there is nothing here"})

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _LARGEST:
            self.close_connection = True
            self._json(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"message": "the length is not given, or over 1 MiB"})
            self._read_on()
            return
        body = self.rfile.read(int(length))
        if not self._is_own():
            return
        media = self.headers.get("content-type", "").partition(";")[0].strip()
        if self.path != "/judgements" or media != "application/json" or not self._has_token():
            self._json(HTTPStatus.NOT_FOUND, {"message": "there is nothing here"})
            return
        try:
            judgement = Judgement.model_validate_json(body)
            self.server.desk.judge(judgement)
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            where = "/".join(map(str, first["loc"]))
            self._json(HTTPStatus.UNPROCESSABLE_ENTITY, {"message": f"{where}: {first['msg']}"})
        except BadJudgement as problem:
            self._json(HTTPStatus.UNPROCESSABLE_ENTITY, {"message": str(problem)})
        except OSError as problem:
            self._json(HTTPStatus.INSUFFICIENT_STORAGE, {"message": f"it is not kept: {problem.strerror or problem}"})
        else:
            self._json(HTTPStatus.OK, self._told(judgement.annotator))

    def _state(self, annotator: str) -> dict[str, Json]:
        proposals = [
            {"key": one.key, **one.model_dump(mode="json", exclude_defaults=True)} for one in self.server.desk.proposals
        ]
        return {"proposals": proposals, **self._told(annotator)}

    def _told(self, annotator: str) -> dict[str, Json]:
        return {"said": self.server.desk.said(annotator), "agreement": self.server.desk.agreement()}

    def _is_own(self) -> bool:
        """Whether a request is the page's own; else it is refused."""
        origin, site = self.headers.get("origin"), self.headers.get("sec-fetch-site", "none")
        origins = {f"http://{host}" for host in self.server.hosts}
        is_own = self.headers.get("host", "") in self.server.hosts and (origin is None or origin in origins)
        if is_own and site in ("same-origin", "none"):
            return True
        self.close_connection = True
        self._json(HTTPStatus.FORBIDDEN, {"message": "only for the page of this server, on this machine"})
        return False

    def _has_token(self) -> bool:
        given = self.headers.get(_TOKEN, "")
        return secrets.compare_digest(given.encode(), self.server.token.encode())

    def _read_on(self) -> None:
        """Read what a client still sends: it may read no answer of a connection that is closed meanwhile.

        RFC 9112 section 9.6: "a server typically closes a connection in stages".
        """
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_LINGERING)
            left = _MOST_UNREAD
            while left > 0 and (part := self.rfile.read1(1 << 16)):
                left -= len(part)

    def _json(self, status: HTTPStatus, value: Json) -> None:
        self._answer(status, json.dumps(value).encode(), "application/json")

    def _answer(self, status: HTTPStatus, body: bytes, media: str) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": media, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the page shows what happens."""
