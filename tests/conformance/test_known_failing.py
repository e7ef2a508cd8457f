"""Patterns choose checks; announced failures have reasons, and none is stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.suite.config import KnownFailing, announced, known_failing, matches, refuse_unmatched
from tests._support.rows import rows

from .made import check

PATTERNS = [
    ("transparency/status-kept", True),
    ("transparency/*", True),
    ("transparency", True),
    ("transparency/", True),
    ("*/status-*", True),
    ("**/status-kept", True),
    ("**", True),
    ("*", True),
    ("http-json:transparency/*", True),
    ("SRF-TRN-03", True),
    ("srf-trn-*", True),
    ("transparency/stat", False),
    ("trans", False),
    ("status-kept", False),
    ("grpc:transparency/*", False),
    ("transparency/*/x", False),
    ("", False),
]


@rows(("pattern", "means"), PATTERNS)
def test_patterns_are_globs_over_parts_of_a_path(pattern: str, means: bool) -> None:
    assert matches(pattern, check("transparency/status-kept"), "http-json") is means


def test_a_pattern_on_the_command_line_needs_a_reason() -> None:
    assert known_failing("a/x=not built = yet") == [KnownFailing(check="a/x", reason="not built = yet")]
    for argument in ("a/x", "a/x=", "=why not"):
        with pytest.raises(UsageError, match="say why it fails"):
            known_failing(argument)


def test_a_file_is_read_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "k.yaml").write_text("- {check: a/x, reason: because}\n")
    (entry,) = known_failing(f"@{tmp_path / 'k.yaml'}")
    assert announced([entry], check("a/x"), "grpc") == entry
    assert announced([entry], check("a/y"), "grpc") is None


def test_an_entry_that_means_nothing_is_refused() -> None:
    entries = [KnownFailing(check="a/x", reason="because"), KnownFailing(check="a/statuskept", reason="because")]
    with pytest.raises(UsageError) as told:
        refuse_unmatched(entries, [("grpc", check("a/x")), ("grpc", check("a/status-kept"))])
    said = 'known-failing "a/statuskept" matches no check of this run; did you mean "a/status-kept"?'
    assert str(told.value) == said
