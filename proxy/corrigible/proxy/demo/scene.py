"""The scenes of `corrigible demo`: one call each that a real server rejects, who sends it, and what is printed of it.

A scene fits on one screen of 24 lines and 88 columns. The local servers are those of other projects, and our examples.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final, TextIO
from urllib.parse import urlencode

import httpx

from corrigible.adapters.apis.etcd.sandbox import SERVERS as ETCD
from corrigible.adapters.apis.github.sandbox import SERVERS as GITHUB
from corrigible.adapters.apis.kubernetes.sandbox import SERVERS as KUBERNETES
from corrigible.adapters.apis.kubernetes.sandbox import TOKENS, authority, find_apiserver
from corrigible.adapters.apis.stripe.sandbox import SERVERS as STRIPE
from corrigible.adapters.demo.acme.sandbox import ACME
from corrigible.adapters.demo.recipe.tasks import task as recipe_task
from corrigible.adapters.described.sandboxes import BETTER_AUTH, GRAPHQL, KINTO, LLAMA, memory_on_pipes
from corrigible.adapters.sandbox.runtimes import find_node, python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, SandboxError, Server, last_lines
from corrigible.client.explanation import difference
from corrigible.schema.carrier import find
from corrigible.schema.document import form_pairs, query_pairs
from corrigible.schema.exchange import Json, Request


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    reason: str
    body: Json
    """Decoded JSON, else text."""

    @property
    def feedback(self) -> Mapping[str, Json] | None:
        """The `recovery_feedback` of this answer."""
        feedback = find(self.body, self.status)
        return feedback if isinstance(feedback, dict) else None

    @property
    def succeeded(self) -> bool:
        """Whether the call succeeded: 2xx, and a body without `success: false`, `errors`, or `isError: true`."""
        body = self.body if isinstance(self.body, dict) else {}
        failed = body.get("success") is False or "errors" in body or body.get("result", {}).get("isError") is True
        return 200 <= self.status < 300 and not failed


class Caller:
    """A client of one server. `headers` (credentials) go with every call and never enter a request document."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        authority: Path | None = None,
        called: str = "the API",
    ) -> None:
        self.place = f"to {called}, {url}"
        self.url = url
        self._headers = dict(headers or {})
        trust = ssl.create_default_context(cafile=authority) if authority is not None else True
        self._client = httpx.Client(base_url=url, timeout=30.0, verify=trust, trust_env=False)  # no proxy on loopback

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def send(self, request: Request) -> Answer:
        """Send one request and read its answer."""
        headers = {**self._headers, **request.headers}
        headers.pop("content-type", None)  # set below, from the kind of body
        content: bytes | None = None
        if request.body is not None and request.form:
            content = urlencode(list(form_pairs(request.body))).encode()
            headers["content-type"] = "application/x-www-form-urlencoded"
        elif request.body is not None:
            content = json.dumps(request.body).encode()
            headers["content-type"] = "application/json"
        target = request.path + (f"?{urlencode(list(query_pairs(request.query)))}" if request.query else "")
        answer = self._client.request(request.method, target, content=content, headers=headers)
        try:
            body = answer.json()
        except ValueError:
            body = answer.text
        return Answer(answer.status_code, answer.reason_phrase, body)


_OURS: Final = ("-c", "import sys; from corrigible.proxy.cli import main; sys.exit(main())")
_PROGRAM: Final = """\
import json, sys, urllib.error, urllib.request
url, method, body = sys.argv[1:]
call = urllib.request.Request(url, body.encode(), {"content-type": "application/json"}, method=method)
try:
    answer = urllib.request.urlopen(call)
except urllib.error.HTTPError as refusal:
    answer = refusal
print(json.dumps([answer.status, answer.reason, json.load(answer)]))
"""


