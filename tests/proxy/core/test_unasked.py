"""What is sent unasked rests on two sources: kinds of edits that one source speaks for, each with its right twin."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qsl

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from hypothesis import given
from hypothesis import strategies as st

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.proxy.build import build_engine
from corrigible.proxy.core import vetoes
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.evidence import Change, Edit, Evidence, Refused, Source, is_enough, source_of
from corrigible.proxy.grpc.corrector import GrpcCorrector
from corrigible.proxy.grpc.forwarder import CallResult
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER, run_with_lookups_sync
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace
from corrigible.rules.violation import LikelyPlace, Violation
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Suggestion
from corrigible.schema.reader import Next, apply
from tests._support.by_description import engine_of, feedback_about, followed
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.1.0
info: {title: Parcels, version: '1'}
paths:
  /parcels:
    post: {requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Parcel'}}}}}
  /batches:
    post:
      requestBody:
        required: true
        content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Line'}}}}
  /orders:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [id, total]
              properties: {id: {type: integer, default: 1}, total: {type: integer}}
  /labels/{id}:
    put: {parameters: [{name: id, in: path, required: true, schema: {}}, {name: copies, in: query, schema: {}}]}
  /crates/{id}:
    parameters: [{name: id, in: path, required: true, schema: {}}]
    put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Crate'}}}}}
  /labels:update:
    get: {}
    post: {requestBody: {content: {application/json: {schema: {type: object}}}}}
components:
  schemas:
    Crate: {type: object, required: [name], properties: {name: {type: string}, width: {type: string}}}
    Line:
      type: object
      additionalProperties: false
      properties: {sku: {type: string}, count: {type: integer}}
    Parcel:
      type: object
      additionalProperties: false
      properties:
        sender: {type: string}
        label: {type: string}
        weight: {type: integer}
        fragile: {type: boolean}
        tags: {type: array, items: {type: string}}
        lines: {type: array, items: {$ref: '#/components/schemas/Line'}}
        seal: {type: string, format: byte}
        stamp: {type: string, format: byte}
        service: {type: string, enum: [express, economy]}
        zone: {type: string, enum: [NORTH, SOUTH]}
        timeout: {type: string}
        mark: {type: [boolean, string], enum: [true, false, 'true', 'yes', 'no']}
        due: {type: string, format: date-time}
        box: {type: object, required: [name], properties: {name: {type: string}, width: {type: string}}}
        free: {}
"""

