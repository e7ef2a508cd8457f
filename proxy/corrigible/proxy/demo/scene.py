"""The scenes of `corrigible demo`: one call each that a real server rejects.

What `corrigible demo` prints: requests and answers, each scene on one screen of 24 lines and 88 columns.

Send request documents to a server the way a client of its API would.

The local servers: those of other projects, our own examples, and the proxy itself.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO
from urllib.parse import urlencode

import httpx

from corrigible.adapters.apis.etcd.sandbox import SERVERS as ETCD
from corrigible.adapters.apis.github.sandbox import SERVERS as GITHUB
from corrigible.adapters.apis.kubernetes.sandbox import SERVERS as KUBERNETES
from corrigible.adapters.apis.kubernetes.sandbox import TOKENS, authority, find_apiserver
from corrigible.adapters.apis.stripe.sandbox import SERVERS as STRIPE
from corrigible.adapters.demo.acme.sandbox import ACME
from corrigible.adapters.demo.recipe.tasks import task as recipe_task
from corrigible.adapters.described.sandboxes import BETTER_AUTH, KINTO
from corrigible.adapters.sandbox.runtimes import find_node, python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, Server
from corrigible.client.explanation import difference
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
        feedback = self.body.get("recovery_feedback") if isinstance(self.body, dict) else None
        return feedback if isinstance(feedback, dict) else None

    @property
    def succeeded(self) -> bool:
        """Whether the call succeeded: 2xx, and no `success: false` in the body."""
        failed = isinstance(self.body, dict) and self.body.get("success") is False
        return 200 <= self.status < 300 and not failed


class Caller:
    """A client of one server. `headers` (credentials) go with every call and never enter a request document."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, *, authority: Path | None = None) -> None:
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
        code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
        arguments = ["--upstream", upstream, "--listen", f"{HOST}:{port}", "--mode", mode, *options]
        for pack in packs:
            arguments += ["--pack", pack]
        return Command(python_arguments(code, "proxy", *arguments, executable=sys.executable))

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
        self._block(f"{request.method} {request.path}", _members(request), most)

    def change(self, before: Request, after: Request, *, most: int = 2) -> None:
        """Print how a request differs from the one before."""
        lines = difference(before, after, longest=WIDTH)
        kept = lines if self._full or len(lines) <= most else [*lines[: most - 1], _rest(len(lines) - most + 1)]
        self.line(f"{_INDENT}{after.method} {after.path}, changed:")
        for line in kept:
            self.line(textwrap.shorten(f"{_INDENT}  {line}".replace(" ", "\0"), WIDTH).replace("\0", " "), _GREEN)

    def answer(self, answer: Answer, body: Json, *, most: int = 2) -> None:
        """Print the status of an answer, and a part of its body."""
        colour = _GREEN if answer.succeeded else _RED
        self._block(f"{answer.status} {answer.reason}:", body, most, colour)

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
    call: Callable[[Caller], Request]
    """Prepares the state of the API and returns the call."""
    shown_members: Sequence[str]
    """Members of the final answer that are printed."""
    headers: Mapping[str, str] = field(default_factory=dict)
    authority: Callable[[int], Path] | None = None
    """Returns the CA file of the server on this port, if it uses TLS."""
    check_machine: Callable[[], object] | None = None
    """Raises SandboxError where a program is missing that no package of the demo brings. None: played by default."""


def _plan(api: Caller) -> Request:
    plan = {"id": "gold", "amount": "1000", "currency": "usd", "interval": "monthly", "product": {"name": "Gold"}}
    return Request("POST", "/v1/plans", body=plan, form=True)


def _refund(api: Caller) -> Request:
    card = {"amount": "1000", "currency": "usd", "source": "tok_visa"}
    charge = api.send(Request("POST", "/v1/charges", body=card, form=True))
    refund = {"charge": charge.body["id"], "amount": "700"}
    api.send(Request("POST", "/v1/refunds", body=refund, form=True))
    return Request("POST", "/v1/refunds", body={**refund, "amount": "500"}, form=True)


def _recipe(api: Caller) -> Request:
    task = recipe_task("adv_ctx_001")
    return Request("POST", task.path, body=task.request)


def _github(api: Caller) -> Request:
    path = "/repos/octocat/hello-world/contents/README.md"
    return Request("PUT", path, body={"message": "Greet", "content": "SGVsbG8h"})


def _kubernetes(api: Caller) -> Request:
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
)
