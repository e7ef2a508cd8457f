"""The reader's judgement: places of a request, named evidence, weights as data, probabilities."""

from __future__ import annotations

import ast
import json
import math
import re
from importlib import resources
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corrigible.adapters.operation import NOTHING, Vocabulary
from corrigible.adapters.reader import evidence as evidence_module
from corrigible.adapters.reader import scorer
from corrigible.adapters.reader.evidence import Refusal, evidence
from corrigible.adapters.reader.locate import Locator
from corrigible.adapters.reader.places import candidate_places
from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.by_description import errors_at_places
from tests._support.rows import rows

WEIGHTS: Final[dict[str, Any]] = json.loads(
    resources.files("corrigible.adapters.reader").joinpath("weights.json").read_text("utf-8")
)
REQUEST = Request(
    "POST",
    "/depots/d-1/crates",
    {"notify": "yes"},
    {"content-type": "application/json", "x-tenant": "north"},
    {"label": "blue", "size": 3, "lines": [{"sku": "A-1"}, {"sku": "A-2"}], "owner": {}},
)
DECLARED = Vocabulary(
    (
        *(("body", "label"), ("body", "size"), ("body", "weight"), ("body", "owner", "name")),
        *(("body", "lines", "*", "sku"), ("body", "lines", "*", "count"), ("query", "notify"), ("query", "dry")),
    )
)


def refusal(message: str, *, status: int = 400, declared: Vocabulary = DECLARED, **more: Any) -> Refusal:
    error = Violation(message=message, **{name: more.pop(name) for name in ("pointer", "constraint") if name in more})
    places = candidate_places(REQUEST, declared, {"depot": "d-1"})
    return Refusal(Exchange(REQUEST, status, {}, b""), error, places, is_described=bool(declared.places), **more)


def likeliest(message: str, **more: Any) -> str:
    return scorer.rank(refusal(message, **more))[0].place.pointer


def of(place: str, message: str, **more: Any) -> list[str]:
    """Return the evidence for one place."""
    asked = refusal(message, **more)
    named = dict(zip((one.pointer for one in asked.places), evidence(asked), strict=False))
    return named[place]


def test_the_places_of_a_request() -> None:
    """What was sent, each segment of the path, and what is declared where the object around it was sent."""
    places = candidate_places(REQUEST, DECLARED, {"depot": "d-1"})
    assert len({one.key for one in places}) == len(places)
    sent = {one.pointer for one in places if not one.is_absent}
    assert {"/method", "/path", "/body", "/body/lines/1/sku", "/body/owner", "/query/notify"} <= sent
    assert [(one.name, one.value) for one in places if one.pointer == "/path"] == [
        ("", "depots"),
        ("depot", "d-1"),
        ("d-1", "crates"),
    ]
    absent = {one.pointer for one in places if one.is_absent}
    assert {"/body/weight", "/body/owner/name", "/body/lines/0/count", "/body/lines/1/count", "/query/dry"} <= absent
    assert all(value_at(REQUEST, one.pointer) is MISSING for one in places if one.is_absent)


def test_places_are_bounded() -> None:
    deep: Json = {}
    for _ in range(200):
        deep = {"a": deep, "b": list(range(200))}
    request = Request(
        "POST", "/x", body={"wide": {f"m{number}": [number] * 50 for number in range(3000)}, "deep": deep}
    )
    assert len(candidate_places(request, DECLARED, {})) < 3000


@rows(
    ("pointer", "message", "expected"),
    [
        ("/body/size", "size is too large", "named"),
        ("/body/size", "size is too large", "the only such name"),
        ("/body/size", "'size' is too large", "named in quotes"),
        ("/body/label", "blue is no label of ours", "named, with its value"),
        ("/body/lines/1/sku", "no such thing: 'A-2'", "value in quotes"),
        ("/body/weight", "weight is required", "named, absent, body"),
        ("/body/label", "size is too large", "another is named"),
        ("/body/size", "no", "nothing named: body"),
        ("/body/label", "unexpected part 'A-2' for the crate 'blue'", "value says where, another does not"),
    ],
)
def test_what_a_text_says_of_a_place(pointer: str, message: str, expected: str) -> None:
    assert expected in of(pointer, message)


def test_a_name_in_another_number_gives_way_to_the_name_as_it_is() -> None:
    declared = Vocabulary((("body", "size"), ("body", "sizes")))
    assert "named" in of("/body/size", "the size is unspecified", declared=declared)
    assert "named" not in of("/body/sizes", "the size is unspecified", declared=declared)
    assert "named" in of("/body/sizes", "the sizes are unspecified", declared=declared)
    alone = Vocabulary((("body", "weights"),))
    assert "named" in of("/body/weights", "the weight is unspecified", declared=alone)


def test_what_a_format_and_the_description_say_of_a_place() -> None:
    assert "told, sent" in of("/body/size", "no", pointer="/body/size")
    assert "told, absent, required" in of("/body/weight", "no", pointer="/body/weight", constraint="required")
    breach = SchemaViolation("/body/size", "maximum", {"maximum": 2}, 3)
    assert {"breach: value", "the only breach", "the first breach"} <= set(of("/body/size", "no", breaches=[breach]))
    assert "a breach is elsewhere" in of("/body/label", "no", breaches=[breach])


