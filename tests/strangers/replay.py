"""Replays a recorded case through the product's own pipeline: no server, no network.

Knows: the correctors, recorded answers. Does not know: what is right.
"""

from __future__ import annotations

import base64
import json
import math
import warnings
from collections.abc import Iterator, Set
from contextlib import contextmanager
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal
from unittest.mock import patch

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.proxy.build import SpecWarning, build_engine, build_loops
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.grpc.corrector import GrpcCorrector
from corrigible.proxy.grpc.forwarder import CallResult
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.pack_tools.lint import answer_lookup
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER, run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.wordings import reader
from corrigible.schema.exchange import Request

from .case import FOLDER, Case, Recorded, Stranger, document, wire_request
from .judge import Episode, Reply, follow, is_same

Known = Literal["described", "empty", "nothing"]
"""What the product is given of the API: its description, one that says nothing, or none."""


_UNTIMED: Final = Limits(seconds=math.inf)
"""What is right does not depend on how busy the machine is."""


@cache
def engine(description: Path | None) -> Engine:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return build_engine((), description, _UNTIMED)


@cache
def rpc_corrector(description: Path, told: Known) -> GrpcCorrector:
    read = {"described": descriptors(description), "empty": Descriptors(), "nothing": None}[told]
    return GrpcCorrector(build_engine((), limits=_UNTIMED, rpc=True), read)


def forget() -> None:
    """Start engines anew: they remember what they made of a refusal with the weights of then."""
    engine.cache_clear()
    rpc_corrector.cache_clear()


@cache
def descriptors(description: Path) -> Descriptors:
    return Descriptors(FileDescriptorSet.FromString(description.read_bytes()).file)


@contextmanager
def rows_left_out(left_out: Set[str] = frozenset()) -> Iterator[set[str]]:
    """Read without some rows of wordings, by their ids. Yields those that were read, the set grows meanwhile."""
    read: set[str] = set()
    said = reader.Wordings.said

    def others(wordings: reader.Wordings, *sentence: Any) -> list[reader.Said]:
        found = [one for one in said(wordings, *sentence) if one.row not in left_out]
        read.update(one.row for one in found)
        return found

    reader._read.cache_clear()
    try:
        with patch.object(reader.Wordings, "said", others):
            yield read
    finally:
        reader._read.cache_clear()


def replay(name: str, stranger: Stranger, case: Case, known: Known = "described") -> Episode:
    """Follow the feedback to a recorded case. Each case is a caller of its own."""
    description = FOLDER / name / stranger.description
    if stranger.is_rpc:
        return _replay_calls(description, case, known)
    told = {"described": description, "empty": FOLDER / "empty.json", "nothing": None}[known]
    corrector = HttpCorrector(engine(told), loops=build_loops())

    def send(request: Request) -> Reply | None:
        sent = document(wire_request(request))
        recorded = next((one for one in case.exchanges if _is_recorded(sent, one)), None)
        return _corrected(corrector, recorded) if recorded is not None else None

    return follow(document(case.exchanges[0].request), send)


def _is_recorded(sent: Request, recorded: Recorded) -> bool:
    """Whether a recorded refusal is of this request: of a refused `Accept` that says the same."""
    other = document(recorded.request)
    is_form = recorded.status == _NOT_ACCEPTABLE and sent.headers.get("accept") != other.headers.get("accept")
    return not is_form and is_same(sent, other)


_NOT_ACCEPTABLE = 406


def _corrected(corrector: HttpCorrector, recorded: Recorded) -> Reply:
    head = RequestHead(recorded.method, recorded.target, recorded.headers, "127.0.0.1")
    response = ResponseHead(recorded.status, recorded.response_headers)
    if recorded.status < 400 or corrector.wants_body(head, response) is None:
        return Reply(recorded.status)

    def fetch(lookup: Lookup) -> LookupAnswer:
        is_recorded = f"{lookup.method} {lookup.path}" in recorded.lookups
        return answer_lookup(recorded.lookups, lookup) if is_recorded else NO_ANSWER

    native = HttpExchange(head, recorded.body.encode(), response, recorded.response_body.encode())
    outcome = run_with_lookups_sync(corrector.correct(native, id="recorded", started=0.0), fetch, corrector.limits)
    assert outcome.error is None, outcome.error
    return Reply(recorded.status, outcome.feedback)


def _replay_calls(description: Path, case: Case, told: Known) -> Episode:
    known, corrector = descriptors(description), copy(rpc_corrector(description, told))
    corrector.loops = build_loops()

    def send(request: Request) -> Reply | None:
        recorded = next((one for one in case.exchanges if is_same(request, document(one.request))), None)
        if recorded is None:  # what cannot be encoded no client can send
            is_told = request.method in known.methods
            return Reply(400) if is_told and known.request_bytes(request.method, request.body or {}) is None else None
        trailers = dict(recorded.response_headers)
        code, details = int(trailers.pop("grpc-status")), trailers.pop("grpc-status-details-bin", "")
        binary = (("grpc-status-details-bin", base64.b64decode(details)),) if details else ()
        message = known.request_bytes(recorded.method, json.loads(recorded.body or "null")) or b""
        call = CallResult(recorded.method, tuple(recorded.headers), message, code, recorded.response_body, binary)
        outcome = run_with_lookups_sync(
            corrector.correct(call, id="recorded", started=0.0), lambda lookup: NO_ANSWER, corrector.limits
        )
        assert outcome.error is None, outcome.error
        return Reply(recorded.status, outcome.feedback)

    return follow(document(case.exchanges[0].request), send)
