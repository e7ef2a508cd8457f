"""Cases beside a rule: how they are read, and how a claim is compared with what was said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.rules.errors import AuthoringError
from corrigible.rules.pack.cases import case_file, differences, load_cases
from tests._support.rows import rows

GOOD = """\
- name: it speaks
  origin: synthetic
  request: {method: post, path: /v1/x, query: {a: "1"}, headers: {X-A: b}, form: true, body: {n: "1"}}
  response: {status: 400, headers: {Retry-After: "3"}, body: {error: {code: bad}}}
  started: 5.0
  expect: {recovery: correctable}
- name: it is silent
  origin: recorded
  source: a real server
  request: {}
  response: {status: 400, body_file: recorded/big.json}
  no_match: true
"""


def rule_at(tmp_path: Path, cases: str) -> Path:
    (tmp_path / "x.cases.yaml").write_text(cases, "utf-8")
    return tmp_path / "x.yaml"


def test_cases_become_exchanges(tmp_path: Path) -> None:
    (tmp_path / "recorded").mkdir()
    (tmp_path / "recorded" / "big.json").write_bytes(b'{"as": "it was", "as": 1e400}')
    one, two = load_cases(rule_at(tmp_path, GOOD))
    assert (one.rule, one.place.line, two.place.line) == ("x", 1, 7)
    request = one.exchange.request
    assert (request.method, request.path, request.query, request.headers) == ("POST", "/v1/x", {"a": "1"}, {"x-a": "b"})
    assert (request.body, request.form, one.exchange.status, one.exchange.started) == ({"n": "1"}, True, 400, 5.0)
    assert one.exchange.headers == {"content-type": "application/json", "retry-after": "3"}
    assert one.exchange.body == b'{"error":{"code":"bad"}}'
    assert two.exchange.body == b'{"as": "it was", "as": 1e400}'
    assert one.exchange.id != two.exchange.id


def test_a_rule_without_a_file_beside_it_has_no_cases(tmp_path: Path) -> None:
    assert load_cases(tmp_path / "x.yaml") == ()
    assert case_file(tmp_path / "a-b.yaml") == tmp_path / "a-b.cases.yaml"


CASE = "- name: n\n  origin: synthetic\n  request: {}\n  response: {status: 400}\n"


@rows(
    ("text", "said"),
    [
        ("a: 1\n", ["1: expected a list of cases"]),
        (
            "-\n",
            [
                "1: expected a map of name, origin, source, request, response, lookups, started, elapsed, expect, "
                "after, no_match"
            ],
        ),
        (CASE, ["1: needs either expect: {...} or no_match: true"]),
        (CASE + "  speaks: {}\n", ['5: "speaks" is now called "expect"']),
        (CASE + "  silent: true\n", ['5: "silent" is now called "no_match"']),
        (CASE + "  expect: {}\n  no_match: true\n", ["1: needs either expect: {...} or no_match: true"]),
        (CASE + "  no_match: true\n  after: {}\n", ["1: after needs expect"]),
        (CASE + "  no_match: true\n  loookups: {}\n", ['6: unknown key "loookups"; did you mean "lookups"?']),
        (
            CASE.replace("synthetic", "made up") + "  no_match: true\n",
            ['2: "origin" is made up, expected recorded, documented or synthetic'],
        ),
        (
            CASE.replace("400", "bad, boddy: 1") + "  no_match: true\n",
            ['4: "status" is bad, expected a whole number', '4: unknown key "boddy" in response; did you mean "body"?'],
        ),
        (
            CASE.replace("400", "400, body_file: gone.json") + "  no_match: true\n",
            ["4: gone.json cannot be read: No such file or directory"],
        ),
        (
            CASE + CASE,
            ["1: needs either expect: {...} or no_match: true", "5: needs either expect: {...} or no_match: true"],
        ),
    ],
)
def test_a_case_that_is_wrong(tmp_path: Path, text: str, said: list[str]) -> None:
    rule = rule_at(tmp_path, text)
    with pytest.raises(AuthoringError) as caught:
        load_cases(rule)
    assert str(caught.value).splitlines() == [f"{case_file(rule)}:{line}" for line in said]


@rows(
    ("claimed", "said", "found"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["/a/b: expected 1, got 2"]),
        ({"a": 1}, {}, ["/a: absent, expected 1"]),
        ({"a": None}, {}, []),
        ({"a": None}, {"a": 1}, ["/a: expected None, got 1"]),
        ({"a": 300}, {"a": 300.0}, []),
        ({"a": True}, {"a": 1}, ["/a: expected True, got 1"]),
        ({"a": "1"}, {"a": 1}, ["/a: expected '1', got 1"]),
        ({"a": [1]}, {"a": [1, 2]}, ["/a: expected 1 elements, got [1, 2]"]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3, "c": 4}]}, ["/a/1/b: expected 2, got 3"]),
        ({"a": []}, {"a": {}}, ["/a: expected 0 elements, got {}"]),
        ({"a": {}}, {"a": []}, ["/a: expected a map, got []"]),
        ({}, 1, ["/: expected a map, got 1"]),
        ({"a": 1, "b": 2}, {"a": 0, "b": 0}, ["/a: expected 1, got 0", "/b: expected 2, got 0"]),
    ],
)
def test_differences(claimed: Any, said: Any, found: list[str]) -> None:
    assert list(differences(claimed, said)) == found
