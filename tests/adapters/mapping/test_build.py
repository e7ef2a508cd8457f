"""Which operations are mapped to which, and what becomes of their fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from corrigible.adapters.mapping.builder import Builder
from corrigible.adapters.mapping.conversion import CONVERSIONS, convert
from corrigible.adapters.mapping.field_map import compared
from corrigible.adapters.mapping.likeness import Profile, Rarity
from corrigible.adapters.mapping.mapping import Equivalence, OperationMapping
from corrigible.adapters.mapping.operation import CanonicalOperation, Field
from corrigible.rules.pointer import MISSING
from tests._support.rows import rows


def operation(
    api: str,
    key: str,
    summary: str = "",
    arguments: Sequence[Field] = (),
    results: Sequence[Field] = (),
    **more: object,
) -> CanonicalOperation:
    method, _, path = key.partition(" ")
    given = {one.pointer for one in arguments}
    variables = [
        Field(pointer=f"/path/{name}", type="string", required=True)
        for part in path.split("/")
        if part.startswith("{") and f"/path/{(name := part.strip('{}'))}" not in given
    ]
    everything = {"api": api, "method": method, "path": path, "summary": summary, "name": more.pop("name", key)}
    return CanonicalOperation.model_validate(
        {**everything, "arguments": (*variables, *arguments), "results": tuple(results), **more}
    )


def field(pointer: str, kind: str = "string", **more: object) -> Field:
    return Field.model_validate({"pointer": pointer, "type": kind, **more})


def built(sources: Sequence[CanonicalOperation], targets: Sequence[CanonicalOperation]) -> list[OperationMapping]:
    keys = [f"{one.api} {one.key}" for one in targets]
    return Builder(sources, targets, lambda text, limit: keys[:limit]).mappings()


def substitutes(mappings: Sequence[OperationMapping]) -> dict[str, str]:
    return {
        f"{one.source.method} {one.source.path}": f"{one.target.method} {one.target.path}"
        for one in mappings
        if one.equivalence is not Equivalence.RELATED
    }


THING = (field("/result/id"), field("/result/title"), field("/result/state"), field("/result/created_at"))
THINGS = tuple(field(one.pointer.replace("/result", "/result/*")) for one in THING)

OLD = (
    operation("old", "GET /repos/{owner}/{repo}/issues", "List repository issues", results=THINGS),
    operation(
        "old", "POST /repos/{owner}/{repo}/issues", "Create an issue", [field("/body/title", required=True)], THING
    ),
    operation("old", "GET /repos/{owner}/{repo}/issues/{number}", "Get an issue", results=THING),
    operation("old", "DELETE /repos/{owner}/{repo}/labels/{name}", "Delete a label"),
    operation("old", "GET /zen", "Get the Zen of it"),
)
NEW = (
    operation("new", "GET /repos/{owner}/{repo}/issues", "List a repository's issues", results=THINGS),
    operation(
        "new", "POST /repos/{owner}/{repo}/issues", "Create an issue", [field("/body/title", required=True)], THING
    ),
    operation("new", "GET /repos/{owner}/{repo}/issues/{index}", "Get an issue", results=THING),
    operation("new", "DELETE /repos/{owner}/{repo}/issues/{index}", "Delete an issue"),
    operation("new", "GET /repos/{owner}/{repo}/labels/{id}", "Get a single label"),
    operation("new", "GET /markdown", "Render Markdown"),
)


def test_no_map_is_built_that_sets_who_calls_or_takes_a_header_elsewhere() -> None:
    sent = (field("/header/x_colour"), field("/query/x_user"), field("/query/size"), field("/query/_method"))
    taken = (
        *(field("/query/x_colour"), field("/header/x_user"), field("/query/size")),
        *(field("/body/_method"), field("/header/x-method-override", required=True, enum=["PUT"])),
    )
    one = operation("old", "GET /things", "List things", arguments=sent, results=THINGS)
    other = operation("new", "GET /v2/things", "List things", arguments=taken, results=THINGS)
    (mapping,) = built([one], [other])
    assert {pair.source: pair.target for pair in mapping.arguments} == {"/query/size": "/query/size"}
    assert mapping.constants == ()


def test_operations_are_mapped_to_what_does_the_same_and_to_nothing_else() -> None:
    assert substitutes(built(OLD, NEW)) == {
        "GET /repos/{owner}/{repo}/issues": "GET /repos/{owner}/{repo}/issues",
        "POST /repos/{owner}/{repo}/issues": "POST /repos/{owner}/{repo}/issues",
        "GET /repos/{owner}/{repo}/issues/{number}": "GET /repos/{owner}/{repo}/issues/{index}",
    }


def test_the_order_of_operations_changes_nothing() -> None:
    assert built(OLD, NEW) == built(OLD[::-1], NEW[::-1])


def test_each_mapping_has_its_evidence_and_a_score() -> None:
    for one in built(OLD, NEW):
        kinds = {reason.kind for reason in one.evidence}
        assert {"path", "description"} <= kinds
        assert 0 < one.score <= 1


def only(source: CanonicalOperation, target: CanonicalOperation) -> OperationMapping:
    (mapping,) = built([source], [target])
    return mapping


PAY = "POST /v1/payments"


def test_a_drop_in_is_the_same() -> None:
    fields = [field("/body/amount", "integer", required=True)]
    one = only(
        operation("a", PAY, "Create a payment", fields, THING), operation("b", PAY, "Create a payment", fields, THING)
    )
    assert one.equivalence is Equivalence.SAME
    assert [(pair.source, pair.target) for pair in one.arguments] == [("/body/amount", "/body/amount")]


def test_what_has_no_place_is_told_and_makes_it_weaker() -> None:
    source = operation("a", PAY, "Create a payment", [field("/body/amount", "integer"), field("/body/memo")], THING)
    target = operation("b", PAY, "Create a payment", [field("/body/amount", "integer")], THING[:2])
    one = only(source, target)
    assert one.equivalence is Equivalence.WEAKER
    assert one.lost_arguments == ("/body/memo",)
    assert one.lost_results == ("/result/state", "/result/created_at")


def test_a_source_that_is_not_described_to_its_end_is_never_the_same() -> None:
    source = operation("a", PAY, "Create a payment", [field("/body/tree", "object")], left_out=1)
    target = operation("b", PAY, "Create a payment", [field("/body/tree", "object")], left_out=1)
    assert only(source, target).equivalence is Equivalence.WEAKER


def test_one_that_also_replaces_is_stronger() -> None:
    source = operation("a", "PATCH /v1/things/{id}", "Update a thing", [field("/body/title")])
    target = operation("b", "PUT /v1/things/{id}", "Update a thing", [field("/body/title")])
    assert only(source, target).equivalence is Equivalence.STRONGER


INT, UNITS = "integer", "hundredths to units"


@rows(
    ("source", "target", "conversion"),
    [
        (field("/body/amount_cents", INT), field("/body/amount", "number", description="In dollars."), UNITS),
        (field("/body/sum", INT, description="In cents."), field("/body/sum", INT, description="In euros."), UNITS),
        (field("/body/wait_ms", INT), field("/body/wait_seconds", INT), "milliseconds to seconds"),
        (field("/body/wait", INT, description="In seconds."), field("/body/wait_ms", INT), "seconds to milliseconds"),
        (field("/body/due", INT, format="unix-time"), field("/body/due", format="date-time"), "unix time to date-time"),
        (field("/body/number", INT), field("/body/number"), "to text"),
        (field("/body/limit", format="int64"), field("/body/limit", INT), "to integer"),
    ],
)  # fmt: skip
def test_units_and_types_are_converted(source: Field, target: Field, conversion: str) -> None:
    one = only(operation("a", PAY, "Create a payment", [source]), operation("b", PAY, "Create a payment", [target]))
    assert [(pair.source, pair.target, pair.conversion) for pair in one.arguments] == [
        (source.pointer, target.pointer, conversion)
    ]
    assert one.equivalence is Equivalence.SAME_WITH_CONVERSION


@rows(
    ("source", "target"),
    [
        (
            field("/body/amount", "integer", description="In the smallest currency unit."),
            field("/body/amount", "integer", description="Amount in dollars."),
        ),  # of yen there are no cents
        (field("/body/size", "integer", description="In bytes."), field("/body/size", "integer", description="In KB.")),
        (field("/body/tag", "object"), field("/body/tag", "string")),
        (field("/body/wait_ms", "integer"), field("/body/wait_seconds", "string", format="int64")),
        (field("/body/wait_ms", format="int64"), field("/body/wait_seconds", format="int64")),
        (field("/body/wait", "integer", description="In bytes."), field("/body/wait", format="date-time")),
    ],
)
def test_what_cannot_be_converted_without_loss_is_lost(source: Field, target: Field) -> None:
    one = only(operation("a", PAY, "Create a payment", [source]), operation("b", PAY, "Create a payment", [target]))
    assert (one.arguments, one.lost_arguments) == ((), (source.pointer,))
    assert one.equivalence is Equivalence.WEAKER


def test_items_of_lists_must_agree() -> None:
    source = operation(
        "a", PAY, "Create a payment", [field("/body/labels", "array"), field("/body/labels/*", "string")]
    )
    target = operation(
        "b", PAY, "Create a payment", [field("/body/labels", "array"), field("/body/labels/*", "integer")]
    )
    assert only(source, target).lost_arguments == ("/body/labels",)


def test_names_that_are_split_into_levels_are_found_both_ways() -> None:
    flat = operation("a", PAY, "Create a payment", [field("/body/spec/metricName")])
    deep = operation("b", PAY, "Create a payment", [field("/body/spec/metric/name")])
    forth = [(pair.source, pair.target) for pair in only(flat, deep).arguments]
    back = [(pair.target, pair.source) for pair in only(deep, flat).arguments]
    assert forth == back == [("/body/spec", "/body/spec"), ("/body/spec/metricName", "/body/spec/metric/name")]


def test_a_bare_list_and_one_in_an_envelope_are_the_same_things() -> None:
    source = operation("a", "GET /v1/things", "List all things", [field("/query/per_page", "integer")], THINGS)
    wrapped = [field("/result/total", "integer"), field("/result/data", "array")]
    wrapped += [field(one.pointer.replace("/result/", "/result/data/*/")) for one in THING]
    target = operation("b", "GET /v1/things", "List all things", [field("/query/limit", "integer")], wrapped)
    one = only(source, target)
    assert ("/result/*/title", "/result/data/*/title") in [(pair.source, pair.target) for pair in one.results]
    assert [(pair.source, pair.target) for pair in one.arguments] == [("/query/per_page", "/query/limit")]


CRON = "/namespaces/{namespace}/cronjobs"


def versions(*names: str) -> list[CanonicalOperation]:
    body = [field("/body/apiVersion"), field("/body/spec", "object"), field("/body/spec/schedule", required=True)]
    return [operation("k", f"POST /apis/batch/{name}{CRON}", "create a CronJob", body, THING) for name in names]


def test_versions_of_one_api_are_mapped_to_each_other_with_the_version_in_the_body() -> None:
    operations = [
        *versions("v1", "v1beta1"),
        operation("k", "POST /apis/batch/v1/namespaces/{namespace}/jobs", "create a Job"),
    ]
    mappings = {one.source.path: one for one in built(operations, operations)}
    assert set(mappings) == {f"/apis/batch/v1{CRON}", f"/apis/batch/v1beta1{CRON}"}
    newer = mappings[f"/apis/batch/v1beta1{CRON}"]
    assert newer.target.path == f"/apis/batch/v1{CRON}"
    assert [(one.target, one.value) for one in newer.constants] == [("/body/apiVersion", "batch/v1")]
    (named,) = (pair for pair in newer.arguments if pair.source == "/body/apiVersion")
    assert [(one.source, one.target) for one in named.values] == [("batch/v1beta1", "batch/v1")]
    assert newer.lost_arguments == ()
    assert (newer.equivalence, newer.evidence[0].kind) == (Equivalence.SAME_WITH_CONVERSION, "version")


def test_a_deprecated_operation_is_mapped_to_the_one_that_its_description_names() -> None:
    said = "Deprecated: use `POST /v1/subscription_items` instead."
    old = operation("s", "POST /v1/plans_of_subscriptions", "Add a plan", deprecated=True, description=said)
    new = operation("s", "POST /v1/subscription_items", "Create an item")
    other = operation("s", "POST /v1/subscription_items_more", "Create an item")
    assert substitutes(built([old, new, other], [old, new, other])) == {old.key: new.key}


def test_what_the_target_needs_and_nobody_gives_is_told_and_a_single_value_is_a_constant() -> None:
    source = operation("a", PAY, "Create a payment", [field("/body/amount", "integer")])
    needs = [
        field("/body/amount", "integer"),
        field("/body/currency", required=True),
        field("/body/kind", required=True, enum=("payment",)),
        field("/body/card", "object"),
        field("/body/card/number", required=True),  # only where a card is given
    ]
    one = only(source, operation("b", PAY, "Create a payment", needs))
    assert one.needed == ("/body/currency",)
    assert [(constant.target, constant.value) for constant in one.constants] == [("/body/kind", "payment")]


@rows(
    ("conversion", "value", "expected"),
    [
        ("milliseconds to seconds", 3000, 3), ("milliseconds to seconds", 3500, MISSING),
        ("milliseconds to seconds", True, MISSING), ("seconds to milliseconds", "3", MISSING),
        ("seconds to milliseconds", 3, 3000), ("seconds to milliseconds", 0.25, 250),
        ("hundredths to units", 500, 5), ("hundredths to units", 1999, 19.99), ("hundredths to units", 19.5, MISSING),
        ("units to hundredths", 19.99, 1999), ("units to hundredths", 19.999, MISSING), ("units to hundredths", 5, 500),
        ("units to hundredths", float("inf"), MISSING), ("hundredths to units", 10**30 + 1, MISSING),
        ("minutes to seconds", 2, 120), ("seconds to minutes", 90, MISSING),
        ("unix time to date-time", 0, "1970-01-01T00:00:00Z"), ("unix time to date-time", 10**20, MISSING),
        ("date-time to unix time", "1970-01-01T00:00:10Z", 10), ("date-time to unix time", "1970-01-01", MISSING),
        ("date-time to unix time", "1970-01-01T00:00:10.5Z", MISSING),
        ("date-time to unix time", "1970-01-01T00:00:10", MISSING),
    ],
)  # fmt: skip
def test_conversions_lose_nothing(conversion: str, value: object, expected: object) -> None:
    assert convert(value, conversion) == expected


OF_TEXT = {"to number", "to boolean"}
GUARDS = {"if integer", "if text"}
INVERSE = {
    "milliseconds to seconds": "seconds to milliseconds",
    "seconds to minutes": "minutes to seconds",
    "hundredths to units": "units to hundredths",
    "unix time to date-time": "date-time to unix time",
    "to text": "to integer",
    "to list": "only item",
}


def test_every_conversion_can_be_undone() -> None:
    assert set(INVERSE) | set(INVERSE.values()) | OF_TEXT | GUARDS == set(CONVERSIONS)
    for text in ("0", "1.5", "1e3", "01", "-7", "true", "false", "True", ""):
        number, truth = convert(text, "to number"), convert(text, "to boolean")
        assert number is MISSING or str(number) == text
        assert truth is MISSING or convert(truth, "to text") == text
    for value in (0, True, "a", None, [1]):
        assert all(convert(value, guard) in (value, MISSING) for guard in GUARDS)
    for forth, back in INVERSE.items():
        for value in (0, 60, 1_000, 1_700_000_040, 123_456_000):
            changed = convert(value, forth)
            assert changed is MISSING or convert(changed, back) == value, (forth, value)


@pytest.mark.parametrize(
    ("value", "text", "integer"),
    [("7", "7", 7), (7, "7", 7), (True, "true", MISSING), ("07", "07", MISSING), (None, MISSING, MISSING)],
)
def test_what_has_its_form_already_is_taken_as_it_is(value: Any, text: Any, integer: Any) -> None:
    assert convert(value, "to text") == text
    assert convert(value, "to integer") is integer or convert(value, "to integer") == integer


@pytest.mark.parametrize(
    ("source", "target", "kinds", "pairs"),
    [
        ("/projects/{project_id}/members/{user}", "/repos/{owner}/{repo}/members/{user}", {}, {"user": "user"}),
        ("/grants/{grant_id}", "/clients/{client_name}", {"grant_id": "integer"}, {}),
        ("/tickets/{number}", "/issues/{index}", {"number": "integer", "index": "integer"}, {"number": "index"}),
        ("/tickets/{number}", "/tickets/{id}", {"number": "integer"}, {"number": "id"}),
        ("/repos/{owner}/{repo}", "/repos/{user}/{name}", {}, {"owner": "user", "repo": "name"}),
    ],
)
def test_what_names_one_thing_in_a_path_is_no_other_thing(
    source: str, target: str, kinds: dict[str, str], pairs: dict[str, str]
) -> None:
    def of(api: str, path: str) -> CanonicalOperation:
        variables = [
            field(f"/path/{name}", kinds.get(name, "string"), required=True) for name in re.findall("{(.*?)}", path)
        ]
        return operation(api, f"DELETE {path}", "Take something away", variables)

    one, other = Profile(of("a", source)), Profile(of("b", target))
    found = compared(one, other, Rarity(()), 1.0)
    assert {pair.source: pair.target for pair in found.arguments} == {
        f"/path/{here}": f"/path/{there}" for here, there in pairs.items()
    }
    lost = [name for name in re.findall("{(.*?)}", source) if name not in pairs]
    assert found.lost_arguments == tuple(f"/path/{name}" for name in lost)
    assert (found.equivalence is Equivalence.WEAKER) is bool(lost)
    assert found.needed == tuple(
        f"/path/{name}" for name in re.findall("{(.*?)}", target) if name not in pairs.values()
    )
