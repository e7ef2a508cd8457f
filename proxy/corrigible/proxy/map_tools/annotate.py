"""`corrigible map annotate`: people judge proposed mappings on a page of this machine.

| asks for            | gets                                                |
|---------------------|-----------------------------------------------------|
| GET /               | the page; its script and its style are files beside |
| GET /state          | proposals, and what the annotator has said          |
| POST /judgements    | keeps one                                           |
| GET /annotations.jsonl | what counts, as a file                           |

A page of another site must not read or write here: requests name this server as their host, and where a browser says
where they come from, that is this page.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, ValidationError

from corrigible.adapters.mapping.annotation import (
    Annotation,
    Name,
    Proposal,
    Verdict,
    agreements,
    corrected,
    latest,
    proposals_of,
    read_annotations,
    read_proposals,
)
from corrigible.adapters.mapping.conversion import CONVERSIONS
from corrigible.adapters.mapping.map_index import read_map
from corrigible.adapters.mapping.mapping import Equivalence, FieldMapping, FileModel
from corrigible.adapters.mapping.store import SqliteIndex
from corrigible.rules.errors import CorrigibleError
from corrigible.schema.command_line import several
from corrigible.schema.exchange import Json

from .build import described, proposals_for, read_utterances

try:
    import fcntl
except ImportError:  # Windows: nobody keeps a second process from the file
    fcntl = None  # type: ignore[assignment]


class JournalInUse(CorrigibleError):
    """Another process writes to the file."""


class Journal:
    """An open file of lines. Lines are only added."""

    def __init__(self, path: Path) -> None:
        """Open it, and make it where it is not there. Raises JournalInUse and OSError."""
        self.path = path
        self._lock = threading.Lock()
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._drop_torn_line()
            if is_new:
                _sync_folder(path.parent)
        except BlockingIOError:
            os.close(self._file)
            raise JournalInUse(f"{path}: another process writes to it") from None
        except BaseException:
            os.close(self._file)
            raise

    def _drop_torn_line(self) -> None:
        """Cut a last line without its end: its writer was ended before it could say that the line is kept."""
        data = self.path.read_bytes()
        if data and not data.endswith(b"\n"):
            os.ftruncate(self._file, data.rfind(b"\n") + 1)
            os.fsync(self._file)

    def add(self, line: str) -> None:
        """Write a line, and return when it is on the disk. Raises OSError, and then the file is as it was."""
        data = f"{line}\n".encode()
        with self._lock:
            size = os.fstat(self._file).st_size
            try:
                written = os.write(self._file, data)
                if written != len(data):
                    raise OSError("the disk took only a part of it")
                os.fsync(self._file)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._file, size)
                raise

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


class BadJudgement(CorrigibleError):
    """What was sent cannot be kept."""


class Judgement(FileModel):
    """What the page sends."""

    annotator: Name
    number: int = Field(ge=0)
    """Which proposal."""
    key: str
    """Its key, so that a page of an earlier run does not judge another one."""
    verdict: Verdict
    equivalence: Equivalence | None = None
    arguments: tuple[FieldMapping, ...] = Field(default=(), max_length=2000)
    note: str = Field(default="", max_length=4000)


class AnnotationDesk:
    """One run of the page."""

    def __init__(self, proposals: Sequence[Proposal], file: Path, now: Callable[[], str]) -> None:
        """`now` gives the time, ISO 8601. Raises AuthoringError, JournalInUse and OSError."""
        keys = {proposal.key: proposal for proposal in proposals}
        self.proposals = tuple(keys.values())
        self._now = now
        self._journal = Journal(file)
        try:
            self._annotations = read_annotations(file)
        except BaseException:
            self._journal.close()
            raise
        self._lock = threading.Lock()

    def close(self) -> None:
        self._journal.close()

    def judge(self, judgement: Judgement) -> Annotation:
        """Keep a judgement. Raises BadJudgement, and OSError where the disk does not take it."""
        if judgement.number >= len(self.proposals) or self.proposals[judgement.number].key != judgement.key:
            raise BadJudgement("no such proposal: load the page anew")
        proposal = self.proposals[judgement.number]
        right = None
        if judgement.verdict is Verdict.ACCEPT:
            right = proposal.mapping
        elif judgement.verdict is Verdict.CORRECT:
            unknown = next(
                (one.conversion for one in judgement.arguments if one.conversion not in ("", *CONVERSIONS)), None
            )
            if unknown is not None:
                raise BadJudgement(f'no conversion is called "{unknown}"; there are: {", ".join(CONVERSIONS)}')
            for one in judgement.arguments:
                for pointer in (one.source, one.target):
                    if not pointer.startswith("/"):
                        raise BadJudgement(f'"{pointer}" is no place such as /body/name')
            right = corrected(
                proposal.mapping, judgement.arguments, judgement.equivalence or proposal.mapping.equivalence
            )
        annotation = Annotation(
            annotator=judgement.annotator,
            at=self._now(),
            verdict=judgement.verdict,
            utterance=proposal.utterance,
            proposed=proposal.mapping,
            mapping=right,
            note=judgement.note,
        )
        line = annotation.model_dump_json(exclude_defaults=False)
        with self._lock:
            self._journal.add(line)
            self._annotations.append(annotation)
        return annotation

    def said(self, annotator: str) -> dict[str, Json]:
        """Return what one annotator has said, by the numbers of the proposals. What others say is not shown."""
        with self._lock:
            said = latest(self._annotations)
        out: dict[str, Json] = {}
        for number, proposal in enumerate(self.proposals):
            one = said.get((annotator, proposal.key))
            if one is not None:
                document = one.model_dump(mode="json", include={"verdict", "mapping", "note"})
                out[str(number)] = document
        return out

    def agreement(self) -> list[Mapping[str, Any]]:
        """Return how far each two annotators agree."""
        with self._lock:
            annotations = list(self._annotations)
        keys = {proposal.key for proposal in self.proposals}
        return [one._asdict() for one in agreements(one for one in annotations if one.key in keys)]

    def export(self) -> str:
        """Return what counts, a line each, in the order in which it was said."""
        with self._lock:
            counting = list(latest(self._annotations).values())
        return "".join(f"{one.model_dump_json()}\n" for one in counting)


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


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "annotate",
        help="judge proposed mappings on a local page",
        description="Serve a page on 127.0.0.1 where people accept, correct or reject proposed mappings, by keyboard. "
        "Each judgement is added to a file as a line of JSON, and is on the disk before the page goes on.",
    )
    several(parser, "--map", type=Path, metavar="FILE", help="a map: its mappings")
    several(
        parser,
        "--proposals",
        type=Path,
        metavar="FILE",
        help="mappings to judge with the utterances that they were found by, a JSON object a line",
    )
    parser.add_argument(
        "--index",
        type=Path,
        metavar="FILE",
        help="as `corrigible map index` wrote it: its descriptions are shown; without --map and --proposals its "
        "operations are mapped, and the nearest candidates stand beside",
    )
    parser.add_argument(
        "--utterances",
        type=Path,
        metavar="FILE",
        help="with --index: utterances of users, one a line, or ToolBench's queries: the operations found are judged",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        default=Path("annotations.jsonl"),
        help="where annotations are added; default: %(default)s",
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT. Exit status: 0 stopped, 1 cannot listen or write, 2 a file is wrong."""
    proposals = _proposals(args)
    if not proposals:
        raise CorrigibleError(
            "corrigible map annotate: nothing to judge: --map, --proposals or --index with some mappings is required"
        )
    try:
        desk = AnnotationDesk(proposals, args.out, _now)
    except OSError as problem:
        return _fail(f"{args.out}: {(problem.strerror or str(problem)).lower()}")
    try:
        server = AnnotationServer(desk, args.port)
    except (OSError, OverflowError) as problem:
        desk.close()
        return _fail(f"cannot listen on port {args.port}: {str(problem).lower()}")
    print(f"corrigible map annotate: {server.url} ({len(desk.proposals)} proposals, to {args.out})", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
        desk.close()
    return 0


def _proposals(args: argparse.Namespace) -> list[Proposal]:
    proposals: list[Proposal] = []
    for file in args.map:
        proposals += proposals_of(read_map(file))
    for file in args.proposals:
        proposals += read_proposals(file)
    if args.utterances and (args.index is None or proposals):
        raise CorrigibleError("--utterances belongs to --index without --map and --proposals")
    if args.index is None:
        return proposals
    utterances = read_utterances(args.utterances) if args.utterances else []
    if args.utterances and not utterances:
        raise CorrigibleError(f"{args.utterances}: no utterance")
    with closing(SqliteIndex(args.index)) as index:
        if proposals:
            return list(described(proposals, index))
        names = [one.name for one in index.apis()]
        return proposals_for(index, names, names, utterances)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _fail(problem: str) -> int:
    print(f"corrigible map annotate: {problem}", file=sys.stderr)
    return 1
