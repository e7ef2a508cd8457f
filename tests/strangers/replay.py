"""Replays a recorded case through the product's own pipeline: no server, no network.

Knows: the corrector, recorded answers. Does not know: what is right.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

from corrigible.proxy.build import SpecWarning, build_engine, build_loops
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.pack_tools.case_runner import answer_lookup
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER, run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Request

from .case import FOLDER, Case, Recorded, Stranger, document, wire_request
from .judge import Episode, Reply, follow, is_same


@cache
def engine(description: Path) -> Engine:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return build_engine((), description)


def replay(name: str, stranger: Stranger, case: Case) -> Episode:
    """Follow the feedback to a recorded case. Each case is a caller of its own."""
    corrector = HttpCorrector(engine(FOLDER / name / stranger.description), loops=build_loops())

    def send(request: Request) -> Reply | None:
        sent = document(wire_request(request))
        recorded = next((one for one in case.exchanges if is_same(sent, document(one.request))), None)
        return _corrected(corrector, recorded) if recorded is not None else None

    return follow(document(case.exchanges[0].request), send)


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
