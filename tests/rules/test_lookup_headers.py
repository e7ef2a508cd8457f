"""Which headers a look-up has besides its caller's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.build import build_engine
from corrigible.rules.errors import AuthoringError
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.lookup_headers import header_problem, lookup_headers
from corrigible.rules.pack.load import load_pack
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

WritePack = Callable[..., Path]


def sent(**headers: str) -> Request:
    return Request("POST", "/things", headers={name.replace("_", "-"): value for name, value in headers.items()})


@rows(
    ("accept", "asked"),
    [
        ("application/vnd.acme.v2+json", "application/vnd.acme.v2+json"),
        ("application/vnd.acme+json; version=3", "application/vnd.acme+json;version=3"),
        ("application/json; version=3", "application/json;version=3"),
        ("application/vnd.acme.v3", "application/vnd.acme.v3"),
        ("text/html, application/vnd.api+json;q=0.9, */*;q=0.1", "application/vnd.api+json"),
        ("application/vnd.acme.v2+json;q=0", ""),
        ("application/json", ""),
        ("*/*", ""),
        ("", ""),
        ("text/event-stream", ""),
        ("application/vnd.github.v3.raw+json", ""),
        ("application/vnd.github.diff", ""),
        ("application/vnd.ms-excel", ""),
        ("application/vnd.kubernetes.protobuf", ""),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", ""),
        ("application/vnd.acme.v2+xml", ""),
        ("application/vnd.acme.v2+json; x=\r\nY: 1", ""),
        ("application/vnd." + "a" * 300 + "+json", ""),
    ],
)
def test_the_type_that_a_request_asks_for(accept: str, asked: str) -> None:
    assert dict(lookup_headers(sent(accept=accept), ())) == ({"accept": asked} if asked else {})


def test_a_packs_headers_and_a_rules() -> None:
    request = sent(accept="application/vnd.acme.v2+json", x_flavour="dark", x_odd="a\tb")
    of_pack = (("x-flavour", None), ("x-missing", None), ("x-odd", None), ("x-edition", "7"))
    assert lookup_headers(request, of_pack) == (
        *(("accept", "application/vnd.acme.v2+json"), ("x-flavour", "dark"), ("x-edition", "7")),
    )
    assert lookup_headers(request, (("accept", "application/json"),), {"x-edition": "8"}) == (
        *(("accept", "application/json"), ("x-edition", "8")),
    )


@rows(
    "name",
    [
        *("Authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "Proxy-Authorization", "Host", "Content-Type"),
        *("Content-Length", "Transfer-Encoding", "X-HTTP-Method-Override", "X-Original-URL", "X-Forwarded-Host"),
        *("Connection", "Expect", "Idempotency-Key", "Impersonate-User", "X-Acme-Secret", "a b", "", "x:y"),
        *(
            "X-Remote-User",
            "X-Amz-Target",
            "SOAPAction",
            "If-None-Match",
            "X-Tenant-Version",
            "X-Colour",
            "Accept-Encoding",
        ),
    ],
)
def test_what_no_pack_sets(name: str, write_pack: WritePack) -> None:
    assert header_problem(name)
    pack = write_pack(
        manifest=f"lookup_headers: {{{json.dumps(name)}: x}}\n", x="suggest: [{action: ESCALATE, message: m}]"
    )
    with pytest.raises(AuthoringError, match=r"pack\.yaml:\d+: .*(a pack may set|no name of a header)"):
        load_pack(pack)


@rows("name", ["Accept", "X-Acme-Flavour", "OData-Version", "X-GitHub-Api-Version", "Prefer", "Notion-Version"])
def test_what_a_pack_may_set(name: str) -> None:
    assert header_problem(name) == ""


RULE = """
match: {code: bad}
lookup: {thing: {get: "'/things/1'", optional: true%s}}
suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: thing.left}}]
"""
MANIFEST = "lookups: ['/things/{id}']\nlookup_headers: {Accept: application/vnd.acme.v2+json, X-Flavour: null}\n"


def asked(pack: Path, **headers: str) -> list[Lookup]:
    request = Request("POST", "/things", headers={"x-flavour": "dark", **headers}, body={"a": 0})
    answer = b'{"error": {"code": "bad", "message": "m"}}'
    decisions = build_engine([pack]).decide(Exchange(request, 400, {"content-type": "application/json"}, answer))
    lookups: list[Lookup] = []
    try:
        lookups.append(next(decisions))
        while True:
            lookups.append(decisions.send(LookupAnswer(200, b'{"left": 3}')))
    except StopIteration:
        return lookups


@pytest.mark.parametrize(
    ("of_rule", "headers"),
    [
        ("", {"accept": "application/vnd.acme.v2+json", "x-flavour": "dark"}),
        (
            ", headers: {accept: \"'application/json; v=' + string(request.body.a)\"}",
            {"accept": "application/json; v=0", "x-flavour": "dark"},
        ),
    ],
)
def test_a_look_up_of_a_rule(write_pack: WritePack, of_rule: str, headers: dict[str, str]) -> None:
    (lookup,) = asked(write_pack(manifest=MANIFEST, x=RULE % of_rule))
    assert dict(lookup.headers) == headers


def test_a_value_that_is_none_stops_the_rule(write_pack: WritePack) -> None:
    assert asked(write_pack(manifest=MANIFEST, x=RULE % ", headers: {accept: \"'a\\\\nb'\"}")) == []


@pytest.mark.parametrize(
    ("header", "problem"), [("Authorization: \"'x'\"", "a pack may set"), ('accept: "later.x"', "later")]
)
def test_a_wrong_header_of_a_rule_is_told(write_pack: WritePack, header: str, problem: str) -> None:
    with pytest.raises(AuthoringError, match=problem):
        load_pack(write_pack(manifest=MANIFEST, x=RULE % f", headers: {{{header}}}"))


def test_what_the_description_lets_us_read_is_asked_for_in_the_same_version(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}
    body = {"content": {"application/json": {"schema": schema}}}
    one = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    found = {"200": {"description": "ok", **body}}
    paths = {
        "/things": {"get": {"responses": found}},
        "/things/{id}": {
            "parameters": [one],
            "get": {"responses": found},
            "put": {"requestBody": body, "responses": found},
        },
    }
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths}))
    request = Request("PUT", "/things/abc", headers={"accept": "application/vnd.acme.v2+json"}, body={"name": "n"})
    answer = b'{"message": "thing abc not found"}'
    decisions = build_engine([], path).decide(Exchange(request, 404, {"content-type": "application/json"}, answer))
    lookup = next(decisions)
    assert (lookup.path, dict(lookup.headers)) == ("/things", {"accept": "application/vnd.acme.v2+json"})
