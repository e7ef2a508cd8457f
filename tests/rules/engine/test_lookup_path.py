"""Values of others in computed paths: one segment each, or no suggestion at all; and what may be captured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.engine.guarded_patch import encode_values, foreign_texts, may_be_value
from corrigible.rules.lookup import LookupAnswer, allowed, brings_query
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

WritePack = Callable[..., Path]
MANIFEST = "lookups: ['/v1/charges/{id}', '/v1/charges']\npath_members: [groupVersion]\n"
CAPTURE = """\
lookup: {charge: {get: "'/v1/charges/' + request.body.charge"}}
suggest:
  - action: USE_ALTERNATIVE_ENDPOINT
    message: Capture less.
    patch: [{op: replace, path: /path, value: "'/v1/charges/' + charge.id + '/capture'"}]
"""
STEPS = """\
lookup: {charge: {get: "'/v1/charges/' + request.body.charge"}}
suggest:
  - action: RESOLVE_PRECONDITION
    message: Capture it first.
    steps: [{method: "'POST'", path: "'/v1/charges/' + charge.id + '/capture'"}]
"""
NATIVE = """\
match: {message: 'No such charge: (?P<id>.+)'}
suggest:
  - action: USE_ALTERNATIVE_ENDPOINT
    message: Capture less.
    patch: [{op: replace, path: /path, value: "'/v1/charges/' + captures.id + '/capture'"}]
