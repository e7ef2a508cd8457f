"""`corrigible demo`: a refused call as it is, the same call through the proxy, and the repaired retry."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from corrigible.adapters.apis.kubernetes.sandbox import TOKENS, authority, find_apiserver
from corrigible.adapters.demo.recipe.tasks import task as recipe_task
from corrigible.adapters.sandbox.error import SandboxError
from corrigible.proxy.demo.client import Answer, Caller
from corrigible.proxy.demo.servers import SANDBOXES, proxy_for
from corrigible.rules.errors import CorrigibleError, suggest_spelling
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import MEMBER
from corrigible.schema.reader import Next, apply

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

WIDTH: Final = 96
_BOLD, _RED, _GREEN, _DIM, _PLAIN = "\033[1m", "\033[31m", "\033[32m", "\033[2m", "\033[0m"


class DemoError(CorrigibleError):
    """A step of the demo did not do what it shows."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One call that is refused, and what has to be there before."""

    api: str
    title: str
    call: Callable[[Caller], Request]
    """Sets the stage on the API itself and returns the call."""
    shown: Sequence[str]
    """Members of the final answer that say enough."""
    headers: Mapping[str, str] = field(default_factory=dict)
    authority: Callable[[int], Path] | None = None
    """The CA file of the server on this port, where it speaks TLS."""
    wants: Callable[[], object] | None = None
    """Raises SandboxError where this machine lacks what nobody can install for it."""


def _stripe(api: Caller) -> Request:
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


