"""`corrigible demo`: a rejected call, the same call through the proxy, and the corrected retry."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from corrigible.adapters.sandbox.server import Running, SandboxError, Server, is_free
from corrigible.proxy.demo.scene import (
    BOLD,
    DIM,
    SCENES,
    AnyCaller,
    Caller,
    Page,
    PipeCaller,
    RunCaller,
    Scene,
    ordered,
    proxy_for,
    through_mcp_proxy,
)
from corrigible.rules.errors import CorrigibleError
from corrigible.schema.document import form_pairs, query_pairs
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import MEMBER
from corrigible.schema.reader import NeedsInput, Next, apply

from .options import one_of

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_KEPT_SCENE: Final = "stripe"
_NOT_KEPT: Final = {scene.name for scene in SCENES if scene.on_pipes is not None or scene.is_run}
_KEPT_PORT: Final = 8080
"""Of the proxy that `--keep` leaves running, if the port is free: README and docs call this address."""


class DemoError(CorrigibleError):
    """A step of the demo did not have the expected result."""


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "demo",
        description="Start local servers and the proxy. Each scene shows a call that a server rejects, the same call "
        "through the proxy, and the retry that a program without a language model derives from the feedback.",
    )
    named = ", ".join(f"{scene.name} ({scene.server.title})" for scene in SCENES)
    usual = " and ".join(scene.name for scene in SCENES if scene.check_machine is None)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"{named}; default: {usual}")
    parser.add_argument("--all", action="store_true", help="every scene that can run on this machine")
    parser.add_argument("--full", action="store_true", help="print requests and answers in full")
    parser.add_argument(
        "--keep",
        action="store_true",
        help=f"leave the server and the proxy of one scene (default: {_KEPT_SCENE}) running until Ctrl-C",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play scenes. Exit status 1 if a step does not have the expected result."""
    page = Page(sys.stdout, full=arguments.full)
    names = arguments.scenes or ([_KEPT_SCENE] if arguments.keep else [])
    try:
        if arguments.keep and len(names) > 1:
            raise DemoError("--keep is for one scene")
        if arguments.keep and {*names} & _NOT_KEPT:
            raise DemoError(f"--keep is not for the scene {names[0]}: nothing listens there")
        for scene in _chosen(names, page, every=arguments.all):
            with ExitStack() as stack:
                _play(scene, page, stack, keep=arguments.keep)
    except CorrigibleError as error:
        print(f"corrigible demo: {error}", file=sys.stderr)
        return 1
    if not arguments.keep:
        page.line("Real servers rejected the calls and accepted the corrected ones, without a model.", BOLD)
    return 0


def _chosen(names: Sequence[str], page: Page, *, every: bool) -> Iterator[Scene]:
    """Yield the scenes that the user named, else those that need no other program, or all that can run here."""
    scenes = {scene.name: scene for scene in SCENES}
    for name in names or scenes:
        scene = scenes[one_of("SCENE", name, tuple(scenes))]
        if scene.check_machine is not None:
            if not names and not every:
                continue
            try:
                scene.check_machine()
            except SandboxError as problem:
                if names:
                    raise
                page.wrapped(f"{name} is left out: {problem}", DIM)
                continue
        yield scene