"""
COMPUTED = """\
lookup: {charge: {get: "'/v1/charges/' + request.body.charge"}}
let: {there: "'/v1/charges/' + charge.id + '/capture'"}
suggest: [{action: USE_ALTERNATIVE_ENDPOINT, message: Capture less., patch: "edits(request, [['/path', there]])"}]
"""
DONE = """\
lookup: {charge: {get: "'/v1/charges/' + request.body.charge"}}
suggest: [{action: ALREADY_DONE, message: It is., parameters: {path: "'/v1/charges/' + charge.id"}}]
"""
AWAY = [
    "../../admin",
    "..",
    ".",
    "%2e%2e",
    "a\\..\\b",
    "x/../../admin",
    "..;x",
    "%252e%252e%252fadmin",
    "a\nb",
    "a?b=c",
    "",
]


def decide(folder: Path, charge: Mapping[str, Any], message: str = "No.", sent: str = "ch_1") -> Decision:
    request = Request("POST", "/v1/refunds", body={"charge": sent})
    body = orjson.dumps({"error": {"code": "c", "message": message}})
    going = build_engine([folder]).decide(Exchange(request, 400, {}, body, "e", 1.0))
    return run_with_lookups_sync(going, lambda lookup: LookupAnswer(200, orjson.dumps(charge)))


def path_of(decision: Decision) -> str | None:
    if not isinstance(decision, Annotate):
        return None
    (one,) = decision.feedback["suggestions"]
    if "steps" in one:
        return str(one["steps"][0]["path"])
    path = one["patch"][-1]["value"] if "patch" in one else one["parameters"].get("path")
    return None if path is None else str(path)


@pytest.mark.parametrize("rule", [CAPTURE, STEPS, COMPUTED])
def test_an_id_of_a_look_up_is_one_segment(write_pack: WritePack, rule: str) -> None:
    folder = write_pack(manifest=MANIFEST, x=rule)
    assert path_of(decide(folder, {"id": "ch_2"})) == "/v1/charges/ch_2/capture"
    assert path_of(decide(folder, {"id": "ch 2/refund"})) == "/v1/charges/ch%202%2Frefund/capture"
    assert path_of(decide(folder, {"id": "a#b"})) == "/v1/charges/a%23b/capture"
    assert path_of(decide(folder, {"id": "50%"})) == "/v1/charges/50%25/capture"


@rows("id", AWAY)
@rows("rule", [CAPTURE, STEPS, COMPUTED, DONE])
def test_an_id_never_leads_elsewhere(write_pack: WritePack, rule: str, id: str) -> None:
    found = path_of(decide(write_pack(manifest=MANIFEST, x=rule), {"id": id}))
    assert found is None or found.startswith("/v1/charges/")
    assert not {"..", "?", "\n"} & {*(found or ""), *(found or "").split("/")} or rule == DONE
    if id in ("../../admin", "..", ".", "%2e%2e", "x/../../admin", "..;x"):
        assert found is None


@pytest.mark.parametrize("id", ["../admin", "a/../b", "..%2f", "x" * 257, "a\x1bb"])
def test_native_text_is_no_path(write_pack: WritePack, id: str) -> None:
    assert path_of(decide(write_pack(x=NATIVE), {}, f"No such charge: {id}")) is None


def test_native_text_that_is_a_value_is_one(write_pack: WritePack) -> None:
    assert path_of(decide(write_pack(x=NATIVE), {}, "No such charge: ch_9")) == "/v1/charges/ch_9/capture"
    assert path_of(decide(write_pack(x=NATIVE), {}, "No such charge: a/b")) == "/v1/charges/a%2Fb/capture"


def test_what_the_caller_sent_is_the_callers(write_pack: WritePack) -> None:
    scope = {"charge": {"id": "a/b", "groupVersion": "apps/v1", "url": "/v1/charges"}}
    assert foreign_texts(scope, ["charge"], {"body": {"id": "a/b"}}, frozenset({"groupVersion"})) == []
    assert foreign_texts(scope, ["charge"], {}, frozenset()) == ["apps/v1", "a/b"]


def test_the_longest_value_is_escaped_first() -> None:
    assert encode_values("/v1/a/b/c", ["a/b/c", "a/b"]) == "/v1/a%2Fb%2Fc"
    assert encode_values("/v1/a/bc", ["a/b"]) == "/v1/a/bc"
    assert encode_values("/v1/x/x/x", ["x/x"]) == "/v1/x%2Fx/x"


@rows(
    ("path", "value", "escaped"),
    [
        ("/a/b/c", "a/b", "/a%2Fb/c"),
        ("/a/b/a/b", "a/b", "/a%2Fb/a%2Fb"),
        ("/a?/a?", "a?", "/a%3F/a%3F"),
        ("/x/x", "x", "/x/x"),
        ("/v1/a/b!$&'()*+,;=:@~", "a/b!$&'()*+,;=:@~", "/v1/a%2Fb!$&'()*+,;=:@~"),
        ("/v1/a?b", "x", None),
    ],
)
def test_a_value_is_escaped_wherever_it_stands(path: str, value: str, escaped: str | None) -> None:
    assert encode_values(path, [value]) == escaped


@rows(
    ("value", "found"),
    [
        ("a/b", ["a/b"]),
        ("a\\b", ["a\\b"]),
        ("a\x7fb", ["a\x7fb"]),
        ("ab", []),
        ("/v1/a", []),
        ("https://x.io/a", []),
        ({"a": ["x", {"b": ("a#b",)}]}, ["a#b"]),
        (["a/b", "a/b", "a/b/c"], ["a/b/c", "a/b"]),
        (["a/b", *[0] * 100], ["a/b"]),
        (["a/b", *[0] * 20_000], []),  # nobody looks at so many
    ],
)
def test_whose_texts_lead_away(value: Any, found: list[str]) -> None:
    assert foreign_texts({"x": value, "y": "other/one"}, ["x", "absent"], {}, frozenset()) == found
    assert foreign_texts({"x": value}, ["x"], {"body": ["so a/b/c", "a\\b a\x7fb a#b"]}, frozenset()) == []


@rows(
    ("text", "holds"),
    [("x" * 256, True), ("x" * 257, False), ("", True), ("\u00e9 b", True), ("a\nb", False), ("a\x7fb", False)],
)
def test_what_may_be_captured(text: str, holds: bool) -> None:
    assert may_be_value(text) is holds


@rows(
    ("path", "text", "brings"),
    [
        ("/v1/x?id=1&admin=true", "'/v1/x?id=' + y", True),
        ("/v1/x?id=1;admin=true", "'/v1/x?id=' + y", True),
        ("/v1/x?id=1?z", "'/v1/x?id=' + y", True),
        ("/v1/x?id=1", "'/v1/x/' + y", True),
        ("/v1/x?id=1&page=2", "'/v1/x?id=' + y + '&page=2'", False),
        ("/v1/x?id=1", "'/v1/x?id=' + y", False),
        ("/v1/x/a?b=c", "has(request.body.charge) ? '/v1/charges/' + request.body.charge : ''", True),
        ("/v1/x/a?x&y", "a && b ? '/v1/charges/' + c + '?x' : ''", True),
    ],
)
def test_a_value_brings_no_member_into_a_query(path: str, text: str, brings: bool) -> None:
    assert allowed(path, [["v1", "x"], ["v1", "x", "{y}"]]) is not None
    assert brings_query(path, text) is brings
