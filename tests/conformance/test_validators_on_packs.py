"""What our own packs say in their cases, held before the judge, which knows nothing of how they are made."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from corrigible.conformance.checks.support.exchange import feedback_findings
from corrigible.conformance.reference import api
from corrigible.conformance.validators.finding import AnnotatedError, Registered
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.rules.lookup import LookupAnswer
from corrigible.rules.pack.cases import Case, load_cases
from corrigible.rules.pack.load import built_in, rule_files

PACKS = {**built_in(), "shop": api.PACK}
LARGE = ("github", "kubernetes", "models", "stripe")
"""Packs with hundreds of cases each: every night. Of models, every sixth file of cases is read on each change."""


def decided(engine: Engine, case: Case) -> Annotate | None:
    translation = engine.decide(case.exchange)
    try:
        wanted = next(translation)
        while True:
            there = case.text.lookups.get(f"{wanted.method} {wanted.path}")
            said = LookupAnswer(404) if there is None else LookupAnswer(200, orjson.dumps(there))
            wanted = translation.send(said)
    except StopIteration as done:
        return done.value if isinstance(done.value, Annotate) else None


def told(pack: str, every: int) -> Iterator[tuple[str, AnnotatedError]]:
    engine = build_engine([PACKS[pack]])
    known = engine.profiles[0].pack
    vocabulary = {name: Registered(one.base_action, one.parameters) for name, one in known.text.actions.items()}
    for file in rule_files(known.path)[::every]:
        for case in load_cases(file):
            decision = decided(engine, case)
            if decision is not None:
                exchange = case.exchange
                name = f"{case.rule}: {case.text.name}"
                yield (
                    name,
                    AnnotatedError(
                        exchange.request,
                        decision.feedback,
                        exchange.status,
                        exchange.headers,
                        vocabulary,
                    ),
                )


@pytest.mark.parametrize(
    ("pack", "every"),
    [("models", 6), *(pytest.param(one, 1, marks=[pytest.mark.nightly] * (one in LARGE)) for one in PACKS)],
)
def test_what_a_pack_says_breaks_no_requirement(pack: str, every: int) -> None:
    cases = list(told(pack, every))
    assert len(cases) > 15
    assert [
        (name, finding.requirement, finding.message) for name, one in cases for finding in feedback_findings(one)
    ] == []
