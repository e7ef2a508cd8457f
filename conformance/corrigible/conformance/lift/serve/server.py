"""Bring your own agent: over HTTP it is handed prompts and base URLs, its calls are watched, the end state is scored.

    POST /episodes              -> {id, prompt, about, base_url, attempts}; 410 when all are played
    anything under base_url     -> the API, as one arm of the plan shows it
    POST /episodes/ID/finish    {"outcome": "done", "reason": "..."}

Which arm, which task and whether it succeeded is told to nobody who plays.
Knows: HTTP, plans, sites. Does not know: how an episode is played or judged.
"""

from __future__ import annotations

import json
import random
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.environment.response import Response
from corrigible.conformance.lift.episode.play import Job, play
from corrigible.conformance.lift.log.record import Episode
from corrigible.conformance.lift.log.store import Store
from corrigible.conformance.lift.run.environment_pool import EnvironmentPool
from corrigible.conformance.lift.run.manifest import manifest
from corrigible.conformance.lift.run.worker_pool import ResolvedPlan
from corrigible.conformance.model.usage_error import UsageError
from corrigible.conformance.transport.http1 import HttpRequest, request_document
from corrigible.schema.exchange import Json, Request

from .external_agent import ENDINGS, ExternalAgent, ExternalEpisode

HTTP_OF_GRPC: Final[Mapping[int, int]] = {
    0: 200, 1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 13: 500,
    14: 503, 15: 500, 16: 401,
}  # fmt: skip
"""The mapping of google.rpc.Code, for APIs of gRPC that are served as JSON over HTTP."""
_OURS: Final = frozenset(
    {"authorization", "prefer", "recovery-feedback", "recovery-feedback-caller", "host", "connection", "content-length"}
    | {"accept-encoding"}
)
"""Headers of a guest's that do not reach the API: credentials are added, and how answers look is the arm's business."""
_UNSAID: Final = frozenset(
    {"content-length", "transfer-encoding", "content-encoding", "connection", "preference-applied"}
)
_LONGEST: Final = 4_000_000
_GRACE: Final = 3600.0


@dataclass(slots=True)
class _Playing:
    """An episode that somebody plays."""

    job: Job
    visit: ExternalEpisode
    thread: threading.Thread | None = None
    episode: Episode | None = None


def allocation(jobs: Sequence[Job], seed: int) -> list[Job]:
    """Return the order in which episodes are handed out: at random, and balanced.

    In every round each (task, seed) comes once, and arms come equally often; after as many rounds as there are arms,
    each (task, seed) was under each arm. Whoever stops early has seen arms equally often but for one round.
    """
    rng = random.Random(seed)
    blocks: dict[tuple[str, str, int], dict[Arm, Job]] = {}
    for job in jobs:
        blocks.setdefault((job.domain, job.task.id, job.seed), {})[job.arm] = job
    arms = sorted({job.arm for job in jobs})
    rng.shuffle(arms)
    places = sorted(blocks)
    rng.shuffle(places)
    out: list[Job] = []
    for turn in range(len(arms)):
        order = [(place, arms[(index + turn) % len(arms)]) for index, place in enumerate(places)]
        rng.shuffle(order)
        out += [blocks[place][arm] for place, arm in order if arm in blocks[place]]
    return out


