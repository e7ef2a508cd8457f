"""A suggestion after which a request breaks its description is not sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.verify import drop_invalid
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.schema_repair.schema_violation import MOST, SchemaViolation
from corrigible.schema.exchange import Json, Request
from tests._support.rows import rows
from tests._support.widgets import REQUEST, Api, Description, decide, described, small_enough

WritePack = Callable[..., Path]


def test_what_the_description_refutes_is_not_sent(write_pack: WritePack) -> None:
    wrong = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {colour: \"'green'\"}}]\n"
    decision = decide(described(write_pack(x=wrong)), Api(small_enough))
    # The rule is refuted, so the description itself speaks about what it sees.
    assert isinstance(decision, Annotate)
    assert decision.rules == ("the description",)
    assert decision.feedback["suggestions"][0]["parameters"] == {"size": 10}


def test_what_belongs_together_goes_with_the_part_that_is_refuted(write_pack: WritePack) -> None:
    both = [
        {"action": "MODIFY_PARAMS", "message": "m", "parameters": one} for one in ({"size": 9}, {"colour": "'green'"})
    ]
    decision = decide(
        described(write_pack(x=f"suggest: [{{all: {orjson.dumps(both).decode()}}}]\n")), Api(small_enough)
    )
    assert isinstance(decision, Annotate)
    assert decision.rules == ("the description",)


@pytest.mark.parametrize(("path", "sent"), [("/widget", True), ("/widgets", False)])
def test_what_is_missing_besides_does_not_refute_a_path(write_pack: WritePack, path: str, sent: bool) -> None:
    rule = (
        "suggest: [{action: USE_ALTERNATIVE_ENDPOINT, message: m, patch: "
        "[{op: replace, path: /path, value: \"'/widgets'\"}, {op: remove, path: /body/size}]}]\n"
    )
    request = replace(REQUEST, path=path, body={"size": 5})
    decision = decide(described(write_pack(x=rule)), Api(small_enough), request)
    assert isinstance(decision, Annotate) is sent


class Author(NamedTuple):
    id: str = "a.b"
    diagnosis: str = "d"
    code: str = ""
    verbose_code: str = "B"
    may_guess: bool = False


def fix(*patch: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"action": "MODIFY_PARAMS", "message": "m", "parameters": {}, "patch": list(patch), **more}


def setting(name: str, value: Json) -> dict[str, Any]:
    return {"op": "add", "path": f"/body/{name}", "value": value}


def of(*suggestions: dict[str, Any]) -> RuleResult:
    return RuleResult(Author(), suggestions, "recovery_guidance", "correctable", None, False)


def group(relation: str, id: str = "1") -> dict[str, Any]:
    return {"group": {"id": id, "relation": relation}}


VALID, WRONG = fix(setting("size", 5)), fix(setting("colour", "green"))


@rows(
    ("suggestions", "kept"),
    [
        ([VALID], [0]),
        ([WRONG], None),
        ([VALID, WRONG], [0]),
        ([WRONG, VALID], [1]),
        ([{"action": "ESCALATE", "parameters": {}}], [0]),
        ([{"action": "ESCALATE", "parameters": {}}, WRONG], [0]),
        ([fix({"op": "remove", "path": "/body/none"})], None),
        ([fix(setting("colour", "blue"))], [0]),
        ([fix({"op": "remove", "path": "/body/size"})], None),
        ([fix({"op": "remove", "path": "/body/size"}, placeholders=[{"pointer": "/body/size", "ask": "user"}])], [0]),
        ([fix(setting("colour", "green"), placeholders=[{"pointer": "/body/size", "ask": "user"}])], None),
        ([fix({"op": "replace", "path": "/path", "value": "/unknown"}, setting("colour", "green"))], [0]),
        ([{**VALID, **group("one_of")}, {**WRONG, **group("one_of")}], [0]),
        ([{**VALID, **group("all")}, {**WRONG, **group("all")}], None),
        ([{**WRONG, **group("sequence")}, {**VALID, **group("sequence")}, VALID], [2]),
        ([{**VALID, **group("all")}, {**WRONG, **group("all", "2")}], [0]),
        ([{**VALID, **group("all")}, WRONG], [0]),
    ],
)
def test_which_suggestions_are_left(suggestions: list[dict[str, Any]], kept: list[int] | None) -> None:
    """The request breaks its description already: its size is over the maximum."""
    left = drop_invalid(of(*suggestions), REQUEST, "CreateWidget", Description())
    assert (left and list(left.suggestions)) == (None if kept is None else [suggestions[index] for index in kept])


def test_what_the_request_breaks_as_it_is_is_judged_once_and_only_on_need() -> None:
    asked: list[int] = []

    def before() -> Sequence[SchemaViolation]:
        asked.append(1)
        return [SchemaViolation("/body/colour", "enum", {})]

    assert drop_invalid(of(VALID), REQUEST, "CreateWidget", Description(), before) == of(VALID)
    assert asked == []
    assert drop_invalid(of(fix(setting("size", 5), *WRONG["patch"])), REQUEST, "CreateWidget", Description(), before)
    assert asked == [1]


@pytest.mark.parametrize(
    ("operation", "method", "sent"), [("", "POST", True), ("", "PUT", False), ("Other", "POST", False)]
)
def test_another_operation_excuses_what_is_missing_and_one_value_at_a_misspelt_path(
    operation: str, method: str, sent: bool
) -> None:
    request = replace(REQUEST, method=method, path="/wdgets", body={})
    there = fix(
        {"op": "replace", "path": "/method", "value": "POST"}, {"op": "replace", "path": "/path", "value": "/widgets"}
    )
    assert (drop_invalid(of(there), request, operation, Description()) is not None) is sent
    # What the description says of a single value may be wrong, where the path is near to one only.
    too_large = replace(request, body={"size": 50})
    assert (drop_invalid(of(there), too_large, operation, Description()) is not None) is sent
    assert drop_invalid(of(there, there), too_large, operation, Description()) is None
    unknown = replace(request, body={"size": 5, "colour": "pink"})
    assert drop_invalid(of(there), unknown, operation, Description()) is None


class Breaks(Description):
    """A description that sees so many violations of a request at most, of members that are not numbers."""

    def schema_violations(self, request: Request, operation: str, at: str = "") -> Sequence[SchemaViolation]:
        broken = [name for name, value in request.body.items() if not isinstance(value, int)]
        return [SchemaViolation(f"/body/{name}", "type", {}) for name in broken[:MOST]]


@pytest.mark.parametrize(
    ("broken", "patch", "sent"),
    [
        (MOST + 1, [setting("m0", 1)], True),
        (MOST + 1, [setting("m0", 1), setting(f"m{MOST}", "y")], False),
        (MOST + 1, [setting("m0", 1), {"op": "move", "from": f"/body/m{MOST}", "path": "/body/n"}], False),
        (MOST - 1, [setting("m0", 1)], True),
        (MOST - 1, [setting("m0", 1), setting("n", "y")], False),
    ],
)
def test_a_violation_that_comes_to_light_is_not_new_where_nobody_touched_the_place(
    broken: int, patch: list[dict[str, Any]], sent: bool
) -> None:
    request = replace(REQUEST, body={f"m{number}": "x" for number in range(broken)})
    assert (drop_invalid(of(fix(*patch)), request, "CreateWidget", Breaks()) is not None) is sent
