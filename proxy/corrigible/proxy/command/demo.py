"""`corrigible demo`: a rejected call, the same call through the proxy, and the corrected retry."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from corrigible.adapters.sandbox.error import SandboxError
from corrigible.proxy.demo.client import Caller
from corrigible.proxy.demo.page import BOLD, DIM, WIDTH, Page
from corrigible.proxy.demo.scene import SCENES, Scene
from corrigible.proxy.demo.servers import SANDBOXES, proxy_for
from corrigible.rules.errors import CorrigibleError
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import MEMBER
from corrigible.schema.reader import NeedsInput, Next, apply

from .options import one_of

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


class DemoError(CorrigibleError):
    """A step of the demo did not have the expected result."""


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "demo",
        description="Start local servers and the proxy. For each API, show a call that it rejects, the same call "
        "through the proxy, and the retry that a program without a language model derives from the feedback.",
    )
    parser.add_argument("apis", nargs="*", metavar="API", help="default: all that can run on this machine")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play every scene. Exit status 1 if a step does not have the expected result."""
    page = Page(sys.stdout)
    try:
        for scene in _chosen(arguments.apis, page):
            _play(scene, page)
    except CorrigibleError as error:
        print(f"corrigible demo: {error}", file=sys.stderr)
        return 1
    page.line("Each call was rejected, corrected and accepted, by real servers and without a language model.", BOLD)
    return 0


def _chosen(apis: Sequence[str], page: Page) -> Iterator[Scene]:
    """Yield the scenes that the user named, else all that can run on this machine."""
    scenes = {scene.api: scene for scene in SCENES}
    for api in apis or scenes:
        check_machine = scenes[one_of("API", api, tuple(scenes))].check_machine
        try:
            if check_machine is not None:
                check_machine()
        except SandboxError as problem:
            if apis:
                raise
            for text in textwrap.wrap(f"{api} is skipped: {problem}", WIDTH):
                page.line(text, DIM)
            page.line()
            continue
        yield scenes[api]


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

        page.step(f"1. The call, directly to {upstream.url}")
        page.request(call)
        plain = direct.send(call)
        page.answer(plain, plain.body)
        _expect(not plain.succeeded, "the call was not rejected")
        _expect(plain.feedback is None, "the API itself sends recovery_feedback")

        page.step(f"2. The same call through the proxy, to {proxy.url}")
        corrected = through.send(call)
        feedback = corrected.feedback
        if feedback is None:
            raise DemoError("the proxy added nothing")
        page.answer(corrected, {MEMBER: feedback}, note="the same error, with feedback added")
        _expect(corrected.status == plain.status, f"the status became {corrected.status}")
        _expect(preserves(plain.body, corrected.body), "the original error was changed")

        page.step("3. The retry that a program without a language model derives from it")
        following = apply(feedback, call)
        if isinstance(following, NeedsInput) and following.confirm:
            page.line("The program asks first, since the fix changes what was asked for. Here the answer is yes.")
            following = apply(feedback, call, confirm=True)
        if not isinstance(following, Next):
            raise DemoError(f"the feedback leads to no next request: {following}")
        for step in following.steps:
            page.request(step)
            _expect(through.send(step).succeeded, f"the step {step.method} {step.path} was rejected")
        page.request(following.request, before=call)
        final = through.send(following.request)
        page.answer(final, {key: final.body.get(key) for key in scene.shown_members} if final.succeeded else final.body)
        page.line()
        _expect(final.succeeded, "the retry was rejected")


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
