"""Bring your own agent: an HTTP server that hands out prompts and base URLs, and carries out the agent's calls.

    POST /episodes              -> {id, prompt, about, base_url, attempts}; 410 when all are handed out
    anything under base_url     -> the API, as one arm of the plan shows it
    POST /episodes/ID/finish    {"outcome": "done", "reason": "..."}

The agent learns neither its arm, nor its task's id, nor whether it succeeded. Its requests become moves of an episode.
Knows: HTTP, resolved plans, the log. Does not know: how an episode is played or scored.
"""

from __future__ import annotations

import json
import queue
import random
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from corrigible.conformance.lift.agents.protocol import Briefing, Ending, Kind, Move, Response, Send, Stop, is_read
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.episode import Job
from corrigible.conformance.lift.log import Episode, Store
from corrigible.conformance.lift.resolved_plan import ResolvedPlan, manifest
from corrigible.conformance.lift.run import EnvironmentPool
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.transport.http1 import HttpRequest, request_document
from corrigible.schema.document import is_credential_name
from corrigible.schema.exchange import Json, Request

ENDINGS: Final[tuple[Ending, ...]] = ("done", "impossible", "needs input", "gave up")
"""The outcomes that an agent may report."""
MOST_CALLS: Final = 50
"""Of one episode, look-ups included."""


class NoCalls(Exception):
    """The agent sent nothing, so there is nothing to score."""


@dataclass(frozen=True, slots=True)
class ExternalAgent:
    """An agent under the name that the log gives it. Its episodes are `ExternalEpisode`s."""

    name: str
    kind: Kind = "external"

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"name": self.name, "served": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        raise NotImplementedError("an external agent plays through an ExternalEpisode")


@dataclass(eq=False)
class ExternalEpisode:
    """One episode of an external agent: an agent for `episode.play` on one side, a client's API on the other."""

    agent: ExternalAgent
    attempts: int
    timeout: float
    """Seconds from the start to the end."""
    kind: Kind = "external"
    used: int = 0
    calls: int = 0
    briefing: Briefing | None = None
    over: threading.Event = field(default_factory=threading.Event)
    """No further call is carried out."""
    _ready: threading.Event = field(default_factory=threading.Event)
    _moves: queue.Queue[Move] = field(default_factory=queue.Queue)
    _responses: queue.Queue[Response | None] = field(default_factory=queue.Queue)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _lost: int = 0

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def identity(self) -> Mapping[str, Json]:
        return self.agent.identity

    # Called by the thread that plays the episode.

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        """Yield the agent's moves until it stops, has no attempt left, or its time is out."""
        self.briefing = briefing
        self._ready.set()
        deadline = time.monotonic() + self.timeout
        while self.used < self.attempts and self.calls < MOST_CALLS:
            try:
                move = self._moves.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                if not self.calls:
                    raise NoCalls(f"nothing was called in {self.timeout:g} s") from None
                yield Stop("gave up", "its time was out")
                return
            if isinstance(move, Stop):
                yield move
                return
            response = yield move
            self.calls += 1
            self.used += move.lost + (move.ends_episode or not response.succeeded)
            self._responses.put(response)

    def ended(self) -> None:
        """Mark the episode as over, and release everybody who waits."""
        self.over.set()
        self._ready.set()
        self._responses.put(None)

    # Called by the threads that serve the agent.

    def wait_for_briefing(self) -> Briefing | None:
        """Return the briefing; None if the set-up failed."""
        self._ready.wait()
        return self.briefing

    def call(self, request: Request) -> Response | None:
        """Make one call. None: the episode is over.

        A successful read is a look-up and no attempt, unless the task itself is to read.
        """
        with self._turn:
            if self.over.is_set() or self.briefing is None:
                return None
            reads = self.briefing.read_methods
            settles = not is_read(request, reads) or is_read(self.briefing.request, reads)
            self._moves.put(Send(request, ends_episode=settles, lost=self._lost))
            self._lost = 0
            return self._responses.get()

    def lose(self) -> None:
        """Count an attempt whose request could not be read."""
        with self._turn:
            self._lost += 1
            if self.used + self._lost >= self.attempts and not self.over.is_set():
                self._moves.put(Stop("gave up", "what it sent could not be read", lost=self._lost))
                self.over.wait()

    def finish(self, ending: Ending, reason: str) -> None:
        """End the episode, and wait until it is scored. A second call does nothing."""
        with self._turn:
            if not self.over.is_set():
                self._moves.put(Stop(ending, reason, lost=self._lost))
                self.over.wait()


_GRACE: Final = 3600.0


