"""Another operation for one that is refused as such: which refusals that are, what is trusted, what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest
import yaml

from corrigible.adapters.mapping.map_index import MapIndex, Maps
from corrigible.adapters.mapping.mapping import MapFile
from corrigible.adapters.protobuf.descriptors import load as load_descriptors
from corrigible.adapters.protobuf.service_description import ProtobufDescription
from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.writer import validate
from tests._support.counted import calls_of
from tests._support.rows import rows

OLD, NEW = "https://old.test", "https://new.test"


def written(folder: Path, description: str) -> Path:
    """Write a description in YAML whose operations leave their responses out."""
    document = yaml.safe_load(description)
    for item in document["paths"].values():
        for operation in item.values():
            operation["responses"] = {"200": {"description": "done"}}
    spec = folder / "description.json"
    spec.write_bytes(orjson.dumps(document))
    return spec


def mapping(source: str, target: str, fields: Sequence[str | tuple[str, str]] = (), **members: Any) -> Any:
    """Return a mapping from operations as text, and fields that stay or move."""
    (one, there), (other, here) = source.split(), target.split()
    pairs = [field if isinstance(field, tuple) else (field, field) for field in fields]
    return {
        "source": {"api": "shop", "method": one, "path": there},
        "target": {"api": "shop", "method": other, "path": here},
        "equivalence": "same",
        "score": 0.9,
        "arguments": [{"source": s, "target": t} for s, t in pairs],
        **members,
    }


def engine_of(
    *mappings: Any,
    description: str = "",
    own: str = OLD,
    origins: Sequence[str] = (),
    target: str = "",
    folder: Any = None,
) -> Engine:
    apis = [{"name": "shop", "origin": ""}, {"name": "other", "origin": target}]
    file = MapFile.model_validate({"method": "by hand", "apis": apis, "mappings": mappings})
    specs = None
    if description:
        specs = written(folder, description)
    profiles = load_profiles([], specs)
    index = MapIndex([("map.json", file)], own, origins)
    return Engine([replace(profile, maps=Maps(index)) for profile in profiles])


def told(
    engine: Engine,
    request: Request,
    status: int = 404,
    answer: Any = b"",
    *,
    state: Mapping[str, Json] | None = None,
    headers: Mapping[str, str] | None = None,
    asked: list[str] | None = None,
) -> dict[str, Any] | None:
    known = state or {}

    def look_up(lookup: Lookup) -> LookupAnswer:
        if asked is not None:
            asked.append(f"{lookup.method} {lookup.path}")
        return LookupAnswer(200, orjson.dumps(known[lookup.path])) if lookup.path in known else LookupAnswer(404)

    body = answer if isinstance(answer, bytes) else orjson.dumps(answer)
    exchange = Exchange(request, status, headers or {}, body, "e", 1_700_000_000.0)
    decision = run_with_lookups_sync(engine.decide(exchange), look_up)
    if not isinstance(decision, Annotate):
        return None
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return dict(decision.feedback)


def alternatives(feedback: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [one for one in (feedback or {"suggestions": []})["suggestions"] if one["evidence"]["kind"] == "mapping"]


SECOND = """
openapi: 3.0.3
info: {title: Things, version: '2'}
paths:
  /v2/things/{id}: {get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}]}}
