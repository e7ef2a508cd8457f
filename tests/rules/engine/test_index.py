"""Which rules are candidates, in which order, and what is said about the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.rules.engine.evaluate import RuleIndex, why_not
from corrigible.rules.pack.load import load_pack
from corrigible.rules.violation import Violation
from tests._support.rows import rows

SAYS = "suggest: [{action: ESCALATE, actor: somebody_else, message: m}]\n"
RULES = {
    "any": SAYS,
    "first": f"priority: 5\nmatch: {{status: 400}}\n{SAYS}",
    "create": f"match: {{operation: [Create, Update], status: [400, 422]}}\n{SAYS}",
    "coded": f"match: {{code: [bad, worse]}}\n{SAYS}",
    "param": f"match: {{param: amount, type: invalid}}\n{SAYS}",
    "worded": f"match: {{message: '(?i)^no such (?P<what>\\w+)'}}\n{SAYS}",
    "worded_too": f"match: {{message: 'such'}}\n{SAYS}",
    "last": f"priority: -1\nmatch: {{type: invalid}}\n{SAYS}",
    "narrow": f"match: {{operation: Create, status: 400, code: bad, message: such}}\n{SAYS}",
}


@pytest.fixture
def index(write_pack: Callable[..., Path]) -> RuleIndex:
    folder = write_pack(**RULES)
    old = (folder / "any.yaml").read_text("utf-8").replace("apex.any", "apex.old")
    (folder / "old.yaml").write_text(old.replace("status: stable", "status: deprecated"), "utf-8")
    return RuleIndex(load_pack(folder).rules)


@rows(
    ("operation", "status", "violation", "asked"),
    [
        ("", 500, Violation(), ["any"]),
        ("", 400, Violation(), ["first", "any"]),
        ("Create", 400, Violation(), ["first", "create", "any"]),
        ("Update", 422, Violation(), ["create", "any"]),
        ("Update", 404, Violation(), ["any"]),
        ("", 404, Violation(code="worse"), ["coded", "any"]),
        ("", 404, Violation(code="BAD"), ["any"]),
        ("", 404, Violation(param="amount", type="invalid"), ["param", "any", "last"]),
        # The code that came beside another type: a rule of a priority below 0 does not hear it.
        ("", 404, Violation(param="amount", type="x", native={"status_code": "invalid"}), ["param", "any"]),
        ("", 404, Violation(param="amount"), ["any"]),
        ("", 404, Violation(message="No such thing"), ["worded", "worded-too", "any"]),
        ("", 404, Violation(message="there is no such thing"), ["worded-too", "any"]),
        (
            "Create",
            400,
            Violation(code="bad", message="such"),
            ["first", "narrow", "create", "coded", "worded-too", "any"],
        ),
        ("", 404, Violation(message="\x00\U0001f600 such \ud7ff"), ["worded-too", "any"]),
    ],
)
def test_candidates(index: RuleIndex, operation: str, status: int, violation: Violation, asked: list[str]) -> None:
    found = index.candidates(operation, status, violation)
    assert [rule.id.removeprefix("apex.") for rule in found] == asked
    held = [rule.id for rule in index.rules if why_not(rule, operation, status, violation) is None]
    assert [rule.id for rule in found] == held


def test_deprecated_rules_are_never_asked(index: RuleIndex) -> None:
    assert "apex.old" not in {rule.id for rule in index.rules}


@rows(
    ("rule", "violation", "said"),
    [
        ("create", Violation(), "operation is not named, the rule listens for Create, Update"),
        ("first", Violation(), "status is 404, the rule listens for 400"),
        ("coded", Violation(code="x"), "code is x, the rule listens for bad, worse"),
        ("param", Violation(type="y"), "type is y, the rule listens for invalid"),
        ("param", Violation(type="invalid"), "param is not named, the rule listens for amount"),
        ("worded", Violation(message="such"), r"the message does not match (?i)^no such (?P<what>\w+)"),
        ("any", Violation(), None),
    ],
)
def test_why_a_rule_is_not_asked(index: RuleIndex, rule: str, violation: Violation, said: str | None) -> None:
    (found,) = [one for one in index.rules if one.id == f"apex.{rule}"]
    assert why_not(found, "", 404, violation) == said


def test_a_rule_that_names_a_value_twice_is_asked_once(write_pack: Callable[..., Path]) -> None:
    pack = load_pack(write_pack(twice=f"match: {{operation: [A, A], status: [400, 400]}}\n{SAYS}"))
    assert len(RuleIndex(pack.rules).candidates("A", 400, Violation())) == 1


@pytest.mark.parametrize(
    ("code", "matches"), [("NOT_FOUND", 1), ("not_found", 1), ("[not_found, NOT_FOUND]", 1), ("Not_Found", 0)]
)
def test_a_code_matches_as_it_is_read_and_as_the_api_writes_it(
    write_pack: Callable[..., Path], code: str, matches: int
) -> None:
    (rule,) = load_pack(write_pack(coded=f"match: {{code: {code}}}\n{SAYS}")).rules
    error = Violation(code="NOT_FOUND", native={"written_code": "not_found"})
    assert len(RuleIndex([rule]).candidates("", 404, error)) == matches
    assert (why_not(rule, "", 404, error) is None) == bool(matches)