SCENES: Final = (
    Scene("recipe", "pancakes for a person with celiac disease", _recipe, shown=("success",)),
    Scene(
        "stripe",
        "a refund of $5.00 where $3.00 is left on the charge",
        _stripe,
        shown=("id", "object", "amount", "charge", "status"),
        headers={"authorization": "Bearer sk_test_corrigible0000000001"},
    ),
    Scene(
        "github",
        "a file changed without the sha of what is there",
        _github,
        shown=("content",),
        headers={"authorization": "Bearer token-octocat"},
    ),
    Scene(
        "kubernetes",
        "a Deployment that selects other pods than it makes",
        _kubernetes,
        shown=("apiVersion", "kind"),
        headers={"authorization": f"Bearer {TOKENS['admin']}"},
        authority=authority,
        wants=find_apiserver,
    ),
)


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "demo",
        help="show a refused call, the same call through the proxy, and the repaired retry",
        description="Start local servers and the proxy, and show for each a refused call as it is, the same call "
        "through the proxy, and the retry that a reader without a language model makes of the feedback.",
    )
    parser.add_argument("apis", nargs="*", metavar="API", help="which ones; default: all that can run here")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play every scene. Status 1 where a step does not hold."""
    page = Page(sys.stdout)
    try:
        for scene in _chosen(arguments.apis, page):
            _play(scene, page)
    except CorrigibleError as error:
        print(f"corrigible demo: {error}", file=sys.stderr)
        return 1
    page.line("Each call was refused, corrected and accepted, by real servers and without a language model.", _BOLD)
    return 0


def _chosen(apis: Sequence[str], page: Page) -> Iterator[Scene]:
    """Yield the scenes that are asked for; without a wish all that can be played here."""
    known = {scene.api: scene for scene in SCENES}
    for api in apis or known:
        if api not in known:
            raise DemoError(f"no demo called {api}: there is {', '.join(known)}{suggest_spelling(api, known)}")
        wants = known[api].wants
        try:
            if wants is not None:
                wants()
        except SandboxError as problem:
            if apis:
                raise
            for text in textwrap.wrap(f"{api} is left out: {problem}", WIDTH):
                page.line(text, _DIM)
            page.line()
            continue
        yield known[api]


def _play(scene: Scene, page: Page) -> None:
    server = SANDBOXES[scene.api][0]
    with ExitStack() as stack:
        page.head(f"{server.title}: {scene.title}")
        upstream = stack.enter_context(server.start())
        ca = scene.authority(upstream.port) if scene.authority is not None else None
        options = ["--upstream-ca", str(ca)] if ca is not None else []
        proxy = stack.enter_context(proxy_for(upstream.url, scene.api, options=options).start())
        direct = stack.enter_context(Caller(upstream.url, scene.headers, authority=ca))
        through = stack.enter_context(Caller(proxy.url, scene.headers))
        call = scene.call(direct)

        page.step(f"1. The call as it is, to {upstream.url}")
        page.request(call)
        plain = direct.send(call)
        page.answer(plain, plain.body)
        _hold(not plain.succeeded, "the call was not refused")
        _hold(plain.feedback is None, "the API itself sends recovery_feedback")

        page.step(f"2. The same call through the proxy, to {proxy.url}")
        corrected = through.send(call)
        feedback = corrected.feedback
        if feedback is None:
            raise DemoError("the proxy added nothing")
        page.answer(corrected, {MEMBER: feedback}, note="as before, and beside it")
        _hold(corrected.status == plain.status, f"the status became {corrected.status}")
        _hold(keeps(plain.body, corrected.body), "the native answer is not what it was")

        page.step("3. What a reader without a language model makes of it")
        following = apply(feedback, call)
        if not isinstance(following, Next):
            raise DemoError(f"the reader has no next request: {following}")
        for step in following.steps:
            page.request(step)
            _hold(through.send(step).succeeded, f"the step {step.method} {step.path} was refused")
        page.request(following.request, before=call)
        final = through.send(following.request)
        page.answer(final, {key: final.body.get(key) for key in scene.shown} if final.succeeded else final.body)
        page.line()
        _hold(final.succeeded, "the retry was refused")


def _hold(claim: bool, otherwise: str) -> None:
    if not claim:
        raise DemoError(otherwise)


def keeps(native: Json, corrected: Json) -> bool:
    """Say whether every member of the native answer is still there as it was, whatever was added to it."""
    if isinstance(native, list) and isinstance(corrected, list):
        return all(map(keeps, native, corrected)) and len(native) <= len(corrected)
    if not isinstance(native, Mapping):
        return bool(native == corrected)
    return isinstance(corrected, Mapping) and all(
        key in corrected and keeps(value, corrected[key]) for key, value in native.items()
    )


class Page:
    """Plain text of at most 100 columns; colours where a person is looking."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._colours = out.isatty() and "NO_COLOR" not in os.environ

    def line(self, text: str = "", colour: str = "") -> None:
        painted = f"{colour}{text}{_PLAIN}" if colour and self._colours else text
        print(painted, file=self._out, flush=True)

    def head(self, text: str) -> None:
        self.line(f"=== {text} ".ljust(WIDTH, "="), _BOLD)

    def step(self, text: str) -> None:
        self.line()
        self.line(text, _BOLD)

    def request(self, request: Request, *, before: Request | None = None) -> None:
        """Show a request; with `before`, mark what is different."""
        self.line(f"   {request.method} {request.path}")
        old = list(lines({} if before is None else _sent(before)))
        for text in lines(_sent(request)):
            changed = before is not None and text not in old
            self.line(f"   {'>' if changed else ' '} {text}", _GREEN if changed else "")

    def answer(self, answer: Answer, body: Json, note: str = "") -> None:
        verdict = "accepted" if answer.succeeded else "refused"
        head = f"   {answer.status} {answer.reason}, {verdict}" + (f": {note}" if note else "")
        self.line(head, _GREEN if answer.succeeded else _RED)
        for text in lines(body):
            self.line(f"     {text}", "" if note else _DIM)


def _sent(request: Request) -> dict[str, Json]:
    """Return what a request says beside its path."""
    return {**{f"{name}:": value for name, value in request.headers.items()}, **request.query, **(request.body or {})}


def lines(value: Json, name: str = "", *, width: int = WIDTH - 5) -> Iterator[str]:
    """Yield JSON with as many members to a line as fit."""
    start = f"{json.dumps(name)}: " if name else ""
    flat = start + json.dumps(value, ensure_ascii=False)
    if len(flat) < width or not isinstance(value, dict | list) or not value:
        yield from textwrap.wrap(flat, width, subsequent_indent="  ", break_on_hyphens=False)
        return
    yield start + ("{" if isinstance(value, dict) else "[")
    members = list(value.items()) if isinstance(value, dict) else [("", inner) for inner in value]
    for index, (key, inner) in enumerate(members):
        *most, last = lines(inner, key, width=width - 2)
        comma = "," if index < len(members) - 1 else ""
        yield from (f"  {line}" for line in (*most, last + comma))
    yield "}" if isinstance(value, dict) else "]"