def _play(scene: Scene, page: Page, stack: ExitStack, *, keep: bool = False) -> None:
    page.head(f"{scene.server.title}: {scene.title}")
    page.line("Starting the server and the proxy. The server is installed on first use.", DIM)
    direct, through, upstream = _callers(scene, stack, keep=keep)
    call = scene.call(direct)

    page.line(f"1. The call {direct.place}", BOLD)
    page.request(call)
    plain = direct.send(call)
    page.answer(plain, plain.body, most=3)
    _expect(not plain.succeeded, "the call was not rejected")
    _expect(plain.feedback is None, "the API itself sends recovery_feedback")

    page.line(f"2. The same call {through.place}: the same error, with feedback", BOLD)
    corrected = through.send(call)
    feedback = corrected.feedback
    if feedback is None:
        raise DemoError("the proxy added nothing")
    page.answer(corrected, {MEMBER: ordered(feedback)}, most=7)
    _expect(corrected.status == plain.status, f"the status became {corrected.status}")
    _expect(preserves(plain.body, corrected.body), "the original error was changed")

    page.line("3. The retry that a program without a language model derives from the feedback", BOLD)
    following = apply(feedback, call)
    if isinstance(following, NeedsInput) and following.confirm:
        page.line("   The correction changes what was asked for: the program asks, and the user agrees.")
        following = apply(feedback, call, confirm=True)
    if not isinstance(following, Next):
        raise DemoError(f"the feedback leads to no next request: {following}")
    for step in following.steps:
        page.request(step, most=2)
        _expect(through.send(step).succeeded, f"the step {step.method} {step.path} was rejected")
    (page.request if scene.is_described else partial(page.change, call))(following.request, most=2)
    final = through.send(following.request)
    page.answer(final, {key: final.body.get(key) for key in scene.shown_members} if final.succeeded else final.body)
    page.line()
    _expect(final.succeeded, "the retry was rejected")
    if keep and upstream is not None and isinstance(through, Caller):
        page.line(f"The server and the proxy ({through.url}) run until Ctrl-C. In another terminal:", BOLD)
        page.line(curl(through.url, call, scene.headers))
        with suppress(KeyboardInterrupt):
            upstream.process.wait()
            raise DemoError(upstream.exit_report())


def _callers(scene: Scene, stack: ExitStack, *, keep: bool) -> tuple[AnyCaller, AnyCaller, Running | None]:
    """Start what the scene needs. Return who calls the API, who calls it with Corrigible between, and the API."""
    if scene.on_pipes is not None:
        command = scene.on_pipes(Path(stack.enter_context(TemporaryDirectory(prefix="corrigible-"))))
        direct = stack.enter_context(PipeCaller("to a process on pipes", command))
        return direct, stack.enter_context(PipeCaller("through corrigible mcp-proxy", through_mcp_proxy(command))), None
    upstream = stack.enter_context(scene.server.start())
    ca = scene.authority(upstream.port) if scene.authority is not None else None
    caller = stack.enter_context(Caller(upstream.url, scene.headers, authority=ca))
    if scene.is_run:
        return caller, RunCaller(upstream.url, scene.pack), None
    options = ["--upstream-ca", str(ca)] if ca else ["--sdl", f"{upstream.url}/"] if scene.is_described else []
    server: Server = proxy_for(upstream.url, *([scene.pack] if scene.pack else []), options=options)
    proxy = stack.enter_context(server.start(_KEPT_PORT if keep and is_free(_KEPT_PORT) else 0))
    return caller, stack.enter_context(Caller(proxy.url, scene.headers, called="the proxy")), upstream


def curl(url: str, call: Request, headers: Mapping[str, str]) -> str:
    """Return the command that sends a call as a user would, wrapped by backslashes."""
    query = f"?{urlencode(list(query_pairs(call.query)))}" if call.query else ""
    implied = "GET" if call.body is None else "POST"
    words = [["curl", *(["-X", call.method] if call.method != implied else []), url + call.path + query]]
    words += [["-H", f"{name}: {value}"] for name, value in {**headers, **call.headers}.items()]
    if call.body is not None and call.form:
        words += [["-d", f"{name}={value}"] for name, value in form_pairs(call.body)]
    elif call.body is not None:
        words += [["-H", "content-type: application/json"], ["-d", json.dumps(call.body)]]
    return " \\\n  ".join(shlex.join(group) for group in words)


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise DemoError(otherwise)


def preserves(native: Json, corrected: Json) -> bool:
    """Whether every member of the native answer is still there unchanged. Members may have been added."""
    if isinstance(native, list) and isinstance(corrected, list):
        return all(map(preserves, native, corrected)) and len(native) <= len(corrected)
    if not isinstance(native, Mapping):
        return bool(native == corrected)
    return isinstance(corrected, Mapping) and all(
        key in corrected and preserves(value, corrected[key]) for key, value in native.items()
    )
