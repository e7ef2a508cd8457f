"""Reflection strategies: what they ask, what they keep, and when the structure is lifted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from jsonschema import Draft202012Validator

from corrigible.conformance.lift.agents.reflection import (
    CATEGORIES,
    LIFTED,
    NAMES,
    SCHEMA,
    STRATEGIES,
    STRUCTURED,
    ModelAnswer,
    PastCall,
    Trajectory,
    as_prompt,
    is_repeated,
)
from corrigible.conformance.lift.log import Reflection
from corrigible.schema.exchange import Json
from tests._support.rows import rows

CALL = {"method": "POST", "path": "/v1/refunds", "body": {"amount": 500}}
OTHER = {**CALL, "body": {"amount": "500"}}
TRIALS = (PastCall(CALL, '{"status": 400}'),)
RULE = Reflection(form="structured", text="Send the amount as a number.", category="FORMAT_MISMATCH", first=1)


@dataclass
class Model:
    """Answers in the form that it is asked for, and keeps the questions."""

    category: str = "FORMAT_MISMATCH"
    rule: str = "Send the amount as a number."
    asked: list[tuple[str, bool]] = field(default_factory=list)

    def __call__(self, question: str, schema: Mapping[str, Json] | None) -> ModelAnswer:
        self.asked.append((question, schema is not None))
        if schema is None:
            return ModelAnswer("Think again. ", 11)
        return ModelAnswer(structured(self.category, self.rule), 7)


def structured(category: str, rule: str, first: Json = 1) -> str:
    return json.dumps({"error_type": category, "first_error_in_call": first, "correction_rule": rule})


def episode(*memory: Reflection, trials: tuple[PastCall, ...] = TRIALS) -> Trajectory:
    return Trajectory("A shop.", "Give 5 back.", trials, memory)


def test_the_paper_has_four_categories_and_one_and_each_keeps_its_place() -> None:
    assert [one.paper for one in CATEGORIES] == [
        "RETRIEVAL_FOCUS",
        "BRIDGE_FAILURE",
        "HALLUCINATION",
        "INFERENCE_ERROR",
        "FORMATTING_MISMATCH",
    ]
    assert all(one.name in STRUCTURED and one.meaning in STRUCTURED for one in CATEGORIES)


def test_the_schema_is_one_that_decoding_can_be_constrained_to() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["additionalProperties"] is False and set(SCHEMA["required"]) == set(SCHEMA["properties"])
    assert SCHEMA["properties"]["error_type"]["enum"] == list(NAMES)


def test_without_reflection_nothing_is_asked() -> None:
    model = Model()
    assert STRATEGIES["none"].reflect(episode(), model) == ()
    assert model.asked == []


def test_free_text_is_kept_as_it_came() -> None:
    model = Model()
    assert STRATEGIES["free"].reflect(episode(), model) == (Reflection(form="free", text="Think again.", tokens=11),)
    assert [constrained for _, constrained in model.asked] == [False]


def test_a_structured_reflection_names_the_first_error_its_category_and_one_rule() -> None:
    model = Model()
    assert STRATEGIES["structured"].reflect(episode(), model) == (RULE.model_copy(update={"tokens": 7}),)
    ((question, constrained),) = model.asked
    assert constrained and "first error" in question and "only that one" in question


@pytest.mark.parametrize("name", ["free", "structured", "adaptive"])
def test_a_reflection_sees_the_whole_episode_and_earlier_reflections_in_order(name: str) -> None:
    model = Model(rule="Something quite different from before, at last.")
    earlier = (
        Reflection(form="structured", text="first rule", category="WRONG_TARGET", first=1),
        Reflection(form="free", text="second thought"),
    )
    trials = (PastCall(CALL, '{"status": 400}'), PastCall(OTHER, '{"status": 422}'))
    STRATEGIES[name].reflect(episode(*earlier, trials=trials), model)
    question = model.asked[0][0]
    parts = ("A shop.", "Give 5 back.", "Call 1", '"status": 400', "Call 2", '"500"', "422", "first rule", "second")
    places = [question.index(part) for part in parts]
    assert places == sorted(places)


@rows(
    ("said", "kept"),
    [
        ("no JSON at all", Reflection(form="structured", text="no JSON at all")),
        ('{"error_type": "FORMAT_MISMATCH"}', Reflection(form="structured", text='{"error_type": "FORMAT_MISMATCH"}')),
        (structured("SOMETHING_ELSE", "rule"), Reflection(form="structured", text="rule", category="", first=1)),
        (
            structured("WRONG_TARGET", "rule", "two"),
            Reflection(form="structured", text=structured("WRONG_TARGET", "rule", "two")),
        ),
        (
            f"```json\n{structured('WRONG_TARGET', 'rule')}\n```",
            Reflection(form="structured", text="rule", category="WRONG_TARGET", first=1),
        ),
        (
            structured("WRONG_TARGET", "rule", -3),
            Reflection(form="structured", text="rule", category="WRONG_TARGET", first=0),
        ),
    ],
)
def test_an_answer_that_does_not_fit_is_kept_without_a_category(said: str, kept: Reflection) -> None:
    assert STRATEGIES["structured"].reflect(episode(), lambda question, schema: ModelAnswer(said)) == (kept,)


REPEATS: tuple[tuple[str, Reflection, Trajectory, bool], ...] = (
    ("nothing came before", RULE, episode(), False),
    ("word for word", RULE, episode(RULE), True),
    ("nearly", RULE.model_copy(update={"text": "Send the amount as a number!"}), episode(RULE), True),
    (
        "another rule",
        RULE.model_copy(update={"text": "Leave out the reason, which is unknown here."}),
        episode(RULE),
        False,
    ),
    ("another category", RULE.model_copy(update={"category": "WRONG_TARGET"}), episode(RULE), False),
    (
        "another rule, but the call did not change",
        RULE.model_copy(update={"text": "Leave out the reason, which is unknown here."}),
        episode(RULE, trials=(PastCall(CALL, "a"), PastCall(CALL, "b"))),
        True,
    ),
    (
        "another rule, and the call did change",
        RULE.model_copy(update={"text": "Leave out the reason, which is unknown here."}),
        episode(RULE, trials=(PastCall(CALL, "a"), PastCall(OTHER, "b"))),
        False,
    ),
    ("free text in between does not hide it", RULE, episode(RULE, Reflection(form="free", text="hm")), True),
)


@rows(("case", "made", "trajectory", "expected"), REPEATS, ids=[case for case, *_ in REPEATS])
def test_a_correction_repeats(case: str, made: Reflection, trajectory: Trajectory, expected: bool) -> None:
    assert is_repeated(made, trajectory) is expected


def test_the_structure_is_lifted_once_a_correction_repeats_and_is_back_afterwards() -> None:
    model, adaptive = Model(), STRATEGIES["adaptive"]
    first = adaptive.reflect(episode(), model)
    second = adaptive.reflect(episode(*first), model)
    assert [(one.form, one.repeated, one.lifted) for one in first] == [("structured", False, False)]
    assert [(one.form, one.repeated, one.lifted) for one in second] == [
        ("structured", True, False),
        ("free", False, True),
    ]
    assert LIFTED in model.asked[-1][0]
    model.category = "WRONG_TARGET"
    third = adaptive.reflect(episode(*first, *second), model)
    assert [one.form for one in third] == ["structured"]


def test_structured_alone_marks_a_death_loop_and_stays_in_it() -> None:
    model = Model()
    memory: tuple[Reflection, ...] = ()
    for _ in range(4):
        memory += STRATEGIES["structured"].reflect(episode(*memory), model)
    assert [one.repeated for one in memory] == [False, True, True, True]
    assert {one.category for one in memory} == {"FORMAT_MISMATCH"}


def test_the_model_reads_a_correction_as_the_object_that_it_wrote() -> None:
    assert json.loads(as_prompt(RULE)) == json.loads(structured("FORMAT_MISMATCH", "Send the amount as a number."))
    assert as_prompt(Reflection(form="free", text="words")) == "words"
