"""A corrector process for a gRPC API. Needs grpcio, which is imported here and in what this imports only."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from corrigible.proxy.core.loop.shared import SharedLoops
from corrigible.proxy.grpc.channel import Secured, open_upstream
from corrigible.proxy.grpc.corrector import GrpcCorrector
from corrigible.proxy.grpc.forwarder import KEPT
from corrigible.proxy.grpc.front_end import LARGE_MESSAGE, CallOutcome, GrpcFront
from corrigible.proxy.runtime.dispatcher import Dispatcher
from corrigible.proxy.runtime.fork_server import Served

from .grpc_service import GrpcService
from .http_server import Answering
from .process import SuccessWatch
from .processing import GrpcWants, Wants


@dataclass(slots=True)
class GrpcJob:
    """Refusals of a gRPC API."""

    corrector: GrpcCorrector
    upstream: str
    """HOST:PORT."""
    loops: SharedLoops
    work: Served
    secured: Secured | None = None
    """How the upstream is called; None for in the clear."""
    is_described: bool = False
    """Whether descriptors are known; else the upstream is asked for them."""
    complain: Callable[[str], None] = lambda line: None
    largest_here: int = LARGE_MESSAGE

    @property
    def body_limit(self) -> int:
        return KEPT

    @property
    def wants(self) -> Wants:
        return GrpcWants()

    @asynccontextmanager
    async def serving(self, dispatcher: Dispatcher, admin: Path | None) -> AsyncIterator[Answering]:
        upstream = open_upstream(self.upstream, self.secured)
        outcomes: list[Callable[[CallOutcome], None]] = []
        front = GrpcFront(
            self.corrector,
            upstream,
            dispatcher,
            described=self.is_described,
            record=lambda outcome: outcomes[0](outcome),
            complain=self.complain,
        )
        watch = SuccessWatch(admin) if admin is not None else None
        service = GrpcService(front, self.corrector, watch_successes=watch.begin if watch is not None else None)
        outcomes.append(service.ended)
        if front.reflection is not None:
            front.reflection.begin()
        try:
            yield service.answer
        finally:
            if front.reflection is not None:
                front.reflection.stop()
            await upstream.close()
            if watch is not None:
                await watch.close()
