"""What a process keeps of refusals has a bound, whatever is refused."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Iterator

import pytest

from corrigible.conformance.model.yaml_file import SUITE
from corrigible.proxy.build import build_corrector, build_loops
from corrigible.proxy.core.loop import detector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from tests.bench.refusals import Refusals

ENDLESS: dict[str, str] = {}
"""Caches without a bound that grow while refusals are corrected, and why they end all the same."""
PATTERNS = 400


def endless() -> Iterator[tuple[str, int]]:
    """Yield the caches without a bound, and how many entries each has."""
    for one in gc.get_objects():
        if not isinstance(one, functools._lru_cache_wrapper) or one.cache_info().maxsize is not None:
            continue
        if one.__module__.startswith("corrigible."):
            yield f"{one.__module__}.{one.__qualname__}".removeprefix("corrigible."), one.cache_info().currsize


@pytest.mark.nightly
def test_varied_refusals_fill_only_what_has_a_bound() -> None:
    """Blocks that are allocated for good are those of caches that are not full yet: a few for each refusal."""
    reference = SUITE / "reference"
    loops = build_loops()
    corrector = build_corrector([reference / "pack"], spec=reference / "openapi.yaml", loops=loops)
    asked, answers = Refusals(5), Refusals(6)

    def refuse(first: int, count: int) -> None:
        for number in range(first, first + count):
            method, target, headers, sent = asked.asked()
            status, body = answers.answered()
            head = RequestHead(method, target, list(headers.items()), "127.0.0.1")
            exchange = HttpExchange(head, sent, ResponseHead(status, [("Content-Type", "application/json")]), body)
            correction = corrector.correct(exchange, id=str(number), started=1e6 + number)
            run_with_lookups_sync(correction, lambda _: LookupAnswer(0), corrector.limits)

    refuse(0, 1200)
    gc.collect()
    before, blocks = dict(endless()), sys.getallocatedblocks()
    refuse(1200, 400)
    gc.collect()
    after = dict(endless())
    assert {name for name, size in after.items() if size > before.get(name, 0)} <= set(ENDLESS)
    assert all(after.get(name, 0) < PATTERNS for name in ENDLESS)
    assert (sys.getallocatedblocks() - blocks) / 400 < 12
    assert 0 < loops.bytes <= detector.BYTES + (64 << 10)
