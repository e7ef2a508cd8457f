"""Look-ups of a rule: which are made, in which order, what becomes of their answers."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from textwrap import dedent

import pytest

from corrigible.rules.engine.evaluate import RuleEvaluation, RuleResult
from corrigible.rules.errors import RuleFault
from corrigible.rules.lookup import Lookup, LookupAnswer, allowed
from corrigible.rules.pack.load import load_pack
from corrigible.rules.safety.loss import LookupResult
from corrigible.schema.exchange import Request
from tests._support.one_rule import MANIFEST, MODIFY, REQUEST, WritePack, consider, entry, result
from tests._support.rows import rows

THING = "lookup:\n  thing: {get: \"'/v1/things/' + request.body.thing\"%s}\n"


LOOKS = THING + entry("action: MODIFY_PARAMS, parameters: {amount: thing.left}")


def test_a_look_up_is_a_value(write_pack: WritePack) -> None:
    answers = {"/v1/things/t_1": LookupAnswer(200, b'{"left": 300}')}
    evaluated, asked = consider(write_pack(manifest=MANIFEST, x=LOOKS % ""), answers=answers)
    assert asked == ["/v1/things/t_1"]
    assert evaluated is not None and evaluated.used_live_state
    assert evaluated.suggestions[0]["parameters"] == {"amount": 300}
    assert evaluated.suggestions[0]["evidence"]["lookups"] == ["GET /v1/things/{id}"]


@pytest.mark.parametrize(
    "answer",
    [LookupAnswer(0), LookupAnswer(404, b'{"left": 1}'), LookupAnswer(200, b"<html>"), LookupAnswer(200, b"null")],
)
def test_a_look_up_that_fails(write_pack: WritePack, answer: LookupAnswer) -> None:
    with pytest.raises(RuleFault, match=r"^apex\.x: look-up thing gave nothing$"):
        consider(write_pack(manifest=MANIFEST, x=LOOKS % ""), answers={"/v1/things/t_1": answer})
    optional = THING % ", optional: true" + entry("if: thing == null, action: ESCALATE, actor: somebody_else")
    assert result(write_pack(manifest=MANIFEST, x=optional), answers={"/v1/things/t_1": answer}).recovery == "terminal"


def test_a_look_up_that_is_not_wanted_is_not_made(write_pack: WritePack) -> None:
    text = THING % ", if: request.method == 'GET'" + entry("if: thing == null, action: ESCALATE, actor: somebody_else")
    evaluated, asked = consider(write_pack(manifest=MANIFEST, x=text))
    assert (asked, evaluated is not None and evaluated.used_live_state) == ([], False)


TEMPLATES = [["v1", "things"], ["v1", "things", "{id}"]]


@rows(
    ("path", "template"),
    [
        ("/v1/things", "/v1/things"),
        ("/v1/things/t_1", "/v1/things/{id}"),
        ("/v1/things/t_1?expand[]=a&b=%2F", "/v1/things/{id}"),
        ("/v1/things/a%20b", "/v1/things/{id}"),
        ("/v1/things/...", "/v1/things/{id}"),
        ("/v1/things/{id}", None),
        ("/v1/other", None),
        ("/v1/things/", None),
        ("/v1/things/a/b", None),
        ("/v1/things/..", None),
        ("/v1/things/.", None),
        ("/v1/things/../admin", None),
        ("/v1/things/%2e%2e", None),
        ("/v1/things/.%2E", None),
        ("/v1/things/..;a=b", None),
        ("/v1/things/a%2fb", None),
        ("/v1/things/a%2Fb", None),
        ("/v1/things/a%5cb", None),
        ("/v1/things/a%252fb", None),
        ("/v1/things/a%00", None),
        ("/v1/things/a%0d%0aX:1", None),
        ("/v1/things/a\r\nX: 1", None),
        ("/v1/things/a b", None),
        ("/v1/things/a#b", None),
        ("/v1/things/a\\b", None),
        ("/v1/things/\u00e9", None),
        ("//host/v1/things", None),
        ("//v1/things", None),
        ("/v1//things", None),
        ("http://host/v1/things", None),
        ("//[", None),
        ("v1/things", None),
        ("", None),
    ],
)
def test_which_paths_may_be_asked_for(path: str, template: str | None) -> None:
    assert allowed(path, TEMPLATES) == template


@rows("thing", ["../admin", "a/b", "..", "a%2fb", "/host", "", "\u202e", "a\nb"])
def test_a_value_of_the_request_never_leads_a_look_up_astray(write_pack: WritePack, thing: str) -> None:
    request = Request("POST", "/x", body={"thing": thing})
    with pytest.raises(RuleFault, match="look-up thing gave nothing"):
        consider(write_pack(manifest=MANIFEST, x=LOOKS % ""), request)


@rows(
    ("path", "template"),
    [
        ("/files/a", "/files/{+path}"),
        ("/files/a/b%20c/d?ref=main", "/files/{+path}"),
        ("/files", None),
        ("/files/", None),
        ("/files/a//b", None),
        ("/files/a/../b", None),
        ("/files/a/%2e%2e/b", None),
        ("/files/a/b%2Fc", None),
        ("/other/a/b", None),
    ],
)
def test_a_last_variable_may_stand_for_several_segments_none_of_them_a_way_up(path: str, template: str | None) -> None:
    assert allowed(path, (("files", "{+path}"),)) == template


def test_what_a_look_up_showed_is_kept(write_pack: WritePack) -> None:
    notes: list[str] = []
    answers = {"/v1/things/t_1": LookupAnswer(200, b'{"left": 300}')}
    evaluated = result(write_pack(manifest=MANIFEST, x=LOOKS % ""), answers=answers, notes=notes)
    assert evaluated.lookup_results == (LookupResult("/v1/things/t_1", {"left": 300}),)
    assert notes == ["look-up thing: GET /v1/things/{id} answered"]
    notes.clear()
    optional = THING % ", optional: true" + entry("if: thing == null, action: ESCALATE, actor: somebody_else")
    evaluated = result(write_pack(manifest=MANIFEST, x=optional), notes=notes)
    assert (evaluated.lookup_results, notes) == ((), ["look-up thing: GET /v1/things/{id} gave nothing"])


@pytest.mark.parametrize("get", ["'/v1/' + 'others'", "'/v1/things?id=' + request.body.thing + '&all=1'", "5"])
def test_a_look_up_that_is_not_on_the_list_is_not_made(write_pack: WritePack, get: str) -> None:
    text = f'lookup: {{thing: {{get: "{get}", optional: true}}}}\n' + MODIFY
    notes: list[str] = []
    request = Request("POST", "/v1/x", body={"thing": "t&admin=1", "amount": 500})
    evaluated, asked = consider(write_pack(manifest=MANIFEST, x=text), request, notes=notes)
    assert asked == []
    assert notes == ["look-up thing: not on the pack's list"]
    assert evaluated is not None and not evaluated.used_live_state


def looking(folder: Path, request: Request = REQUEST) -> Generator[Lookup, LookupAnswer, RuleResult | None]:
    (rule,) = load_pack(folder).rules
    scope = {"request": request.document(), "error": {"message": ""}, "spec": {}, "exchange": {"id": "e1"}}
    return RuleEvaluation(rule, request, scope, load_pack(folder).settings, "1.", None).run()


def test_look_ups_that_do_not_depend_on_each_other_are_made_ahead(write_pack: WritePack) -> None:
    text = """\
        lookup:
          thing: {get: "'/v1/things/' + request.body.thing"}
          never: {get: "'/v1/things'", if: "1 > 2", optional: true}
          other: {get: "'/v1/things/' + thing.next"}
          all: {get: "'/v1/things'"}
        """
    going = looking(write_pack(manifest=MANIFEST, x=dedent(text) + MODIFY))
    first = next(going)
    assert (first.path, [one.path for one in first.prefetch]) == ("/v1/things/t_1", ["/v1/things"])
    second = going.send(LookupAnswer(200, b'{"next": "t_2"}'))
    assert (second.path, [one.path for one in second.prefetch]) == ("/v1/things/t_2", ["/v1/things"])
    third = going.send(LookupAnswer(200, b"{}"))
    assert (third.path, third.prefetch) == ("/v1/things", ())


def test_a_look_up_may_be_a_grpc_call(write_pack: WritePack) -> None:
    manifest = "lookups: [/shop.v1.Carts/Get]\n"
    text = (
        "lookup: {cart: {get: \"'/shop.v1.Carts/Get'\", message: {id: request.body.thing}}}\n"
        "suggest: [{message: m, action: MODIFY_PARAMS, parameters: {amount: cart.left}}]\n"
    )
    going = looking(write_pack(manifest=manifest, x=text))
    lookup = next(going)
    assert (lookup.path, lookup.method, lookup.body) == ("/shop.v1.Carts/Get", "GRPC", b'{"id":"t_1"}')
    with pytest.raises(StopIteration) as done:
        going.send(LookupAnswer(200, b'{"left": 1}'))
    (suggestion,) = done.value.value.suggestions
    assert suggestion["evidence"]["lookups"] == ["GRPC /shop.v1.Carts/Get"]


def test_the_body_of_a_look_up_is_bounded(write_pack: WritePack) -> None:
    text = "lookup: {found: {post: \"'/v1/search'\", body: {q: request.body.thing}}}\n" + MODIFY
    folder = write_pack(manifest="lookups: [POST /v1/search]\n", x=text)
    lookup = next(looking(folder, Request("POST", "/v1/x", body={"thing": "x" * 65_528, "amount": 500})))
    assert (lookup.method, len(lookup.body or b"")) == ("POST", 65_536)
    with pytest.raises(RuleFault, match="the body of look-up found is over 65,536 bytes"):
        next(looking(folder, Request("POST", "/v1/x", body={"thing": "x" * 65_529, "amount": 500})))