"""
LISTED = mapping("GET /v1/things", "GET /v2/things", ["/query"])
READ = mapping("GET /v1/things/{id}", "GET /v2/things/{id}", ["/path/id", "/query"])
PROBE = {"get": "/v2/things/{id}"}
CHANGED = mapping("POST /v1/things/{id}", "POST /v2/things/{id}", ["/path/id", "/body"], served=PROBE)
ROUTE = {"message": "Cannot POST /v1/things/7"}
THING = {"/v2/things/7": {"id": 7}}
_MOST_CALLS = 3_000_000
"""Of 900,000: without bounds there are 11 million."""


class TestWhichRefusals:
    @rows(
        ("status", "answer", "headers", "helps"),
        [
            (404, ROUTE, {}, True),
            (404, {"message": "No route matches that path"}, {}, True),
            (404, b"404 page not found\n", {"content-type": "text/plain"}, True),
            (404, {"message": "Thing 7 was not found"}, {}, False),  # what it names, not the route
            (404, b"", {}, False),
            (405, b"", {}, True),
            (501, b"", {}, True),
            (410, {"message": "This endpoint was removed"}, {}, True),
            (410, {"message": "Thing 7 was deleted"}, {}, False),
            (403, {"message": "You have no permission to do this here"}, {}, True),
            (429, {"message": "Too many requests"}, {}, True),
            (400, {"message": "Refused"}, {"deprecation": "@1688169599"}, True),
            (400, {"message": "Refused"}, {"sunset": "Sat, 31 Dec 2022 23:59:59 GMT"}, True),
            (400, {"message": "Refused"}, {}, False),
            (409, {"message": "Refused"}, {}, False),
            (500, {"message": "Refused"}, {"deprecation": "@1688169599"}, False),
        ],
    )
    def test_a_refusal_of_the_operation_is_none_of_what_was_sent(
        self, status: int, answer: Any, headers: Any, helps: bool
    ) -> None:
        request = Request("POST", "/v1/things/7", headers={"content-type": "application/json"}, body={"a": 1})
        feedback = told(engine_of(CHANGED), request, status, answer, state=THING, headers=headers)
        assert bool(alternatives(feedback)) is helps, feedback

    @pytest.mark.parametrize("answer", [b"", {"detail": "Not Found"}, {"strange": [1]}])
    def test_a_path_without_values_names_nothing_else(self, answer: Any) -> None:
        feedback = told(engine_of(LISTED), Request("GET", "/v1/things"), 404, answer, state={"/v2/things": []})
        (only,) = alternatives(feedback)
        assert only["verification"] == {"status": "verified", "method": "lookup"}

    @pytest.mark.parametrize(
        ("request_", "answer"),
        [
            (Request("GET", "/v1/things", query={"owner": "ann"}), {"message": "No such owner: ann"}),
            (Request("POST", "/v1/things", body={"owner": "ann"}), {"message": "Not Found"}),
        ],
    )
    def test_a_path_without_values_may_be_refused_for_what_else_was_sent(self, request_: Request, answer: Any) -> None:
        made = mapping("POST /v1/things", "POST /v2/things", ["/body"], served={"get": "/v2/things"})
        feedback = told(engine_of(LISTED, made), request_, 404, answer, state={"/v2/things": []})
        assert not alternatives(feedback)

    def test_a_read_that_the_description_has_is_not_unknown(self, tmp_path: Path) -> None:
        description = FLOWS.replace("/flow_runs/: {", "/flow_runs/: {get: {}, ")
        engine = Engine(load_profiles([], written(tmp_path, description)))
        request = Request("GET", "/flow_runs/", query={"limit": "5"})
        for status in (403, 404, 405, 429):
            assert not alternatives(told(engine, request, status, {"detail": "Not Found"}))

    def test_a_path_that_the_description_lacks_is_unknown(self, tmp_path: Path) -> None:
        engine = engine_of(READ, description=SECOND, folder=tmp_path)
        asked: list[str] = []
        feedback = told(engine, Request("GET", "/v1/things/7"), 404, {"detail": "Not Found"}, asked=asked)
        (only,) = alternatives(feedback)
        assert (only["patch"][-1]["value"], asked) == ("/v2/things/7", [])

    def test_a_variable_of_the_description_is_no_operation_of_that_name(self, tmp_path: Path) -> None:
        named = mapping("GET /v1/things/{id}", "GET /v2/things/latest", [("/path/id", "/query/id")])
        engine = engine_of(named, description=SECOND, folder=tmp_path)
        assert not alternatives(told(engine, Request("GET", "/v1/things/7"), 404, {"detail": "Not Found"}))


class TestTrust:
    request = Request("POST", "/v1/things/7", headers={"content-type": "application/json"}, body={"a": 1, "b": 2})

    def test_what_nobody_has_seen_served_is_not_offered(self) -> None:
        assert not alternatives(told(engine_of(CHANGED), self.request, 404, ROUTE))
        engine = engine_of({**CHANGED, "served": None})  # that its path can be read proves no write
        assert not alternatives(told(engine, self.request, 404, ROUTE, state=THING))

    def test_a_probe_has_to_hold_what_the_map_says(self) -> None:
        probe = {"get": "/apis", "pointer": "/groups/*/name", "value": "things"}
        engine = engine_of({**CHANGED, "served": probe})
        for groups, helps in (([{"name": "other"}, {"name": "things"}], True), ([{"name": "other"}], False)):
            feedback = told(engine, self.request, 404, ROUTE, state={"/apis": {"groups": groups}})
            assert bool(alternatives(feedback)) is helps

    def test_what_has_no_place_is_told_and_changes_the_intent(self) -> None:
        lossy = {**CHANGED, "equivalence": "weaker", "lost_arguments": ["/body/b"]}
        feedback = told(engine_of(lossy), self.request, 404, ROUTE, state=THING)
        (only,) = alternatives(feedback)
        assert only["safety"] == {"side_effects": "certain", "changes_intent": True, "loses": ["/body/b"]}
        assert isinstance(apply(feedback or {}, self.request), NeedsInput)

    def test_a_mapping_that_keeps_nothing_is_none(self) -> None:
        empty = {**CHANGED, "arguments": [], "served": {"get": "/v2"}}
        empty["target"] = {"api": "shop", "method": "POST", "path": "/v2/things"}
        assert not alternatives(told(engine_of(empty), self.request, 404, ROUTE, state={"/v2": {}}))

    def test_a_variable_without_a_place_is_lost_unless_a_probe_shows_what_it_belongs_to(self) -> None:
        source, target = "POST /v1/carts/{cart}/lines/{line}", "POST /v1/lines/{line}"
        request = Request("POST", "/v1/carts/c/lines/l", body={"a": 1})
        probe = {"get": "/v1/lines/{line}", "pointer": "/cart", "value": "{cart}"}
        engine = engine_of(mapping(source, target, ["/path/line", "/body"], served=probe))
        state = {"/v1/lines/l": {"cart": "c"}}
        (only,) = alternatives(told(engine, request, 405, b"", state=state))
        assert only["safety"] == {"side_effects": "certain", "changes_intent": False}
        assert not alternatives(told(engine, request, 405, b"", state={"/v1/lines/l": {"cart": "another"}}))
        engine = engine_of(mapping(source, target, ["/path/line", "/body"], served={"get": "/v1/lines/{line}"}))
        (only,) = alternatives(told(engine, request, 405, b"", state=state))
        assert only["safety"]["loses"] == ["/path"]

    @pytest.mark.parametrize("equivalence", ["same", "same with conversion", "weaker", "stronger"])
    def test_nothing_is_certain_without_a_dry_run(self, equivalence: str) -> None:
        feedback = told(engine_of({**CHANGED, "equivalence": equivalence}), self.request, 404, ROUTE, state=THING)
        (only,) = alternatives(feedback)
        assert only["applicability"] == "MAYBE_INCORRECT"
        assert only["safety"]["changes_intent"] is (equivalence == "stronger")
        assert only["safety"].get("requires_confirmation", False) is (equivalence == "stronger")

    def test_what_is_only_related_is_no_substitute(self) -> None:
        engine = engine_of({**CHANGED, "equivalence": "related"})
        assert not alternatives(told(engine, self.request, 404, ROUTE, state=THING))

    def test_a_forbidden_call_is_not_made_elsewhere_unasked(self) -> None:
        forbidden = {"message": "You have no permission to do this here"}
        feedback = told(engine_of(CHANGED), self.request, 403, forbidden, state=THING)
        (only,) = alternatives(feedback)
        assert only["safety"]["requires_confirmation"]
        assert isinstance(apply(feedback or {}, self.request), NeedsInput)
        version = {**CHANGED, "evidence": [{"kind": "version"}]}  # another version needs the same right
        assert not alternatives(told(engine_of(version), self.request, 403, forbidden, state=THING))

    def test_who_waits_needs_no_other_operation_and_may_take_it(self) -> None:
        read = Request("GET", "/v1/things/7")
        feedback = told(engine_of(READ), read, 429, {"message": "Too many requests"}, state=THING)
        assert feedback is not None
        assert [one["action"] for one in feedback["suggestions"]] == ["WAIT_AND_RETRY", "USE_ALTERNATIVE_ENDPOINT"]
        assert {one["group"]["relation"] for one in feedback["suggestions"]} == {"one_of"}
        following = apply(feedback, read)
        assert isinstance(following, Next)
        assert following.request == read

    def test_a_deletion_is_confirmed(self) -> None:
        engine = engine_of(mapping("DELETE /v1/things/{id}", "DELETE /v2/things/{id}", ["/path/id"], served=PROBE))
        request = Request("DELETE", "/v1/things/7")
        feedback = told(engine, request, 405, b"", state=THING)
        assert isinstance(apply(feedback or {}, request), NeedsInput)
        assert isinstance(apply(feedback or {}, request, confirm=True), Next)

    @rows(
        ("source", "target", "members", "effects"),
        [
            ("GET /v1/things", "POST /v2/things", {}, None),  # it writes
            ("GET /v1/things", "POST /v2/things/search", {}, "possible"),
            ("GET /v1/things", "POST /v2/query-all", {"target_reads": True}, "none"),
            ("POST /v1/things", "GET /v2/things", {}, None),
            ("POST /v1/things", "POST /v2/things/search", {}, None),  # what reads writes nothing
            ("POST /v1/things/search", "GET /v2/things", {}, "none"),
            ("POST /v1/things", "PUT /v2/things", {}, "certain"),
            ("GET /v1/things", "PUT /v2/things", {"target_reads": True}, None),  # nobody is believed
            ("POST /v1/things", "DELETE /v2/things", {"target_reads": True}, "certain"),
            *((f"{method} /v1/things", "PUT /v2/things", {}, None) for method in ("QUERY", "SEARCH", "REPORT")),
            ("PROPFIND /v1/things", "DELETE /v2/things", {}, None),
            ("QUERY /v1/things", "POST /v2/things/search", {}, "possible"),
            ("QUERY /v1/things", "GET /v2/things", {}, "none"),
        ],
    )
    def test_no_read_becomes_a_write_and_no_write_a_read(
        self, source: str, target: str, members: Any, effects: str | None
    ) -> None:
        method, path = source.split()
        engine = engine_of(mapping(source, target, ["/query", "/body"], served={"get": "/v2"}, **members))
        request = Request(method, path, body=None if method == "GET" else {"a": 1})
        found = alternatives(told(engine, request, 405, b"", state={"/v2": {}, "/v2/things": {}}))
        assert [one["safety"]["side_effects"] for one in found] == ([] if effects is None else [effects])

    def test_what_the_target_needs_is_asked_for(self) -> None:
        engine = engine_of({**CHANGED, "needed": ["/body/c"]})
        feedback = told(engine, self.request, 404, ROUTE, state=THING)
        (only,) = alternatives(feedback)
        assert only["applicability"] == "HAS_PLACEHOLDERS"
        assert [one["pointer"] for one in only["placeholders"]] == ["/body/c"]
        assert isinstance(apply(feedback or {}, self.request), NeedsInput)

    def test_another_request_has_another_idempotency_key(self) -> None:
        request = replace(self.request, headers={**self.request.headers, "idempotency-key": "k1"})
        feedback = told(engine_of(CHANGED), request, 404, ROUTE, state=THING)
        following = apply(feedback or {}, request)
        assert isinstance(following, Next)
        assert following.new_idempotency_key
        assert following.request.headers["idempotency-key"] != "k1"

    def test_the_one_that_keeps_most_goes_first(self) -> None:
        lossy = {**CHANGED, "score": 1.0, "equivalence": "weaker", "lost_arguments": ["/body/b"]}
        other = mapping("POST /v1/things/{id}", "POST /v3/things/{id}", ["/path/id", "/body"], served={"get": "/v3"})
        engine = engine_of(lossy, {**other, "score": 0.1})
        found = alternatives(told(engine, self.request, 404, ROUTE, state={**THING, "/v3": {}}))
        assert [one["patch"][-1]["value"] for one in found] == ["/v3/things/7"]

    def test_a_path_of_the_caller_leads_nowhere_else(self) -> None:
        asked: list[str] = []
        request = Request("GET", "/v1/things/..%2F..%2Fadmin")
        told(engine_of(READ), request, 405, b"", asked=asked)
        assert all("admin" not in one for one in asked), asked


class TestAddedConstants:
    request = Request("POST", "/v1/things/7", headers={"content-type": "application/json"}, body={"a": 1})

    def only(self, constants: Any, engine: Any = engine_of, **members: Any) -> tuple[dict[str, Any], Any]:
        made = {**CHANGED, "constants": [{"target": t, "value": v} for t, v in constants]}
        feedback = told(engine(made, **members), self.request, 405, b"", state=THING) or {}
        (one,) = alternatives(feedback)
        return one, apply(feedback, self.request)

    @rows(
        "constant",
        [
            *(("/body/force", True), ("/body/public", True), ("/query/validate", "false"), ("/body/limit", 0)),
            *(("/body/state", "archived"), ("/header/x-flavour", "dark")),
        ],
    )
    def test_what_a_map_adds_is_said_and_is_no_drop_in(self, constant: Any) -> None:
        one, following = self.only([constant])
        assert "does the same" not in one["message"]
        assert constant[0].replace("/header/", "/headers/") in one["message"]
        assert one["safety"]["changes_intent"]
        assert isinstance(following, NeedsInput)

    def test_what_the_caller_sent_itself_is_not_added(self) -> None:
        one, following = self.only([("/body/a", True)])
        assert "does the same" in one["message"]
        assert isinstance(following, Next)

    def test_what_the_operation_implies_is_no_wish(self) -> None:
        one, following = self.only([("/body/apiVersion", "things/v2"), ("/body/kind", "Thing")])
        assert "does the same" in one["message"]
        assert isinstance(following, Next)

    @pytest.mark.parametrize(("value", "is_implied"), [("only", True), (True, False), ("other", False)])
    def test_the_only_value_that_a_description_allows_is_no_wish(
        self, tmp_path: Path, value: Any, is_implied: bool
    ) -> None:
        properties = "{a: {type: integer}, b: {enum: [only]}, c: {type: boolean}}"
        schema = f"{{type: object, properties: {properties}}}"
        description = SECOND.replace(
            "{get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}]}}",
            "{post: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], requestBody:"
            f" {{content: {{application/json: {{schema: {schema}}}}}}}}}}}",
        )
        target = "/body/c" if value is True else "/body/b"
        made = {**CHANGED, "constants": [{"target": target, "value": value}]}
        engine = engine_of(made, description=description, folder=tmp_path)
        forbidden = {"message": "You have no permission to do this here"}
        found = alternatives(told(engine, self.request, 403, forbidden, state=THING))
        assert all(one["safety"]["changes_intent"] is not is_implied for one in found)
        assert bool(found) is (value != "other")  # the description refutes that one

    @pytest.mark.parametrize(("value", "is_implied"), [("Orphan", True), (True, False)])
    def test_the_texts_of_a_pack_were_read_with_its_rules(self, value: Any, is_implied: bool) -> None:
        file = {"method": "by hand", "mappings": [{**CHANGED, "constants": [{"target": "/body/p", "value": value}]}]}
        index = MapIndex([("pack/map", MapFile.model_validate(file))], is_of_pack=True)
        engine = Engine([replace(profile, maps=Maps(index)) for profile in load_profiles([])])
        (one,) = alternatives(told(engine, self.request, 405, b"", state=THING))
        assert one["safety"]["changes_intent"] is not is_implied


class TestCredentials:
    @pytest.mark.parametrize("name", ["x-shop-pass", "dpop", "x-vault-token"])
    def test_one_that_the_map_has_another_place_for_stays_and_that_is_said(self, name: str) -> None:
        made = mapping("POST /v1/things/{id}", "POST /v2/things/{id}", ["/path/id", "/body"], served=PROBE)
        made["arguments"].append({"source": f"/header/{name}", "target": "/body/p"})
        sent = {"content-type": "application/json"} | ({name: "hidden"} if name != "x-vault-token" else {})
        request = Request("POST", "/v1/things/7", headers=sent, body={"a": 1})
        feedback = told(engine_of(made), request, 405, b"", state=THING)
        (only,) = alternatives(feedback)
        assert only["safety"]["changes_intent"]
        assert "does the same" not in only["message"]
        assert "hidden" not in str(feedback)
        assert name not in str(feedback)


class TestWhatCannotBeSent:
    """An alternative that no reader takes is left out alone."""

    request = Request("POST", "/v1/things/7", headers={"content-type": "application/json"}, body={"a": 1})
    forbidden: ClassVar = {"message": "You have no permission to do this here"}

    @rows(
        "path",
        [
            *("//evil.test/{id}", "/\\evil.test", "/v2/../{id}", "/v2/{id}#x", "/v2/{id}?a=b", "/v2/%2e%2e/x"),
            *("/v2/a\r\nb", "/v2/./{id}"),
        ],
    )
    @rows("status", [403, 404, 405])
    def test_a_path_that_leads_elsewhere(self, path: str, status: int) -> None:
        bad = {**CHANGED, "target": {"api": "shop", "method": "POST", "path": path}}
        answer: Any = self.forbidden if status == 403 else ROUTE
        without = told(engine_of(), self.request, status, answer, state=THING)
        assert told(engine_of(bad), self.request, status, answer, state=THING) == without
        assert status != 403 or without is not None
        feedback = told(engine_of({**bad, "score": 1.0}, CHANGED), self.request, status, answer, state=THING)
        assert [one["patch"][-1]["value"] for one in alternatives(feedback)] == ["/v2/things/7"]

    @pytest.mark.parametrize("thing", ["..", "../../admin", "/evil.test"])
    def test_a_value_that_leads_elsewhere(self, thing: str) -> None:
        field = ("/body/a", "/path/id")
        bad = mapping("POST /v1/things/{id}", "POST /v2/{+id}", [field], served={"get": "/v2"})
        request = replace(self.request, body={"a": thing})
        without = told(engine_of(), request, 403, self.forbidden, state={"/v2": {}})
        assert without is not None
        assert told(engine_of(bad), request, 403, self.forbidden, state={"/v2": {}}) == without

    def test_a_header_of_two_lines(self) -> None:
        bad = {**CHANGED, "constants": [{"target": "/header/x-a", "value": "a\r\nb: c"}]}
        without = told(engine_of(), self.request, 403, self.forbidden, state=THING)
        assert told(engine_of(bad), self.request, 403, self.forbidden, state=THING) == without


class TestOtherServers:
    request = Request("GET", "/v1/things/7", query={"q": "secret-looking"})
    there: ClassVar = {**READ, "target": {"api": "other", "method": "GET", "path": "/things/{id}"}}

    def test_one_that_is_not_listed_is_never_named(self) -> None:
        engine = engine_of(self.there, target=NEW)
        asked: list[str] = []
        feedback = told(engine, self.request, 405, b"", asked=asked)
        assert "new.test" not in str(feedback)
        assert asked == []

    def test_one_that_is_listed_is_told_of_and_nothing_is_sent_there(self) -> None:
        engine = engine_of(self.there, target=NEW, origins=[NEW])
        asked: list[str] = []
        feedback = told(engine, self.request, 405, b"", asked=asked)
        assert feedback is not None
        assert asked == []
        (only,) = feedback["suggestions"]
        assert "patch" not in only
        assert "steps" not in only
        assert only["parameters"]["origin"] == f"{NEW}:443"
        assert isinstance(apply(feedback, self.request), Terminal)

    def test_the_address_of_the_api_itself_is_no_other_server(self) -> None:
        engine = engine_of(self.there, target=OLD)
        (only,) = alternatives(told(engine, self.request, 405, b"", state={"/things/7?q=secret-looking": {}}))
        assert only["patch"][-1] == {"op": "replace", "path": "/path", "value": "/things/7"}

    def test_a_map_of_another_server_says_nothing_of_this_one(self) -> None:
        source = {"api": "other", "method": "GET", "path": "/v1/things/{id}"}
        engine = engine_of({**READ, "source": source}, target=NEW)
        assert not alternatives(told(engine, self.request, 405, b"", state={"/v2/things/7?q=secret-looking": {}}))


FLOWS = """
openapi: 3.0.3
info: {title: Flows, version: '1'}
paths:
  /flow_runs/: {post: {requestBody: {content: {application/json: {schema: {type: object}}}}}}
  /flow_runs/{id}:
    get: {parameters: [{name: id, in: path, required: true, schema: {type: string, format: uuid}}]}
  /flow_runs/filter:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                limit: {type: integer}
                sort: {type: string}
                flows: {type: object}