@rows(
    ("message", "expected"),
    [
        ("weight is required", "/body/weight"),
        ("'A-2' does not exist", "/body/lines/1/sku"),
        ("size must be at most 2", "/body/size"),
        ("unknown label: blue", "/body/label"),
        ("unexpected part 'A-2' for the crate 'blue'", "/body/lines/1/sku"),
    ],
)
def test_the_likeliest_place(message: str, expected: str) -> None:
    assert likeliest(message) == expected


@given(st.text(max_size=60), st.sampled_from([400, 404, 409, 422, 500]))
def test_probabilities_of_all_places_sum_to_one(message: str, status: int) -> None:
    asked = refusal(message, status=status)
    ranked = scorer.rank(asked)
    assert len(ranked) == len(asked.places)
    assert math.isclose(sum(one.probability for one in ranked), 1, rel_tol=1e-9)
    assert [one.probability for one in ranked] == sorted((one.probability for one in ranked), reverse=True)
    assert all(0 < one.confidence < 1 for one in ranked)


def test_the_order_of_places_is_no_evidence() -> None:
    asked = refusal("size must be at most 2")
    turned = asked._replace(places=[*reversed(asked.places)])
    assert {one.place.key: round(one.probability, 9) for one in scorer.rank(asked)} == {
        one.place.key: round(one.probability, 9) for one in scorer.rank(turned)
    }


def test_confidence_rises_with_probability() -> None:
    line = WEIGHTS["calibration"]
    steps = [scorer.calibrated(number / 1000, line) for number in range(1001)]
    assert steps == sorted(steps) and steps[0] < steps[-1]
    assert steps[0] > 0 and steps[-1] < 1


def test_other_weights_hold_as_long_as_they_are_used() -> None:
    before = [one.probability for one in scorer.rank(refusal("size is too large"))]
    with scorer.use({"weights": {"query sent": 50.0}, "calibration": [1.0, 0.0]}):
        first = scorer.rank(refusal("size is too large"))[0]
        assert first.place.pointer == "/query/notify" and first.probability > 0.99
        assert math.isclose(first.confidence, first.probability, abs_tol=1e-5)
        with scorer.use({"weights": {}, "calibration": [1.0, 0.0]}):
            assert len({round(one.probability, 9) for one in scorer.rank(refusal("size is too large"))}) == 1
    assert [one.probability for one in scorer.rank(refusal("size is too large"))] == before


def test_what_is_judged_can_be_observed() -> None:
    with scorer.observed() as seen:
        scorer.rank(refusal("size is too large"))
    scorer.rank(refusal("label is too long"))
    ((asked, named),) = seen
    assert asked.error.message == "size is too large"
    assert len(named) == len(asked.places)


def test_the_weights_are_data() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", WEIGHTS["corpus"])
    assert WEIGHTS["errors"] > 3000 and WEIGHTS["servers"] > 60
    assert set(WEIGHTS["left out: likeliest place right"]) == {"HTTP", "gRPC"}
    weights = WEIGHTS["weights"]
    assert list(weights) == sorted(weights)
    assert all(isinstance(one, float | int) and math.isfinite(one) and abs(one) < 20 for one in weights.values())
    slope, intercept = WEIGHTS["calibration"]
    assert slope > 0 and math.isfinite(intercept)


PARTS: Final = "(?:method|path|query|headers|body|field)"
STATUSES: Final = r"(?:\d{3}|5xx|other|no code|[A-Z_]+)"
KINDS: Final = f"(?:{'|'.join(Kind)})"
SENT: Final = "(?:absent|blank|sent)"
GROUPS: Final = f"(?:{'|'.join(sorted({*evidence_module._GROUPS.values(), 'value'}))})"
SLOTS: Final = {
    "_part(place, refusal)": PARTS,
    "place.part": PARTS,
    "_status(refusal)": STATUSES,
    "kind": f"(?:absent|sent|{KINDS})",
    "there": SENT,
    "_there(place, facts)": SENT,
    "here": rf"(?:{PARTS}(?: {SENT})?)",
    "one.kind": KINDS,
    "how": "(?:told|said)",
    "order": "(?:first|last|between)",
    "group": GROUPS,
    "count": "(?:alone|among several)",
    "part": PARTS,
    "_GROUPS.get(error.constraint, 'value')": GROUPS,
    "slot": "(?:field|thing|instead)",
    "place.name": "(?:content-type|accept|authorization|if-match)",
    "min(place.depth, 4)": "[0-4]",
    "type(value).__name__": "(?:str|int|float|bool|NoneType)",
    "refusal.route.keyword": r"\w+",
}
"""What stands for each part of a name of evidence that is computed."""


def templates() -> list[str]:
    """Return a pattern for each name of evidence that the module can give."""
    tree = ast.parse(Path(evidence_module.__file__).read_text("utf-8"))
    given_ = [one.value for one in ast.walk(tree) if isinstance(one, ast.Yield)]
    for one in ast.walk(tree):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "append":
            given_ += one.args
        elif isinstance(one, ast.AugAssign) and isinstance(one.value, ast.List | ast.Tuple):
            given_ += one.value.elts
    return [pattern for value in given_ for pattern in patterns_of(value)]