class Desk:
    """Hands out episodes and takes calls for them. Usable from several threads."""

    def __init__(self, planned: ResolvedPlan, store: Store, agent: ExternalAgent, heard: Callable[[str], None]) -> None:
        self._planned, self._store, self._guest, self._heard = planned, store, agent, heard
        before = store.log.episodes if store.log is not None else ()
        done = {one.key for one in before if one.outcome != "error"}
        self.total = len(planned.jobs)
        self._left = deque(job for job in allocation(planned.jobs, planned.plan.seeds[0]) if job.key not in done)
        self._playing: dict[str, _Playing] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._pools = {
            domain: EnvironmentPool(
                planned.environments[domain], domain, [job for job in self._left if job.domain == domain], slow=True
            )
            for domain in planned.files
        }
        store.add(manifest(planned.plan, planned.files, planned.agents, time.time(), planned.skipped, planned.audit))

    def open(self) -> tuple[str, ExternalEpisode] | None:
        """Start the next episode. None: all are played. Raises UsageError where none can be set up."""
        for _ in range(3):
            with self._lock:
                if not self._left:
                    return None
                job = self._left.popleft()
                name = secrets.token_urlsafe(16)  # nobody else can play it, and it tells neither arm nor task
                visit = ExternalEpisode(self._guest, job.attempts, job.timeout)
                mine = self._playing[name] = _Playing(job, visit)
            mine.thread = threading.Thread(target=self._play, args=(mine,), name=f"episode {name}", daemon=True)
            mine.thread.start()
            if visit.wait_for_briefing() is not None:
                return name, visit
            visit.over.wait()
        why = mine.episode.why if mine.episode is not None else "no episode can be set up"
        raise UsageError(why)

    def visit(self, name: str) -> ExternalEpisode | None:
        """Return an episode that was handed out."""
        with self._lock:
            found = self._playing.get(name)
        return found.visit if found is not None else None

    def is_grpc(self, name: str) -> bool:
        return self._planned.environments[self._playing[name].job.domain].grpc

    def is_form(self, name: str) -> bool:
        return self._playing[name].job.file.form

    def status(self) -> dict[str, int]:
        """Return how far it is."""
        with self._lock:
            running = sum(not one.visit.over.is_set() for one in self._playing.values())
            left = len(self._left)
        return {"episodes": self.total, "left": left, "running": running, "ended": self.total - left - running}

    def close(self) -> None:
        """Stop all servers. Episodes that are not over count as never played."""
        with self._lock:
            self._closed = True
        for running in self._pools.values():
            running.close()

    def _play(self, mine: _Playing) -> None:
        job = replace(mine.job, agent=mine.visit, timeout=mine.job.timeout + _GRACE)
        shared = self._pools[job.domain]
        try:
            if job.arm is Arm.SHUFFLED:
                job = replace(job, pool=shared.feedback_of_others(job))
            with shared.environment_for(job.task.id) as running:
                mine.episode = play(job, running)
            with self._lock:
                if self._closed:  # its end is that of its servers, and the store may be closed as well
                    return
                self._store.add(mine.episode)
            if mine.episode.outcome == "error":
                self._heard(f"an episode broke and will be handed out by another run: {mine.episode.why}")
        except UsageError as problem:
            self._heard(str(problem))
        finally:
            mine.visit.ended()
            self._heard("{ended} of {episodes} episodes ended, {running} running, {left} left".format(**self.status()))


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back to the guest."""

    status: int
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)


class Server(ThreadingHTTPServer):
    """The desk, on 127.0.0.1."""

    daemon_threads = True

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self.desk = desk
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
                return Reply(200, self.desk.status())
            case _:
                told = "POST /episodes, call what is under its base_url, POST /episodes/ID/finish; GET /status"
                return Reply(404, {"message": told})

    def _open(self) -> Reply:
        try:
            opened = self.desk.open()
        except UsageError as problem:
            return Reply(503, {"message": f"no episode can be set up: {problem}"})
        if opened is None:
            return Reply(410, {"message": "all episodes are handed out", **self.desk.status()})
        name, visit = opened
        assert visit.briefing is not None
        document = {
            "id": name,
            "prompt": visit.briefing.prompt,
            "about": visit.briefing.about,
            "base_url": f"{self.url}/at/{name}",
            "attempts": visit.attempts,
        }
        return Reply(201, document)

    def _finish(self, name: str, body: bytes) -> Reply:
        visit = self.desk.visit(name)
        if visit is None:
            return Reply(404, {"message": f"no episode {name}"})
        try:
            document = json.loads(body or b"{}")
            ending, reason = str(document.get("outcome", "done")), str(document.get("reason", ""))
        except (ValueError, AttributeError):
            return Reply(400, {"message": 'the body is {"outcome": "done", "reason": "..."}'})
        found = next((one for one in ENDINGS if one == ending.replace("_", " ")), None)
        if found is None:
            return Reply(400, {"message": f"outcome {ending}: one of {', '.join(ENDINGS)}"})
        visit.finish(found, reason[:2000])
        return Reply(200, {"recorded": True, **self.desk.status()})

    def _call(self, name: str, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Reply:
        visit = self.desk.visit(name)
        if visit is None:
            return Reply(404, {"message": f"no episode {name}"})
        grpc, form = self.desk.is_grpc(name), self.desk.is_form(name)
        try:
            request = read_call(method, target.removeprefix(f"/at/{name}"), headers, body, grpc=grpc, form=form)
        except ValueError as problem:
            visit.lose()
            return Reply(400, {"message": f"this does not reach the API, and is an attempt: {problem}"})
        seen = visit.call(request)
        if seen is None:
            told = f"the episode is over: no attempt or no time is left. POST {self.url}/episodes for another one"
            return Reply(410, {"message": told})
        return _reply(seen, grpc=grpc)


def read_call(
    method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes, *, grpc: bool, form: bool
) -> Request:
    """Read a guest's call as a request document. Raises ValueError where it is none."""
    apart = _OURS | {"content-type"} if grpc else _OURS
    kept = tuple((name, value) for name, value in headers if name.lower() not in apart)
    sent = HttpRequest(method, target or "/", kept, body)
    try:
        found = request_document(sent)
    except UnicodeDecodeError:
        raise ValueError("the body is no UTF-8") from None
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"the body is no JSON: {problem}") from None
    if grpc:
        if method != "POST":
            raise ValueError("it speaks gRPC: POST /package.Service/Method, with the message as JSON")
        metadata = {n: v for n, v in found.headers.items() if n not in ("accept", "user-agent")}
        return Request(found.path, "", headers=metadata, body=found.body)
    if found.body is not None and found.form is not form:
        wanted = "application/x-www-form-urlencoded" if form else "application/json"
        raise ValueError(f"bodies have the content-type {wanted} here")
    plain = {n: v for n, v in found.headers.items() if n not in ("user-agent",)}
    return replace(found, headers=plain)


def _reply(seen: Response, *, grpc: bool) -> Reply:
    status = HTTP_OF_GRPC.get(seen.status, 500) if grpc else seen.status
    return Reply(status, seen.body, {n: v for n, v in seen.headers.items() if n not in _UNSAID})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def _any(self) -> None:
        length = self.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _LONGEST or self.headers.get("transfer-encoding"):
            self.close_connection = True
            return self._send(Reply(411, {"message": f"send a content-length, up to {_LONGEST}"}))
        body = self.rfile.read(int(length))
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
        """Say nothing: episodes are in the log."""
