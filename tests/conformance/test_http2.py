"""HTTP/2: a careless relay breaks each requirement in the check that is about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corrigible.conformance.checks.transparency import hostile_http2 as http2
from corrigible.conformance.model.outcome import CouldNotTell, Missing
from corrigible.conformance.reference.upstream import Upstream
from corrigible.conformance.suite.subject import Check, Subject

from .http2_relay import careless
from .made import checks_of, told

CHECKS = checks_of("http2/")

SAID = {
    "http2/malformed": ("what is malformed went on to the upstream", 40),
    "http2/failures": ("later requests of the same HTTP/2 caller fail", 1),
    "http2/windows": ("MiB of the answer are taken from the upstream", 1),
    "http2/floods": ("are taken in a row, and the connection goes on", 6),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_a_careless_relay_is_caught(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "MOST_FRAMES", 3000)
    found = list(told(check.run(Subject("proxy", "http-json", start_another=careless))))
    assert {one.requirement for one in found} == set(check.requirements)
    words, least = SAID[check.id]
    assert all(words in one.message for one in found) and len(found) >= least, [one.message for one in found]


def test_a_subject_without_http2_is_not_judged_by_it() -> None:
    (check, *_) = CHECKS
    with pytest.raises(Missing, match="needs `http2` in the config file: the command that starts a proxy with HTTP/2"):
        list(told(check.run(Subject("proxy", "http-json"))))


def test_who_says_so_and_speaks_none_hears_it() -> None:
    @contextmanager
    def without(upstream: str, certificate: Path) -> Iterator[str]:
        with Upstream() as plain:
            yield plain.url

    with pytest.raises(CouldNotTell, match="no HTTP/2 connection: it does not support HTTP/2"):
        list(CHECKS[0].run(Subject("proxy", "http-json", start_another=without)))