@dataclass(slots=True)
class _Served:
    """An episode that was handed out."""

    job: Job
    episode: ExternalEpisode
    thread: threading.Thread | None = None
    record: Episode | None = None


def allocation(jobs: Sequence[Job], seed: int) -> list[Job]:
    """Return the order in which episodes are handed out: random and balanced.

    In every round each (task, seed) comes once, and arms come equally often. After as many rounds as there are arms,
    each (task, seed) was under each arm. So an agent that stops early has seen arms equally often, give or take one.
    """
    rng = random.Random(seed)
    blocks: dict[tuple[str, str, int], dict[Arm, Job]] = {}
    for job in jobs:
        blocks.setdefault((job.domain, job.task.id, job.seed), {})[job.arm] = job
    arms = sorted({job.arm for job in jobs})
    rng.shuffle(arms)
    keys = sorted(blocks)
    rng.shuffle(keys)
    order: list[Job] = []
    for turn in range(len(arms)):
        round_ = [(key, arms[(index + turn) % len(arms)]) for index, key in enumerate(keys)]
        rng.shuffle(round_)
        order += [blocks[key][arm] for key, arm in round_ if arm in blocks[key]]
    return order


class EpisodeService:
    """Hands out episodes and takes calls for them. Usable from several threads.

    `pools` are environments that the caller started and closes, by domain; others are started here and closed.
    """

    def __init__(
        self,
        resolved: ResolvedPlan,
        store: Store,
        agent: ExternalAgent,
        report: Callable[[str], None],
        pools: Mapping[str, EnvironmentPool] | None = None,
    ) -> None:
        self._resolved, self._store, self._agent, self._report = resolved, store, agent, report
        before = store.log.episodes if store.log is not None else ()
        completed_keys = {episode.key for episode in before if episode.outcome != "error"}
        self.total = len(resolved.jobs)
        self._left = deque(
            job for job in allocation(resolved.jobs, resolved.plan.seeds[0]) if job.key not in completed_keys
        )
        self._served: dict[str, _Served] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._own_pools = {
            domain: EnvironmentPool(resolved.environments[domain], domain, slow=True)
            for domain in resolved.files
            if domain not in (pools or {})
        }
        self._pools = {**(pools or {}), **self._own_pools}
        store.add(manifest(resolved, time.time()))

    def open(self) -> tuple[str, ExternalEpisode] | None:
        """Start the next episode. None: all are handed out. Raises UsageError if none can be set up."""
        for _ in range(3):
            with self._lock:
                if not self._left:
                    return None
                job = self._left.popleft()
                name = secrets.token_urlsafe(16)  # nobody can guess it, and it tells neither arm nor task
                episode = ExternalEpisode(self._agent, job.attempts, job.timeout)
                served = self._served[name] = _Served(job, episode)
            served.thread = threading.Thread(target=self._play, args=(served,), name=f"episode {name}", daemon=True)
            served.thread.start()
            if episode.wait_for_briefing() is not None:
                return name, episode
            episode.over.wait()
        raise UsageError(served.record.why if served.record is not None else "no episode can be set up")

    def episode(self, name: str) -> ExternalEpisode | None:
        """Return an episode that was handed out."""
        with self._lock:
            served = self._served.get(name)
        return served.episode if served is not None else None

    def is_grpc(self, name: str) -> bool:
        return self._resolved.environments[self._served[name].job.domain].grpc

    def is_form(self, name: str) -> bool:
        return self._served[name].job.file.form

    def status(self) -> dict[str, int]:
        """Return how many episodes there are, are left, run and ended."""
        with self._lock:
            running = sum(not served.episode.over.is_set() for served in self._served.values())
            left = len(self._left)
        return {"episodes": self.total, "left": left, "running": running, "ended": self.total - left - running}

    def close(self) -> None:
        """Stop all servers. Episodes that still run count as never played."""
        with self._lock:
            self._closed = True
        for pool in self._own_pools.values():
            pool.close()

    def _play(self, served: _Served) -> None:
        job = replace(served.job, agent=served.episode, timeout=served.job.timeout + _GRACE)
        try:
            served.record = self._pools[job.domain].play(job)
            with self._lock:
                if self._closed:  # it ended with its servers, and the store may be closed as well
                    return
                self._store.add(served.record)
            if served.record.outcome == "error":
                self._report(f"an episode broke and will be handed out by another run: {served.record.why}")
        except UsageError as problem:
            self._report(str(problem))
        finally:
            served.episode.ended()
            self._report("{ended} of {episodes} episodes ended, {running} running, {left} left".format(**self.status()))


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