class RunCaller:
    """A program that knows nothing of a proxy, and is run by `corrigible run`."""

    def __init__(self, url: str, pack: str) -> None:
        self.place = "of a program in corrigible run"
        self._url = url
        host = url.partition("://")[2]
        ours, program = [sys.executable, *_OURS], [sys.executable, "-c", _PROGRAM]
        self._command = [*ours, "run", "--pack", f"{host}={pack}", "--", *program]

    def send(self, request: Request) -> Answer:
        """Run the program once, and read what it prints."""
        words = [f"{self._url}{request.path}", request.method, json.dumps(request.body)]
        done = subprocess.run([*self._command, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SandboxError(f"corrigible run ended with exit status {done.returncode}:\n{last_lines(done.stderr)}")
        return Answer(*json.loads(done.stdout))


class PipeCaller:
    """A client of a server of the Model Context Protocol on pipes. The body of a request is the message."""

    def __init__(self, place: str, command: Command) -> None:
        self.place = place
        self._process = subprocess.Popen(
            command.arguments,
            cwd=command.folder,
            env={**os.environ, **command.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> PipeCaller:
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "demo", "version": "1"}}
        self._ask({"jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": about})
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._ask({"jsonrpc": "2.0", "id": "tools", "method": "tools/list"})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def send(self, request: Request) -> Answer:
        """Send one message and read its answer, which has no status."""
        return Answer(200, "", self._ask(request.body))

    def _say(self, message: Json) -> IO[str]:
        wire, answers = self._process.stdin, self._process.stdout
        assert wire is not None and answers is not None
        wire.write(json.dumps(message) + "\n")
        wire.flush()
        return answers

    def _ask(self, message: Json) -> Json:
        answers = map(json.loads, self._say(message))
        return next(one for one in answers if one.get("id") == message["id"])


AnyCaller = Caller | RunCaller | PipeCaller


def through_mcp_proxy(command: Command) -> Command:
    """Return the command of `corrigible mcp-proxy` before a server on pipes."""
    arguments = [sys.executable, *_OURS, "mcp-proxy", "--", *command.arguments]
    return Command(arguments, command.folder, command.environment)


def _recipe_command(port: int) -> Command:
    code = f"import sys; from corrigible.proxy.demo.recipe_service import serve; serve('{HOST}', int(sys.argv[1]))"
    return Command(python_arguments(code, str(port)))


RECIPE = Server(
    name="recipe",
    title="recipe service",
    deviation="is this project's own example and stands for no other API",
    command=_recipe_command,
)
SANDBOXES = {
    "stripe": STRIPE,
    "github": GITHUB,
    "kubernetes": KUBERNETES,
    "etcd": ETCD,
    "recipe": (RECIPE,),
    "acme": (ACME,),
    "kinto": (KINTO,),
    "better-auth": (BETTER_AUTH,),
    "graphql": (GRAPHQL,),
    "models": (LLAMA,),
}
"""API -> the servers that behave like it, the default first."""


def find_server(api: str, name: str | None = None) -> Server | None:
    """Return the named server of an API, or its default; None where there is no such server."""
    servers = SANDBOXES[api]
    return servers[0] if name is None else next((server for server in servers if server.name == name), None)


def proxy_for(upstream: str, *packs: str, mode: str = "reflective", options: Sequence[str] = ()) -> Server:
    """Describe `corrigible proxy` in front of this upstream, with these additional options."""
    scheme = "https" if "--tls-cert" in options else "http"

    def command(port: int) -> Command:
        arguments = ["--upstream", upstream, "--listen", f"{HOST}:{port}", "--mode", mode, *options]
        for pack in packs:
            arguments += ["--pack", pack]
        return Command(python_arguments(_OURS[1], "proxy", *arguments, executable=sys.executable))

    return Server(
        name="proxy", title="corrigible proxy", deviation="adds recovery_feedback", command=command, scheme=scheme
    )


WIDTH: Final = 88
BOLD, DIM = "\033[1m", "\033[2m"
_RED, _GREEN, _PLAIN = "\033[31m", "\033[32m", "\033[0m"
_INDENT: Final = "   "


class Page:
    """Plain text, with colours on a terminal. `full` shows all of every body, on as many lines as that needs."""

    def __init__(self, out: TextIO, *, full: bool = False) -> None:
        self._out = out
        self._full = full
        self._colours = out.isatty() and "NO_COLOR" not in os.environ

    def line(self, text: str = "", colour: str = "") -> None:
        painted = f"{colour}{text}{_PLAIN}" if colour and self._colours else text
        print(painted, file=self._out, flush=True)

    def wrapped(self, text: str, colour: str = "") -> None:
        for line in textwrap.wrap(text, WIDTH):
            self.line(line, colour)

    def head(self, text: str) -> None:
        self.line(f"=== {text} ".ljust(WIDTH, "="), BOLD)

    def request(self, request: Request, *, most: int = 3) -> None:
        """Print a request."""
        self._block(_called(request), _members(request), most)

    def change(self, before: Request, after: Request, *, most: int = 2) -> None:
        """Print how a request differs from the one before."""
        lines = difference(before, after, longest=WIDTH)
        kept = lines if self._full or len(lines) <= most else [*lines[: most - 1], _rest(len(lines) - most + 1)]
        self.line(f"{_INDENT}{_called(after)}, changed:")
        for line in kept:
            self.line(textwrap.shorten(f"{_INDENT}  {line}".replace(" ", "\0"), WIDTH).replace("\0", " "), _GREEN)

    def answer(self, answer: Answer, body: Json, *, most: int = 2) -> None:
        """Print the status of an answer, and a part of its body."""
        colour = _GREEN if answer.succeeded else _RED
        self._block(f"{answer.status} {answer.reason}:" if answer.reason else "answer:", body, most, colour)

    def _block(self, head: str, value: Json, most: int, colour: str = "") -> None:
        if self._full:
            self.line(f"{_INDENT}{head}", colour)
            for text in json.dumps(value, ensure_ascii=False, indent=2).splitlines():
                self.line(f"{_INDENT}  {text}")
            return
        first, *more = cut(f"{head} {json.dumps(value, ensure_ascii=False)}", most)
        self.line(f"{_INDENT}{first}", colour)
        for text in more:
            self.line(f"{_INDENT}  {text}", DIM if text.startswith("...") else colour)


def ordered(feedback: Mapping[str, Json]) -> Json:
    """Return feedback with the members first that the retry is made of."""
    wanted = ("action", "message", "suggestions", "patch", "placeholders", "applicability")
    suggestions = [_sorted(one, wanted) for one in feedback.get("suggestions", ())]
    return _sorted({**feedback, **({"suggestions": suggestions} if suggestions else {})}, wanted)


def _sorted(value: Mapping[str, Json], first: tuple[str, ...]) -> dict[str, Json]:
    return {name: value[name] for name in (*(one for one in first if one in value), *value)}


def _members(request: Request) -> dict[str, Json]:
    """Return the headers, the query and the body of a request."""
    return {**{f"{name}:": value for name, value in request.headers.items()}, **request.query, **(request.body or {})}


def _called(request: Request) -> str:
    """Return what a request calls: a method of HTTP and a path, or a method of JSON-RPC."""
    is_message = isinstance(request.body, dict) and "jsonrpc" in request.body
    return str(request.body["method"]) if is_message else f"{request.method} {request.path}"


def _rest(count: int) -> str:
    return f"... {count} more line{'s' * (count > 1)}"


def cut(text: str, most: int) -> list[str]:
    """Return a text on `most` lines; what does not fit is counted on the last one."""
    room = WIDTH - len(_INDENT) - 2
    wrapped = textwrap.wrap(text, room, break_on_hyphens=False)
    return wrapped if len(wrapped) <= most else [*wrapped[: most - 1], _rest(len(wrapped) - most + 1)]


_STRIPE: Final = {server.name: server for server in SANDBOXES["stripe"]}


@dataclass(frozen=True, slots=True)
class Scene:
    """One call that is rejected, and its set-up."""

    name: str
    server: Server
    pack: str
    title: str
    call: Callable[[AnyCaller], Request]
    """Prepares the state of the API and returns the call."""
    shown_members: Sequence[str]
    """Members of the final answer that are printed."""
    headers: Mapping[str, str] = field(default_factory=dict)
    authority: Callable[[int], Path] | None = None
    """Returns the CA file of the server on this port, if it uses TLS."""
    is_described: bool = False
    """Whether the server says its GraphQL schema, so that no pack is needed."""
    is_run: bool = False
    """Whether the call is that of a program that `corrigible run` runs."""
    on_pipes: Callable[[Path], Command] | None = None
    """Returns the command of a server that speaks on pipes, in place of `server`. What it keeps is in the folder."""
    check_machine: Callable[[], object] | None = None
    """Raises SandboxError where a program is missing that no package of the demo brings. None: played by default."""


def _plan(api: AnyCaller) -> Request:
    plan = {"id": "gold", "amount": "1000", "currency": "usd", "interval": "monthly", "product": {"name": "Gold"}}
    return Request("POST", "/v1/plans", body=plan, form=True)


def _refund(api: AnyCaller) -> Request:
    card = {"amount": "1000", "currency": "usd", "source": "tok_visa"}
    charge = api.send(Request("POST", "/v1/charges", body=card, form=True))
    refund = {"charge": charge.body["id"], "amount": "700"}
    api.send(Request("POST", "/v1/refunds", body=refund, form=True))
    return Request("POST", "/v1/refunds", body={**refund, "amount": "500"}, form=True)


def _recipe(api: AnyCaller) -> Request:
    task = recipe_task("adv_ctx_001")
    return Request("POST", task.path, body=task.request)


def _book(api: AnyCaller) -> Request:
    document = 'mutation { createBook(titel: "Jim Knopf", copies: "2", author_id: 1) { id title copies } }'
    return Request("POST", "/", body={"query": document})


def _conversation(api: AnyCaller) -> Request:
    weather = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}
    said = [{"role": "user", "content": "What is the weather?"}]
    return Request("POST", "/v1/chat/completions", body={"tools": [weather], "model": "tiny", "messages": said})


def _entity(api: AnyCaller) -> Request:
    ada = {"name": "Ada Lovelace", "entityType": "person", "observation": ["wrote the first program"]}
    call = {"name": "create_entities", "arguments": {"entities": [ada]}}
    return Request("POST", "/", body={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})


def _github(api: AnyCaller) -> Request:
    path = "/repos/octocat/hello-world/contents/README.md"
    return Request("PUT", path, body={"message": "Greet", "content": "SGVsbG8h"})


def _kubernetes(api: AnyCaller) -> Request:
    resources = {"requests": {"memory": "512Mi"}, "limits": {"memory": "256Mi"}}
    container = {"name": "web", "image": "nginx:1.27", "resources": resources}
    template = {"metadata": {"labels": {"app": "store"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": spec}
    return Request("POST", "/apis/apps/v1/namespaces/default/deployments", body=body)


_STRIPE_KEY: Final = {"authorization": "Bearer sk_test_corrigible0000000001"}
SCENES: Final = (
    Scene("recipe", RECIPE, "recipe", "pancakes for a person with celiac disease", _recipe, ("success",)),
    Scene(
        "stripe",
        _STRIPE["localstripe"],
        "stripe",
        "a plan with a misspelt interval",
        _plan,
        ("id", "object", "amount", "interval"),
        _STRIPE_KEY,
    ),
    Scene(
        "refund",
        _STRIPE["stateful-mock"],
        "stripe",
        "a refund of $5.00 when $3.00 is left on the charge",
        _refund,
        ("id", "object", "amount", "status"),
        _STRIPE_KEY,
        check_machine=find_node,
    ),
    Scene(
        "github",
        SANDBOXES["github"][0],
        "github",
        "a file updated without the sha of its present content",
        _github,
        ("content",),
        {"authorization": "Bearer token-octocat"},
        check_machine=find_node,
    ),
    Scene(
        "kubernetes",
        SANDBOXES["kubernetes"][0],
        "kubernetes",
        "a Deployment whose selector does not match its pods",
        _kubernetes,
        ("apiVersion", "kind"),
        {"authorization": f"Bearer {TOKENS['admin']}"},
        authority=authority,
        check_machine=find_apiserver,
    ),
    Scene(
        "graphql",
        GRAPHQL,
        "",
        "a misspelt argument, and a number sent as text",
        _book,
        ("data",),
        is_described=True,
        check_machine=find_node,
    ),
    Scene(
        "mcp",
        replace(GRAPHQL, title="server-memory 2026.8.31"),
        "",
        "a tool that is called with a member that it does not know",
        _entity,
        ("result",),
        on_pipes=memory_on_pipes,
        check_machine=find_node,
    ),
    Scene(
        "models",
        LLAMA,
        "models",
        "a tool in the form of another API",
        _conversation,
        ("choices",),
        check_machine=lambda: None,
    ),
    Scene(
        "run",
        RECIPE,
        "recipe",
        "a program that nobody changed",
        _recipe,
        ("success",),
        is_run=True,
        check_machine=lambda: None,
    ),
)