def patterns_of(value: ast.expr | None) -> list[str]:
    match value:
        case ast.Constant(value=str() as text):
            return [re.escape(text)]
        case ast.IfExp(body=body, orelse=orelse):
            return [*patterns_of(body), *patterns_of(orelse)]
        case ast.JoinedStr(values=values):
            return ["".join(_either(part) for part in values)]
        case ast.FormattedValue(value=inner) if (text := ast.unparse(inner)) in SLOTS:
            return [SLOTS[text]]
        case ast.FormattedValue(value=inner):
            assert isinstance(inner, ast.IfExp), f"add {ast.unparse(inner)} to SLOTS"
            return patterns_of(inner)
    return []


def _either(part: ast.expr) -> str:
    return f"(?:{'|'.join(patterns_of(part))})"


def test_each_weight_is_that_of_evidence_that_can_be_given() -> None:
    """A name that no line of the module gives is dead weight: learn again."""
    known = re.compile(f"(?:{re.escape(evidence_module.LACK)})?(?:{'|'.join(templates())})")
    assert known.fullmatch("told whole") and not known.fullmatch("told in a dream")
    assert [name for name in WEIGHTS["weights"] if not known.fullmatch(name)] == []


SENTENCES = st.lists(
    st.sampled_from(
        ["name:", "label", "'blue'", "size is required", "lines[1].sku", "at least one", "is wrong", "A-2", "not", "\n"]
    ),
    max_size=8,
).map(" ".join)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.text(max_size=12), SENTENCES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["", "0", "a/b", "~", "label", "size", "error", "code"]), inner, max_size=4),
    ),
    max_leaves=12,
)


@example("Missing required parameter: 'size'", 7, None)
@given(st.one_of(st.text(max_size=200), SENTENCES), VALUES, st.sampled_from([DECLARED, NOTHING, None]))
def test_any_text_and_any_request(message: str, body: Json, declared: Vocabulary | None) -> None:
    """A place is one of the request, or a name that was missed in an object that was sent."""
    request = Request("POST", "/depots/d-1/crates", {"notify": message[:20]}, {}, body)
    exchange = Exchange(request, 400, {}, b"")
    for error in errors_at_places(exchange, {"error": {"message": message}}, declared):
        assert all(0 <= one.probability <= 1 for one in error.likely)
        if error.pointer and value_at(request, error.pointer) is MISSING:
            around, _, _ = error.pointer.rpartition("/")
            assert around in ("/body", "/query", "/headers") or value_at(request, around) is not MISSING


@rows("piece", ["size ", "'blue' ", "lines[0].sku: ", "weight is required; ", "ü", "((((", "A-2, "])
def test_a_long_text_is_read_in_part(piece: str) -> None:
    """Work grows no faster than the text: what is read of it is bounded."""
    exchange = Exchange(REQUEST, 400, {}, b"")
    assert len(errors_at_places(exchange, {"message": piece * 20_000}, DECLARED)) <= 64


def test_a_locator_ranks_without_a_description() -> None:
    exchange = Exchange(REQUEST, 400, {}, b"")
    first = Locator(exchange, None, None, "", {}).ranked(Violation(message="'A-2' does not exist"))[0]
    assert first.place.pointer == "/body/lines/1/sku"


def test_a_told_lack_in_an_object_that_was_sent_is_at_its_place() -> None:
    exchange = Exchange(REQUEST, 400, {}, b"")
    told = {"detail": [{"type": "missing", "loc": ["body", "owner", "name"], "msg": "Field required"}]}
    for declared in (DECLARED, None):
        (error,) = errors_at_places(exchange, told, declared)
        assert (error.pointer, error.constraint) == ("/body/owner/name", "required")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"field": "label", "message": "Invalid key 'blue'."}, ""),  # the value is what nobody knows
        ({"field": "label", "message": "Invalid key 'label'."}, "additionalProperties"),
    ],
)
def test_what_is_unknown_is_the_value_or_its_name(told: Json, expected: str) -> None:
    (error,) = errors_at_places(Exchange(REQUEST, 400, {}, b""), told, DECLARED)
    assert (error.pointer, error.constraint) == ("/body/label", expected)


@pytest.mark.parametrize(
    ("sent", "says", "stated", "expected"),
    [
        (["red"], "['red'] is not of type 'string'", {"validator": "type", "validator_value": "string"}, ""),
        (["red", "gray"], "'gray' is not a colour", {"validator": "enum", "validator_value": ["red"]}, "/1"),
    ],
)
def test_a_value_inside_is_meant_only_where_it_is_what_is_refused(
    sent: Json, says: str, stated: dict[str, Json], expected: str
) -> None:
    request = Request("POST", "/crates", headers={"content-type": "application/json"}, body={"labels": sent})
    told: Json = {"path": ["labels"], "message": says, **stated}
    (error,) = errors_at_places(Exchange(request, 400, {}, b""), told, None)
    assert error.pointer == f"/body/labels{expected}"