"""


class TestTheDescriptionAlone:
    @pytest.mark.parametrize(
        ("status", "answer"), [(405, {"detail": "Method Not Allowed"}), (404, {"detail": "Not Found"})]
    )
    def test_a_read_that_is_made_by_post_is_found_beside_it(self, tmp_path: Path, status: int, answer: Any) -> None:
        engine = Engine(load_profiles([], written(tmp_path, FLOWS)))
        request = Request("GET", "/flow_runs", query={"limit": "5"})
        feedback = told(engine, request, status, answer)
        (only,) = alternatives(feedback)
        assert only["safety"] == {"side_effects": "possible", "changes_intent": False}
        following = apply(feedback or {}, request)
        assert isinstance(following, Next)
        wanted = Request("POST", "/flow_runs/filter", {}, {"content-type": "application/json"}, {"limit": 5})
        assert following.request == wanted

    def test_what_the_sibling_does_not_take_is_told_as_lost(self, tmp_path: Path) -> None:
        engine = Engine(load_profiles([], written(tmp_path, FLOWS)))
        request = Request("GET", "/flow_runs/", query={"limit": "5", "flows": "x", "colour": "red"})
        (only,) = alternatives(told(engine, request, 405, {"detail": "Method Not Allowed"}))
        assert only["safety"]["loses"] == ["/query/flows", "/query/colour"]

    def test_a_write_finds_no_read(self, tmp_path: Path) -> None:
        engine = Engine(load_profiles([], written(tmp_path, FLOWS)))
        assert not alternatives(told(engine, Request("DELETE", "/flow_runs/"), 405, {"detail": "Method Not Allowed"}))


PROTO = """
syntax = "proto3";
package shop.v1;
message Name { string id = 1; }
service Shop { rpc Get(Name) returns (Name); }
"""


class TestGrpc:
    request = Request("/shop.v1beta1.Shop/Get", "", body={"id": "7"})
    renamed: ClassVar = mapping("POST /shop.v1beta1.Shop/Get", "POST /shop.v1.Shop/Get", ["/body"])

    def engine(self, folder: Path, *mappings: Any) -> Engine:
        (folder / "shop.proto").write_text(PROTO)
        description = ProtobufDescription(load_descriptors(folder / "shop.proto"))
        index = MapIndex([("map.json", MapFile.model_validate({"method": "by hand", "mappings": mappings}))])
        profiles = load_profiles([], rpc=True)
        return Engine([replace(one, maps=Maps(index), description=description) for one in profiles])

    def test_a_method_that_is_not_implemented_is_called_by_its_other_name(self, tmp_path: Path) -> None:
        answer = {"code": 12, "message": "unknown service shop.v1beta1.Shop", "status": "UNIMPLEMENTED"}
        feedback = told(self.engine(tmp_path, self.renamed), self.request, 501, answer)
        following = apply(feedback or {}, self.request)
        assert isinstance(following, Next)
        assert following.request.method == "/shop.v1.Shop/Get"
        assert following.request.body == {"id": "7"}

    def test_one_that_the_server_does_not_describe_is_not_offered(self, tmp_path: Path) -> None:
        answer = {"code": 12, "message": "unknown service shop.v1beta1.Shop", "status": "UNIMPLEMENTED"}
        absent = mapping("POST /shop.v1beta1.Shop/Get", "POST /shop.v2.Shop/Get", ["/body"])
        assert not alternatives(told(self.engine(tmp_path, absent), self.request, 501, answer))

    def test_what_is_described_and_not_carried_out_is_for_whoever_runs_the_server(self, tmp_path: Path) -> None:
        """No map knows another method: that is no proof that there is none."""
        request = Request("/shop.v1.Shop/Get", "", body={"id": "7"})
        answer = {"code": 12, "message": "not carried out", "status": "UNIMPLEMENTED"}
        (suggestion,) = (told(self.engine(tmp_path), request, 501, answer) or {})["suggestions"]
        assert (suggestion["action"], suggestion["parameters"]["actor"]) == ("ESCALATE", "somebody_else")


@pytest.mark.parametrize("pack", ["stripe", "github", "kubernetes", "etcd"])
def test_no_pack_says_that_nothing_else_does_it(pack: str) -> None:
    engine = Engine(load_profiles([pack]))
    kinds = (
        (404, "Not Found"),
        (404, "Unrecognized request URL. Please see https://docs.example"),
        (405, "Method Not Allowed"),
        (410, "This API endpoint was removed"),
        (410, "Gone"),
        (500, "Not implemented"),
        (501, "Not implemented"),
    )
    for method, path, (status, message) in product(("GET", "POST"), ("/v1/nothing/7", "/nothing"), kinds):
        request = Request(method, path)
        forms: tuple[dict[str, Json], ...] = (
            {"message": message},
            {"error": {"message": message, "type": "invalid_request_error"}},
            {"kind": "Status", "status": "Failure", "message": message, "code": status},
            {"code": 12, "error": message, "message": message},
        )
        for answer in forms:
            feedback = told(engine, request, status, answer, headers={"content-type": "application/json"})
            actions = [one["action"] for one in feedback["suggestions"]] if feedback else []
            assert "NO_RECOVERY_AVAILABLE" not in actions, (method, path, status, answer)


class TestMistakesOfOurs:
    def test_a_map_that_cannot_be_read_leaves_what_rules_say(self) -> None:
        def unreadable() -> MapIndex:
            raise AuthoringError(Place(Path("map.json"), 1), "wrong")

        profiles = [replace(one, maps=Maps(None, unreadable)) for one in load_profiles([])]
        forbidden = {"message": "You have no permission to do this here"}
        feedback = told(Engine(profiles), Request("GET", "/v1/things/7"), 403, forbidden)
        assert feedback is not None
        assert feedback["suggestions"][0]["action"] == "ESCALATE"

    def test_a_query_is_not_repeated_as_evidence(self) -> None:
        request = Request("GET", "/v1/things/7", query={"q": "words"})
        feedback = told(engine_of(READ), request, 405, b"", state={"/v2/things/7?q=words": {}})
        (only,) = alternatives(feedback)
        assert only["evidence"]["lookups"] == ["GET /v2/things/7"]


class TestBounds:
    def test_an_edit_that_has_no_room_leaves_what_rules_say(self) -> None:
        moving = mapping(
            "POST /v1/things/{id}", "POST /v2/things/{id}", ["/path/id", ("/body/a", "/body/b")], served=PROBE
        )
        for size, kind in ((10, "mapping"), (5000, "rule")):
            request = Request("POST", "/v1/things/7", body={"a": "x" * size})
            feedback = told(engine_of(moving), request, 405, b"", state=THING, headers={"allow": "GET, DELETE"})
            assert feedback is not None
            assert feedback["suggestions"][0]["evidence"]["kind"] == kind

    def test_a_body_that_goes_along_as_it_is_may_have_many_values(self) -> None:
        decision, calls = self._decided("/body", "/body", 5_000)
        assert isinstance(decision, Annotate)
        (only,) = alternatives(dict(decision.feedback))
        assert [op["path"] for op in only["patch"] if op["op"] != "test"] == ["/path"]
        assert calls < _MOST_CALLS

    def test_a_body_of_many_values_to_be_moved_takes_no_longer_than_it_may(self) -> None:
        decision, calls = self._decided("/body/a", "/body/b", 15_000)
        assert isinstance(decision, Annotate)
        assert not alternatives(dict(decision.feedback))
        assert calls < _MOST_CALLS

    def _decided(self, here: str, there: str, count: int) -> tuple[Decision, int]:
        """Return the decision about a body of many values that eight maps know, and the calls that it takes."""
        request = Request(
            "POST",
            "/v1/things/7",
            headers={"content-type": "application/json"},
            body={"a": [{"b": n} for n in range(count)]},
        )
        maps = [
            mapping("POST /v1/things/{id}", f"POST /v{n}/things/{{id}}", ["/path/id", (here, there)], served=PROBE)
            for n in range(2, 10)
        ]
        engine = engine_of(*maps)
        decisions = engine.decide(Exchange(request, 404, {}, orjson.dumps(ROUTE), "e", 1.0))
        found: list[Decision] = []

        def decide() -> None:
            known = partial(run_with_lookups_sync, decisions)
            found.append(known(lambda lookup: LookupAnswer(200, orjson.dumps(THING.get(lookup.path, {})))))

        calls = calls_of(decide)
        return found[0], calls

    def test_without_steps_the_rules_still_speak(self) -> None:
        moving = mapping(
            "POST /v1/things/{id}", "POST /v2/things/{id}", ["/path/id", ("/body/a", "/body/b")], served=PROBE
        )
        engine = engine_of(moving)
        engine = Engine(engine.profiles, Limits(steps=3000, steps_for_values=0))
        request = Request("POST", "/v1/things/7", body={"a": list(range(4000))})
        feedback = told(engine, request, 403, {"message": "You have no permission to do this here"}, state=THING)
        assert feedback is not None
        assert feedback["suggestions"][0]["action"] == "ESCALATE"
