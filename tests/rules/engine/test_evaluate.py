"""One rule considers one error: what it takes from the message, which entry holds, how it ends, how it crashes."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from corrigible.rules.budget import Budget, within
from corrigible.rules.errors import RuleFault
from corrigible.rules.lookup import LookupAnswer
from tests._support.one_rule import MANIFEST, MODIFY, WritePack, consider, entry, result
from tests._support.rows import rows


@pytest.mark.parametrize(
    ("text", "recovery"),
    [
        ("action: ESCALATE, actor: somebody_else, parameters: {who: \"'owner'\"}", "terminal"),
        ("action: ALREADY_DONE", "terminal"),
        ("action: WAIT_AND_RETRY", "transient"),
        ("action: WAIT_AND_RETRY, recovery: correctable", "correctable"),
        ("action: MODIFY_PARAMS, parameters: {a: 1}", "correctable"),
    ],
)
def test_recovery_follows_from_the_action(write_pack: WritePack, text: str, recovery: str) -> None:
    evaluated = result(write_pack(x=entry(text)))
    assert evaluated.recovery == recovery
    (suggestion,) = evaluated.suggestions
    assert ("applicability" in suggestion, "patch" in suggestion) == (recovery != "terminal", "MODIFY" in text)


def test_waiting_besides_an_edit_is_not_all_there_is_to_do(write_pack: WritePack) -> None:
    edit = "{message: m, action: MODIFY_PARAMS, parameters: {amount: 300}}"
    both = f"suggest: [{{one_of: [{edit}, {{message: w, action: WAIT_AND_RETRY}}]}}]\n"
    assert result(write_pack(x=both)).recovery == "correctable"


def test_the_first_entry_that_holds_speaks(write_pack: WritePack) -> None:
    text = """\
        let: {half: integer(request.body.amount) / 2, nested: {twice: half * 4}}
        suggest:
          - {if: half > 300, action: ESCALATE, actor: somebody_else, message: one}
          - {if: nested.twice == 1000, action: MODIFY_PARAMS, message: two, parameters: {amount: half}}
          - {action: ESCALATE, actor: somebody_else, message: three}
        """
    notes: list[str] = []
    evaluated = result(write_pack(x=text), notes=notes)
    assert [(s["message"], s["parameters"]) for s in evaluated.suggestions] == [("two", {"amount": 250})]
    assert notes == ["suggest[0].if does not hold"]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("when: request.method == 'GET'\n" + MODIFY, "when does not hold"),
        ("when: false\n" + MODIFY, "when does not hold"),
        (entry("if: 1 > 2, action: ESCALATE, actor: somebody_else"), "nothing under suggest holds"),
        (
            entry("one_of: {each: '[]', suggest: {action: MODIFY_PARAMS, message: m}}").replace("message: m, o", "o"),
            "nothing under suggest holds",
        ),
    ],
)
def test_silence_has_a_reason(write_pack: WritePack, text: str, note: str) -> None:
    notes: list[str] = []
    assert consider(write_pack(x=text), notes=notes) == (None, [])
    assert notes[-1] == note


def test_captures_are_the_groups_that_took_part(write_pack: WritePack) -> None:
    text = "match: {message: 'got (?P<asked>\\d+)|(?P<other>none)'}\n" + entry(
        "action: MODIFY_PARAMS, parameters: {asked: integer(captures.asked), other: has(captures.other)}"
    )
    (suggestion,) = result(write_pack(x=text), message="you got 42 \u00e9").suggestions
    assert suggestion["parameters"] == {"asked": 42, "other": False}


@rows(
    "text",
    [
        "when: request.body.absent == 1\n" + MODIFY,
        "when: request.method\n" + MODIFY,
        "let: {x: 1 / (request.body.amount - 500)}\n" + MODIFY,
        entry("action: MODIFY_PARAMS, parameters: {a: 'request.body.items[7].id'}"),
        entry("action: MODIFY_PARAMS, parameters: {items: request.body.items}"),
        entry("action: MODIFY_PARAMS, patch: [{op: remove, path: /body/items/0}]"),
        entry("action: MODIFY_PARAMS, patch: [{op: remove, path: request.method}]"),
        entry("action: MODIFY_PARAMS, patch: [{op: remove, path: \"'/headers/' + 'cookie'\"}]"),
        "suggest: [{one_of: {each: request.method, suggest: {action: MODIFY_PARAMS, message: m}}}]\n",
    ],
)
def test_a_crash_is_a_fault_of_the_rule(write_pack: WritePack, text: str) -> None:
    with pytest.raises(RuleFault, match=r"^apex\.x: "):
        consider(write_pack(manifest=MANIFEST, x=text))


def test_a_function_of_the_pack_in_a_rule(write_pack: WritePack) -> None:
    manifest = 'functions:\n  "half(n)": n / 2\n  "quarter(n)": half(half(n))\n'
    folder = write_pack(manifest=manifest, x=entry("set: {amount: quarter(body.amount)}"))
    assert result(folder).suggestions[0]["parameters"] == {"amount": 125}


def test_a_capture_that_is_prose_is_no_value(write_pack: WritePack) -> None:
    text = "match: {message: 'no (?P<what>[^;]+); try (?P<other>.+)'}\n" + MODIFY
    notes: list[str] = []
    assert consider(write_pack(x=text), notes=notes, message=f"no {'x' * 257}; try y")[0] is None
    assert notes == ["a capture is no value: too long, or of several lines"]
    assert consider(write_pack(x=text), message=f"no {'x' * 256}; try y")[0] is not None


@pytest.mark.parametrize("answer", [b"[" + b"0," * 110_000 + b"0]", b'"' + b"x" * (3 << 20) + b'"'])
def test_what_a_rule_holds_is_bounded(write_pack: WritePack, answer: bytes) -> None:
    one = "lookup: {thing: {get: \"'/v1/things/' + request.body.thing\"}}\n"
    both = "lookup: {thing: {get: \"'/v1/things/' + request.body.thing\"}, all: {get: \"'/v1/things'\"}}\n"
    answers = {"/v1/things/t_1": LookupAnswer(200, answer), "/v1/things": LookupAnswer(200, answer)}
    assert consider(write_pack(manifest=MANIFEST, x=one + MODIFY), answers=answers)[0] is not None
    with pytest.raises(RuleFault, match="look-up all makes the names of this rule hold too much"):
        consider(write_pack(manifest=MANIFEST, x=both + MODIFY), answers=answers)


def test_further_errors_that_are_answered_too(write_pack: WritePack) -> None:
    assert result(write_pack(x=MODIFY)).also_resolves == frozenset()
    assert result(write_pack(x="also_resolves: '[1, 2]'\n" + MODIFY)).also_resolves == {1, 2}


def test_what_a_rule_computes_counts_among_the_values_of_the_exchange(write_pack: WritePack) -> None:
    budget = Budget(10**6)
    text = "let: {names: \"['a', 'b', 'c']\"}\n" + entry("action: MODIFY_PARAMS, parameters: {amount: 300}")

    def evaluated() -> Generator[None, None, None]:
        yield from ()
        result(write_pack(x=text))

    assert next(within(budget, evaluated()), None) is None
    assert budget.size == 4  # a list, and what is in it


@pytest.mark.parametrize(
    ("base", "more", "recovery"),
    [
        ("ESCALATE", "actor: you", "terminal"),
        ("WAIT_AND_RETRY", "retry: {after_seconds: 5}", "transient"),
        ("MODIFY_PARAMS", "set: {body.amount: 1}", "correctable"),
    ],
)
def test_an_action_of_the_pack_recovers_as_the_one_that_it_is_based_on(
    write_pack: WritePack, base: str, more: str, recovery: str
) -> None:
    manifest = f"actions:\n  ASK_DESK: {{base_action: {base}, description: Ask the desk.}}\n"
    folder = write_pack(manifest=manifest, x=entry(f"action: ASK_DESK, {more}"))
    assert result(folder).recovery == recovery
