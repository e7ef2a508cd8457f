"""`corrigible proxy --grpc-upstream`: one server, one channel, the pipeline between them."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from corrigible.adapters.protobuf.description import ProtobufDescription
from corrigible.adapters.protobuf.descriptors import Descriptors, load

from .grpc_carrier import open_channel, serve
from .grpc_front import GrpcFront, Said
from .grpc_status import HTTP
from .journal import Entry, Journal
from .mode import Mode
from .translate import Translator

_GRACE = 5.0
"""Seconds that calls under way have to end once the proxy is told to stop."""


@dataclass(frozen=True, slots=True)
class GrpcSettings:
    upstream: str
    """HOST:PORT."""
    listen: str
    descriptors: Path | None = None
    mode: Mode = Mode.REFLECTIVE


def run(settings: GrpcSettings, translator: Translator, *, journal: Journal | None, line: Callable[[str], str]) -> int:
    """Serve until SIGTERM or SIGINT: 0. An address that is taken is 1. Raises AuthoringError for wrong descriptors."""
    descriptors = load(settings.descriptors) if settings.descriptors is not None else Descriptors()
    translator = described(translator, descriptors)
    translator.warm_up()
    return asyncio.run(_run(settings, translator, descriptors, journal, line))


def described(translator: Translator, descriptors: Descriptors) -> Translator:
    """Return a translator that knows what the descriptors say, where no rule speaks."""
    description = ProtobufDescription(descriptors)
    return Translator([replace(known, description=description) for known in translator.known], translator.limits)


async def _run(
    settings: GrpcSettings,
    translator: Translator,
    descriptors: Descriptors,
    journal: Journal | None,
    line: Callable[[str], str],
) -> int:
    channel = open_channel(settings.upstream, None)
    told = (lambda said: _record(journal, said)) if journal is not None else (lambda said: None)
    front = GrpcFront(translator, channel, descriptors, mode=settings.mode, told=told)
    try:
        server, port = await serve(settings.listen, channel, front.correct, None)
    except RuntimeError:
        print(f"corrigible proxy: cannot listen on {settings.listen}", file=sys.stderr)
        return 1
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    host = settings.listen.rpartition(":")[0]
    print(line(f"{host}:{port}"), file=sys.stderr, flush=True)
    await stop.wait()
    await server.stop(_GRACE)
    await channel.close()
    return 0


def _record(journal: Journal, said: Said) -> None:
    decision = said.decision
    journal.write(
        Entry(
            time=said.started,
            id=said.id,
            method="GRPC",
            path=said.refusal.method,
            status=HTTP[said.refusal.code],
            outcome="annotated" if decision is not None else "untouched",
            milliseconds=(time.time() - said.started) * 1000,
            operation=said.operation or None,
            rules=decision.rules if decision is not None else (),
            reason=said.reason,
            error=said.error,
            feedback=decision.feedback if decision is not None else None,
        )
    )