LIST = "json: cannot unmarshal object into Go value of type []api.Line"
TAG = {"errors": [{"field": "tags[0]", "message": "must be a string"}]}
BASE64 = "illegal base64 data at input byte 5"
KINDS: list[tuple[str, Any, Json, Any]] = [
    # A body is put into a list: one source says so, or both.
    ("/parcels", {"sender": "a", "tags": ["x"]}, LIST, None),
    ("/parcels", {"sender": "a"}, "the body must be an array", None),
    ("/batches", {"sku": "a", "count": 1}, LIST, [{"sku": "a", "count": 1}]),
    # An object of other members than the elements have is no element.
    ("/parcels", {"lines": {"depth": "8"}}, "Invalid value for lines", None),
    ("/parcels", {"lines": {"sku": "a"}}, "lines must be a list", {"lines": [{"sku": "a"}]}),
    # A list of one is taken out of the list only where the description has it so.
    ("/parcels", [{"sender": "a"}], "Array given, object expected", {"sender": "a"}),
    # A number is made a text: the answer tells another place, or this one.
    ("/parcels", {"sender": 7, "label": "x"}, "label is too long", None),
    ("/parcels", {"sender": 7, "label": "x"}, "label 'x' is not known", None),
    ("/parcels", {"sender": 7, "label": "x"}, "sender must be a string", {"sender": "7", "label": "x"}),
    # One of two values is encoded.
    ("/parcels", {"seal": "hello!", "stamp": "abcdefgh"}, BASE64, None),
    ("/parcels", {"seal": "hello!", "stamp": "abcdefgh"}, f"seal: {BASE64}", None),
    ("/parcels", {"seal": "hello!"}, f"seal: {BASE64}", {"seal": "aGVsbG8h"}),
    ("/parcels", {"tags": [1, 2]}, TAG, None),
    ("/parcels", {"tags": [1]}, TAG, {"tags": ["1"]}),
    # A name is put right towards a description that the server contradicts, or that it agrees with.
    ("/parcels", {"Sender": "x"}, "Sender is too short", None),
    ("/parcels", {"Sender": "x"}, "Sender must not be blank", None),
    ("/parcels", {"SENDER": "x"}, "Missing field: Sender", None),
    ("/parcels", {"Sender": "x"}, "Bad Request", None),
    ("/parcels", {"Sender": "x"}, "unknown field 'Sender'", {"sender": "x"}),
    ("/parcels", {"Sender": "x"}, "sender is required", {"sender": "x"}),
    # Another name that nobody knows would be left, and lost where a server takes the rest.
    ("/parcels", {"Sender": "x", "colour": "red"}, "sender is required", None),
    # A value that nobody sent is added only where no other member is what is missing.
    ("/orders", {"total": 1}, "id is required", {"id": 1, "total": 1}),
    ("/orders", {"total": 1}, "code is required", None),
    # A name is changed together with its value.
    ("/parcels", {"wieght": "5"}, "weight is required", None),
    ("/parcels", {"servcie": "expres"}, "unknown field servcie", None),
    ("/parcels", {"wieght": 5}, "weight is required", {"weight": 5}),
    # A truth value is made a text.
    ("/parcels", {"label": True}, "invalid label", None),
    ("/parcels", {"sender": True, "label": "x"}, "label must be a string like sender", None),
    ("/parcels", {"label": True}, "Bad Request", None),
    ("/parcels", {"label": True}, "label must be a string", None),
    ("/parcels", {"label": 7}, "label must be a string", {"label": "7"}),
    # A slip, where the answer says nothing else, or something else.
    ("/parcels", {"wieght": 5}, "Bad Request", {"weight": 5}),
    ("/parcels", {"wieght": 5, "label": "zz"}, "label zz is refused", None),
    ("/parcels", {"wieght": 5, "box": {"name": "n", "width": "9"}}, "width is refused", None),
    ("/parcels", {"service": "expres"}, "Bad Request", {"service": "express"}),
    ("/parcels", {"service": "expres", "label": "zz"}, "label zz is refused", None),
    # The answer has another declared name or allowed value.
    ("/parcels", {"wieght": 5}, "unknown field wieght, label and weight are known", {"weight": 5}),
    ("/parcels", {"wieght": 5}, "unknown field wieght, use label instead", None),
    ("/parcels", {"wieght": 5}, "wieght: unbekannt, gemeint ist 'label'", None),
    ("/parcels", {"service": "expres"}, "service: economy is meant by expres", None),
    # The answer alone: only the same value in the form that it states, or a slip of what it lists.
    ("/parcels", {"free": "opne"}, "free must be one of: open, closed", {"free": "open"}),
    ("/parcels", {"free": "maybe"}, "free must be one of: open, closed", None),
    # A number more or less is another one, and a word that takes something away is no slip.
    ("/parcels", {"free": "prod"}, "free must be one of: prod1, dev", None),
    ("/parcels", {"free": "delet"}, "free must be one of: delete, keep", None),
    # Two sentences about one place that no value fits.
    ("/parcels", {"free": "1"}, {"errors": {"free": ["must be an integer", "must be a string"]}}, None),
    ("/parcels", {"free": "1"}, {"errors": {"free": ["must be an integer", "must be at least 1"]}}, {"free": 1}),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(Path(tmp_path_factory.mktemp("parcels")), DESCRIPTION)


def sent_unasked(engine: Engine, path: str, body: Any, answer: Json) -> Any:
    """Return the body that a reader sends without asking; None where it sends none."""
    request = Request("POST", path, headers={"content-type": "application/json"}, body=body)
    answer = answer if isinstance(answer, dict) else {"message": answer}
    outcome = followed(feedback_about(engine, request, 400, answer), request)
    return outcome.request.body if isinstance(outcome, Next) else None


@pytest.mark.parametrize(("body", "is_sent"), [({"name": "a", "width": "2"}, True), ({"width": "2"}, False)])
def test_another_method_is_called_with_all_that_it_requires(engine: Engine, body: Json, is_sent: bool) -> None:
    request = Request("POST", "/crates/7", headers={"content-type": "application/json"}, body=body)
    feedback = feedback_about(engine, request, 405, {"message": "Method Not Allowed"})
    outcome = None if feedback is None else apply(feedback, request, confirm=_is_only_flagged)
    assert (isinstance(outcome, Next) and outcome.request.method == "PUT") is is_sent


def _is_only_flagged(suggestion: Suggestion) -> bool:
    """Many readers apply what is flagged as a change of intent, unless a confirmation is required."""
    return suggestion.safety is None or not suggestion.safety.requires_confirmation


@pytest.mark.parametrize(
    ("member", "value", "text"),
    [
        ("label", 5, "5"),
        ("label", 7.5, "7.5"),
        ("label", 7.0, "7.0"),
        ("label", True, None),
        ("made_date", 1764410400, None),
    ],
)
def test_a_value_is_made_a_text_where_it_has_one_form_as_a_text(member: str, value: Json, text: str | None) -> None:
    """The word for yes may be one of the API's own, such as `open`, and a date has many forms."""
    answer = {"errors": [{"field": member, "message": "must be of type string"}]}
    sent = sent_unasked(build_engine(()), "/parcels", {member: value}, answer)
    assert sent == (None if text is None else {member: text})


@rows(("path", "body", "answer", "after"), KINDS)
def test_kinds(engine: Engine, path: str, body: Any, answer: Json, after: Any) -> None:
    assert sent_unasked(engine, path, body, answer) == after


@pytest.mark.parametrize(
    ("path", "body", "answer", "confirmed"),
    [
        ("/parcels", {"sender": "a"}, "the body must be an array", [{"sender": "a"}]),
        ("/parcels", {"Sender": "x"}, "Bad Request", {"sender": "x"}),
        ("/parcels", {"label": True}, "invalid label", {"label": "true"}),
        ("/parcels", {"label": True}, "label must be a string", {"label": "true"}),
        ("/parcels", {"seal": "hello!", "stamp": "abcdefgh"}, BASE64, {"seal": "aGVsbG8h", "stamp": "abcdefgh"}),
    ],
)
def test_what_rests_on_one_source_is_offered(engine: Engine, path: str, body: Any, answer: str, confirmed: Any) -> None:
    request = Request("POST", path, headers={"content-type": "application/json"}, body=body)
    outcome = followed(feedback_about(engine, request, 400, {"message": answer}), request, confirm=True)
    assert isinstance(outcome, Next)
    assert outcome.request.body == confirmed


@rows("text", ["", "Internal Server Error", "Something went wrong, please try again later."])
@rows(
    ("body", "confirmed"),
    [
        ({"wieght": 5}, {"weight": 5}),
        ({"weight": "5"}, {"weight": 5}),
        ({"label": 5}, {"label": "5"}),
        ({"weight": "many"}, None),
        ({"label": "x"}, None),
    ],
)
def test_a_fault_without_a_reason_may_be_that_of_a_request_that_breaks_its_description(
    engine: Engine, text: str, body: Json, confirmed: Json
) -> None:
    request = Request("POST", "/parcels", headers={"content-type": "application/json"}, body=body)
    feedback = feedback_about(engine, request, 500, {"message": text})
    assert (feedback is None) is (body == {"label": "x"})
    if feedback is not None:
        assert not isinstance(apply(feedback, request, confirm=_is_only_flagged), Next)
        outcome = apply(feedback, request, confirm=True)
        assert (outcome.request.body if isinstance(outcome, Next) else None) == confirmed
    for other in ("the database is locked", "upstream timed out", "boom", "panic: nil"):
        assert feedback_about(engine, request, 500, {"message": other}) is None


@rows(
    ("member", "sent", "message", "after"),
    [
        ("weight", 5, "weight must be at least 9", None),
        ("weight", "5", "weight must be at least 9", None),
        ("weight", "12", "weight must be at least 9", 12),
        ("timeout", "5m", "timeout should be '5h'", None),
        ("label", "basic", "label should be 'gold'", None),
        ("label", "read", "label should be 'admin:read'", None),
        ("free", 500, "free must be at most 9", 9),
        ("amount", 500, "amount must be at most 9", None),
        ("free", "prod", "free must be one of: prod1, dev", None),
        ("free", 5, "`free` may only be set to 1 when thinking is enabled.", None),
        ("free", 500, "number of actions (600) exceeds configured limit (50)", None),
        # Nothing says that null may be left out.
        ("free", None, "free must be one of: open, closed", None),
        ("label", "a.example/b", "label should be 'https://a.example/b'", "https://a.example/b"),
        ("fragile", False, "fragile must be one of: true", None),
    ],
)
def test_more_than_was_wished_is_not_sent_by_readers_that_send_what_is_flagged(
    engine: Engine, member: str, sent: Any, message: str, after: Any
) -> None:
    request = Request("POST", "/parcels", headers={"content-type": "application/json"}, body={member: sent})
    feedback = feedback_about(engine, request, 400, {"errors": [{"field": member, "message": message}]})
    assert feedback is not None
    outcome = apply(feedback, request, confirm=_is_only_flagged)
    assert (outcome.request.body[member] if isinstance(outcome, Next) else None) == after


GOLD = "label should be 'gold'"
ONLY_ONE = "`free` may only be set to 1 when thinking is enabled."
TWO = ["must be an integer", "must be a string"]
VETOED: dict[str, tuple[str, str, Any, int, Json]] = {
    "elsewhere": ("POST", "/parcels", {"sender": 7, "label": "x"}, 400, "label must be a string like sender"),
    "known name": ("POST", "/parcels", {"Sender": "x"}, 400, "Sender must not be blank"),
    "told otherwise": ("POST", "/parcels", {"wieght": 5}, 400, "unknown field wieght, use label instead"),
    "made a text": ("POST", "/parcels", {"sender": 7, "label": "x"}, 400, "label 'x' of sender is not known"),
    "another left": ("POST", "/parcels", {"tags": [1, 2]}, 400, TAG),
    "misfit": ("POST", "/labels/7?url=x", None, 405, "Method Not Allowed"),
    "another word": ("GET", "/labels:create", None, 404, "Not Found"),
    "two changes": ("POST", "/parcels", {"zone": "noth"}, 400, "invalid zone noth"),
    "truth word": ("POST", "/parcels", {"mark": "YES"}, 400, "mark: 'YES' is not one of [True, 'true', 'yes', 'no']"),
    "words alone": ("POST", "/parcels", {"free": 5}, 400, "free must be a string"),
    "contradicted": ("POST", "/parcels", {"free": "1"}, 400, {"errors": {"free": TWO}}),
    "decides": ("POST", "/parcels", {"amount": 5}, 400, {"errors": [{"field": "amount", "message": "must be <= 3"}]}),
    "no wish": ("POST", "/parcels", {"free": 5}, 400, {"errors": [{"field": "free", "message": ONLY_ONE}]}),
    "filled in": ("POST", "/orders", {"total": 1}, 400, "pick another ID"),
    "more": ("POST", "/parcels", {"label": "basic"}, 400, {"errors": [{"field": "label", "message": GOLD}]}),
}
"""For a veto an edit that is sent without it: what the others are against, a repair asks for by itself."""


@rows("veto", [one for one in vetoes.VETOES if one.name in VETOED], ids=lambda one: one.name)
def test_each_veto_is_what_keeps_an_edit(veto: vetoes.Veto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, path, body, status, answer = VETOED[veto.name]

    def sent() -> Any:
        fresh = engine_of(tmp_path, DESCRIPTION)  # which has no translation of this answer yet
        at, _, query = path.partition("?")
        request = Request(method, at, dict(parse_qsl(query)), headers={"content-type": "application/json"}, body=body)
        feedback = feedback_about(fresh, request, status, answer if isinstance(answer, dict) else {"message": answer})
        outcome = None if feedback is None else apply(feedback, request, confirm=_is_only_flagged)
        return outcome if isinstance(outcome, Next) else None

    assert sent() is None
    monkeypatch.setattr(vetoes, "VETOES", tuple(one for one in vetoes.VETOES if one is not veto))
    assert sent() is not None


LINES: Json = {"type": "array", "items": {"type": "object", "properties": {"sku": {}, "count": {}}}}
LINE: Json = {"depth": 8}
ROW: Json = {"sku": "a"}
BOX: Json = {"type": "object", "required": ["name"], "properties": {"name": {}, "width": {}}}
SENDER = DeclaredPlace({"type": "string"}, siblings=("sender",))
AGAINST: list[tuple[str, Change, Json, set[Evidence], bool]] = [
    # One source alone says that a body is to be a list; the description, or a place that is told, says so as well.
    ("restructured", Change("/body", "/body", {"a": 1}, [{"a": 1}]), {}, {Evidence.STATED, Evidence.NAMED}, True),
    ("restructured", Change("/body/x", "/body/x", "a", ["a"]), {}, {Evidence.STATED}, True),
    ("restructured", Change("/body/x", "/body/x", "a", ["a"]), {}, {Evidence.STATED, Evidence.NAMED}, False),
    ("restructured", Change("/body/x", "/body/x", "a", ["a"]), {}, {Evidence.DECLARED}, False),
    ("restructured", Change("/body/x", "/body/x", 7, "7"), {}, {Evidence.STATED}, False),
    ("restructured", Change("/body/box/a", "/body/a", 7, 7), {}, {Evidence.NAMED}, True),
    # An object of other members is put into a list, a value into an object that needs more or another member.
    ("strange", Change("/body/lines", "/body/lines", LINE, [LINE]), LINES, set(), True),
    ("strange", Change("/body/lines", "/body/lines", ROW, [ROW]), LINES, set(), False),
    ("strange", Change("/body/box", "/body/box", "a", {"width": "a"}), BOX, set(), True),
    ("strange", Change("/body/box", "/body/box", "a", {"name": "a"}), {"properties": {"name": {}}}, set(), False),
    # Thirty of what: a text has to say it. And no reference is a number.
    ("form", Change("/body/parcelRefs/1", "/body/parcelRefs/1", 7, "7"), {"type": "string"}, set(), True),
    ("form", Change("/body/timeout", "/body/timeout", 30, "30"), {"type": "string"}, set(), True),
    (
        "form",
        Change("/body/timeout", "/body/timeout", 30, "30"),
        {"type": "string", "pattern": "^[0-9]+$"},
        set(),
        False,
    ),
    ("form", Change("/body/label", "/body/label", 30, "30"), {"type": "string"}, set(), False),
    ("form", Change("/body/timeout", "/body/timeout", "30", "30s"), {"type": "string"}, set(), False),
    # A name becomes one that is declared no more than the one that was sent.
    ("undeclared name", Change("/body/sendr", "/body/sende", "a", "a"), SENDER._replace(schema={}), set(), True),
    ("undeclared name", Change("/body/sender", "/body/sende", "a", "a"), SENDER, set(), False),
    ("undeclared name", Change("/body/sendr", "/body/sende", "a", "a"), DeclaredPlace({}), set(), False),
]
"""Edits that a veto is against, and near ones that it is not."""


@rows(("name", "change", "declared", "evidence", "holds"), AGAINST)
def test_what_a_veto_is_against(
    name: str, change: Change, declared: Json | DeclaredPlace, evidence: set[Evidence], holds: bool
) -> None:
    place = declared if isinstance(declared, DeclaredPlace) else DeclaredPlace(declared)
    refused = SimpleNamespace(
        schema=lambda _: place.schema,
        declared=lambda _: place,
        has=lambda _: False,
        request=None,
    )
    edit = SimpleNamespace(
        changes=[change], evidence=frozenset(evidence), error=Violation(pointer=change.source), refused=refused
    )
    (veto,) = [one for one in vetoes.VETOES if one.name == name]
    assert veto.holds(cast(Edit, edit)) is holds


def place(pointer: str, probability: float = 0.9, *, is_told: bool = True) -> LikelyPlace:
    return LikelyPlace(pointer, probability, probability, is_told=is_told)


ELSEWHERE: list[tuple[str, list[str], str, list[LikelyPlace], set[Evidence], bool]] = [
    # The answer tells a place that is not edited, unless what is edited is named, or all that is broken is mended.
    ("no", ["/body/box/a"], "/body/box/b", [], set(), True),
    ("no", ["/body/box/a", "/body/box/b/c"], "/body/box/b", [], set(), False),
    ("no", ["/body/box/a"], "/body/box/b", [], {Evidence.NAMED}, False),
    ("no", ["/body/box/a"], "/body/box/b", [], {Evidence.UNPLACED}, False),
    ("no", ["/body/box/a"], "/body/box/b", [], {Evidence.DECLARED}, True),
    ("no", ["/body/box/a"], "/body", [], set(), False),
    ("no", ["/body/box/a", "/method"], "/body/box/b", [], set(), False),
    ("no", ["/query/a"], "/body/box", [], set(), True),
    # One of two that the text names, of which the edit is at neither.
    ("no", ["/body/a"], "", [place("/body/b"), place("/body/c")], set(), True),
    ("no", ["/body/c"], "", [place("/body/b"), place("/body/c")], set(), False),
    ("no", ["/body/a/b"], "", [place("/body/a")], set(), False),
    ("no", ["/body/d"], "", [place("/body/b"), place("/body/c"), place("/body/d")], set(), True),
    ("no", ["/body/a"], "", [place("/body/b", is_told=False)], set(), False),
    ("no", ["/body/a"], "", [place("/body/b", 0.01)], set(), False),
    ("no", ["/method"], "", [place("/body/b")], set(), False),
    # A sentence names another member that was sent.
    ("sender is required", ["/body/label"], "", [], {Evidence.NAMED}, True),
    ("sender is required", ["/body/sender"], "", [], {Evidence.NAMED}, False),
    ("courier is required", ["/body/label"], "", [], {Evidence.NAMED}, False),
    ("sender is required", ["/body/label"], "/body/label", [], {Evidence.NAMED}, False),
    ("sender is required", ["/body/label"], "/body/label", [place("/body/label")], {Evidence.NAMED}, True),
    ("sender is required", ["/headers/label"], "", [], {Evidence.NAMED}, False),
]


@rows(("message", "places", "pointer", "likely", "evidence", "holds"), ELSEWHERE)
def test_when_the_answer_tells_another_place(
    message: str, places: list[str], pointer: str, likely: list[LikelyPlace], evidence: set[Evidence], holds: bool
) -> None:
    edit: Any = SimpleNamespace(
        places=places,
        changes=[],
        evidence=frozenset(evidence),
        error=Violation(message=message, pointer=pointer, likely=tuple(likely)),
        refused=SimpleNamespace(request=Request("POST", "/parcels", body={"sender": 7, "label": "x"})),
    )
    (veto,) = [one for one in vetoes.VETOES if one.name == "elsewhere"]
    assert veto.holds(edit) is holds


@rows(
    ("method", "path", "query", "body", "fits"),
    [
        ("PUT", "/labels/7", {"copies": "2"}, None, True),
        ("PUT", "/labels/7", {}, None, True),
        ("PUT", "/labels/7", {"url": "x"}, None, False),
        ("POST", "/orders", {}, {"id": 1, "total": 2}, True),
        ("POST", "/orders", {}, {"id": 1}, False),
        ("POST", "/orders", {}, {"id": 1, "total": 2, "more": 3}, False),
        ("POST", "/orders", {"total": "2"}, {"id": 1, "total": 2}, False),
        ("POST", "/labels:update", {}, {"any": 1}, True),
        ("PATCH", "/nowhere", {"any": "1"}, {"any": 1}, True),
    ],
)
def test_what_was_sent_fits_another_method_or_not(
    engine: Engine, method: str, path: str, query: dict[str, str], body: Any, fits: bool
) -> None:
    case: Any = SimpleNamespace(
        request=Request("GET", path, query, headers={"content-type": "application/json"}, body=body),
        description=engine.profiles[0].described,
    )
    to = {"op": "replace", "path": "/method", "value": method}
    edit: dict[str, Any] = {"action": "USE_ALTERNATIVE_ENDPOINT", "message": "m", "parameters": {}, "patch": [to]}
    assert Refused(case, []).fits(edit) is fits
    assert Refused(case, []).fits({**edit, "patch": [to, {"op": "remove", "path": "/body/none/at/all"}]})


def test_each_veto_has_an_example() -> None:
    assert {one.name for one in vetoes.VETOES} == {*VETOED, *(name for name, *_ in AGAINST)}


WRONG: dict[str, st.SearchStrategy[Any]] = {
    "sender": st.integers() | st.booleans() | st.lists(st.text(max_size=5), max_size=2),
    "weight": st.integers(0, 999).map(str) | st.booleans(),
    "fragile": st.sampled_from(["true", "no", "1", 1, 0]),
    "service": st.sampled_from(["expres", "EXPRESS", "ecnomy", "econ", ["express"]]),
    "lines": st.fixed_dictionaries({"sku": st.text(max_size=5)}) | st.just('[{"sku": "a"}]'),
    "wieght": st.integers(0, 999),
    "Fragile": st.booleans(),
    "servise": st.just("express"),
}
"""Values that the description refuses, and names that it does not have."""
TEXTS = st.sampled_from(
    [
        "{name} {value} is refused",
        "invalid {name}",
        "{name} is too long",
        "{name} '{value}' must match ^[A-Z]+$",
        "cannot use {name} '{value}' today",
        "{name}: not a valid carrier label",
    ]
)


@given(
    data=st.data(), name=st.sampled_from(sorted(WRONG)), text=TEXTS, value=st.from_regex(r"[a-z]{4,9}", fullmatch=True)
)
def test_nothing_that_only_the_description_says_is_sent_unasked(
    engine: Engine, data: st.DataObject, name: str, text: str, value: str
) -> None:
    """The answer refuses another member that was sent."""
    body = {name: data.draw(WRONG[name]), "label": value}
    for answer in (text.format(name="label", value=value), {"label": [text.format(name="This", value=value)]}):
        assert sent_unasked(engine, "/parcels", body, answer) is None


@given(
    value=st.from_regex(r"[a-z]{4,9}", fullmatch=True),
    text=st.sampled_from(
        [
            "the body must be an array",
            "json: cannot unmarshal object into Go value of type []string",
            "free must be one of: 17, 23",
            "free is not known: use {other}",
            "Did you mean {other}?",
            "sender must be called {other}",
            "body should be a list of parcels",
        ]
    ),
    other=st.from_regex(r"[A-Z]{3}[0-9]{3}", fullmatch=True),
)
def test_nothing_that_only_the_answer_says_is_sent_unasked(engine: Engine, value: str, text: str, other: str) -> None:
    """The description has nothing against the request, and the value is no slip of what is told."""
    body = {"sender": value, "free": value}
    assert sent_unasked(engine, "/parcels", body, text.format(other=other)) is None


def test_two_sources_or_the_only_form() -> None:
    """Over all sets of evidence: one source, however often it speaks, is enough only for the form that it states."""
    for evidence in map(
        frozenset,
        itertools.chain.from_iterable(itertools.combinations(Evidence, size) for size in range(len(Evidence) + 1)),
    ):
        sources = {source_of(one) for one in evidence}
        for is_lossless in (True, False):
            is_form = is_lossless and Evidence.STATED in evidence
            assert is_enough(evidence, is_lossless=is_lossless) is (len(sources) > 1 or is_form)
    assert {source_of(one) for one in Evidence} == set(Source)


def _box() -> Descriptors:
    file = FileDescriptorProto(name="box.proto", package="shop", syntax="proto3")
    kind = file.enum_type.add(name="Kind")
    for number, name in enumerate(("KIND_UNSPECIFIED", "SMALL", "LARGE")):
        kind.value.add(name=name, number=number)
    message = file.message_type.add(name="Box")
    for number, name in enumerate(("title", "colour"), 1):
        message.field.add(name=name, number=number, type=FieldDescriptorProto.TYPE_STRING, label=1)
    service = file.service.add(name="Boxes")
    service.method.add(name="Pack", input_type=".shop.Box", output_type=".shop.Box")
    return Descriptors([file])


@rows(
    ("message", "after"),
    [
        ("colour must be one of: red, blue", {"title": "rde", "colour": "blue"}),
        ("title must be one of: red, blue", {"title": "red", "colour": "bleu"}),
        ("title 'rde' is refused", None),
        ("the box must be an array", None),
        # names that are listed where one that was sent as a value is not known
        ("No column named rde. Valid columns: red, blue", {"title": "red", "colour": "bleu"}),
        ("No column named rde. Valid columns: shades.red, shades.blue", {"title": "red", "colour": "bleu"}),
        ("No column named rde or bleu. Valid columns: red, blue", None),
        ("No column named rde. Valid columns: green, grey", None),
        ("No column named rde. Valid columns: title, colour", None),
    ],
)
def test_of_a_call(message: str, after: Any) -> None:
    known = _box()
    body = {"title": "rde", "colour": "bleu"}
    sent = known.request_bytes("/shop.Boxes/Pack", body) or b""
    call = CallResult("/shop.Boxes/Pack", (), sent, 3, message, ())
    corrector = GrpcCorrector(build_engine((), rpc=True), known)
    outcome = run_with_lookups_sync(
        corrector.correct(call, id="e", started=0.0), lambda lookup: NO_ANSWER, corrector.limits
    )
    following = (
        None if outcome.feedback is None else apply(outcome.feedback, Request("/shop.Boxes/Pack", "", body=body))
    )
    assert (following.request.body if isinstance(following, Next) else None) == after


def test_a_name_of_a_format_and_the_value_in_its_text_are_enough(engine: Engine) -> None:
    """Of one object inside of the body that has the name."""
    request = Request("POST", "/parcels", headers={"content-type": "application/json"}, body={"data": {"rank": "4"}})
    error = {"location": "body", "name": "rank", "description": "'4' is not of type 'integer'"}
    outcome = apply(feedback_about(engine, request, 400, {"details": [error]}) or {}, request)
    assert isinstance(outcome, Next) and outcome.request.body == {"data": {"rank": 4}}
    told = {"details": [{**error, "description": "it is not of type 'integer'"}]}
    assert not isinstance(apply(feedback_about(engine, request, 400, told) or {}, request), Next)
