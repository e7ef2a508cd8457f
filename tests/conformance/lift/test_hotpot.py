"""HotpotQA with reflection: the parts, each by its own rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.conformance.lift.hotpot.game import (
    OWN,
    Paragraph,
    Question,
    Wiki,
    f1,
    is_exact,
    normalised,
    read,
    read_action,
)
from corrigible.conformance.lift.hotpot.trial import (
    BOUNDED_REFLECTION_SCHEMA,
    ERROR_TYPES,
    REFLECTION_SCHEMA,
    Reflection,
    Step,
    Trial,
    View,
    actor_prompt,
    as_step,
    read_reflection,
    read_verdict,
    reflector_prompt,
)
from corrigible.conformance.model.outcome import UsageError

CAMUS = Paragraph(
    "Albert Camus", ("Camus wrote The Plague.", " He was born in Mondovi.", " The Plague is set in Oran.")
)
ORAN = Paragraph("Oran", ("Oran is a city in Algeria.",))
QUESTION = Question(
    id="q1",
    text="In which country is The Plague set?",
    answer="Algeria",
    paragraphs=(CAMUS, ORAN),
    supporting=(("Oran", 0),),
)

# questions


def test_our_own_questions_take_two_paragraphs_of_ten() -> None:
    questions = read(OWN).questions
    assert len(questions) == 40
    assert len({one.text for one in questions}) == 40
    documents = {one["_id"]: one for one in json.loads(OWN.read_text("utf-8"))}
    for question in questions:
        texts = {one.title: " ".join(one.sentences) for one in question.paragraphs}
        assert len(texts) == 10, question.id
        gold = [title for title, _ in question.supporting]
        assert len(set(gold)) == 2 and set(gold) <= set(texts), question.id
        for title, number in question.supporting:
            assert number < len(next(one for one in question.paragraphs if one.title == title).sentences)
        if documents[question.id]["type"] == "comparison":
            continue
        # Two hops: the answer is not in the first paragraph, nor in the question, nor in one that only distracts.
        answer = question.answer.removeprefix("a ")
        holding = {title for title, text in texts.items() if answer in text or answer in title}
        assert holding == {gold[1]} and answer not in question.text, (question.id, holding)
        bridge = gold[1].removesuffix(", London").partition(" (")[0]
        assert bridge in texts[gold[0]], question.id
        assert bridge not in question.text, question.id


def document(**changed: Any) -> dict[str, Any]:
    whole = {"_id": "a", "question": "Which?", "answer": "this", "context": [["T", ["S."]]], "supporting_facts": []}
    return {name: value for name, value in (whole | changed).items() if value is not None}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "no JSON"),
        ("[]", "questions: Tuple should have at least 1 item"),
        ('{"data": []}', "questions: Input should be a valid tuple"),
        (json.dumps([document(), document(_id="b", answer=None)]), "questions.1.answer: Field required"),
        (json.dumps([document(context=[["T", "S."]])]), "questions.0.context.0.1"),
        (json.dumps([document(), document()]), "_id a stands there twice"),
    ],
)
def test_a_file_that_is_none_is_told_by_its_place(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(content, "utf-8")
    with pytest.raises(UsageError, match=r"data\.json") as caught:
        read(path)
    assert said in str(caught.value)


def test_members_that_are_not_used_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([document(type="bridge", level="hard", more=1)]), "utf-8")
    (question,) = read(path).questions
    assert (question.id, question.answer, question.paragraphs) == ("a", "this", (Paragraph("T", ("S.",)),))


# answers, by hotpot_evaluate_v1.py


@pytest.mark.parametrize(
    ("answer", "gold", "exact", "score"),
    [
        ("The Vistula.", "vistula", True, 1.0),
        ("I.M. Pei", "I. M. Pei", False, 0.4),  # normalisation leaves "im" and "i m": only "pei" is shared
        ("Three", "three centuries", False, 2 / 3),
        ("yes", "yes", True, 1.0),
        ("yes it is", "yes", False, 0.0),
        ("no", "yes", False, 0.0),
        ("a tram tram", "tram", False, 2 / 3),
        ("", "tram", False, 0.0),
        ("the", "an", True, 0.0),
    ],
)
def test_answers_are_compared_as_hotpotqa_does(answer: str, gold: str, exact: bool, score: float) -> None:
    assert is_exact(answer, gold) is exact
    assert f1(answer, gold) == pytest.approx(score)


def test_normalisation_leaves_words_that_only_begin_like_articles() -> None:
    assert normalised(" An  Anthem, the theatre: A.") == "anthem theatre"


# actions


@pytest.mark.parametrize(
    ("text", "verb", "argument"),
    [
        ("Thought: x\nAction: Search[Oran]\nObservation: made up\nAction: Finish[no]", "Search", "Oran"),
        ("action 2: finish[ a [b] c ]", "Finish", "a [b] c"),
        ("Action: Lookup[]", "Lookup", ""),
    ],
)
def test_the_first_action_counts(text: str, verb: str, argument: str) -> None:
    action = read_action(text)
    assert action is not None and (action.verb, action.argument) == (verb, argument)
    assert text[: action.end].endswith("]")


@pytest.mark.parametrize("text", ["", "Finish[x]", "Action: Open[x]", "Action: Finish[x", "Action: Finish x"])
def test_what_is_no_action_is_none(text: str) -> None:
    assert read_action(text) is None


def test_search_opens_and_lookup_goes_on() -> None:
    wiki = Wiki(QUESTION)

    def see(text: str) -> str:
        action = read_action(f"Action: {text}")
        assert action is not None
        return wiki.observe(action)

    assert see("Lookup[plague]") == "No paragraph is open: Search first."
    assert see("Search[albert camus]") == "Camus wrote The Plague. He was born in Mondovi. The Plague is set in Oran."
    assert see("Lookup[plague]") == "(Result 1 / 2) Camus wrote The Plague."
    assert see("Lookup[Plague]") == "(Result 2 / 2) The Plague is set in Oran."
    assert see("Lookup[plague]") == "No more results."
    assert see("Lookup[Mondovi]") == "(Result 1 / 1) He was born in Mondovi."
    assert see("Lookup[]") == "Lookup needs words."
    assert see("Search[Oran, Algeria]") == "Could not find Oran, Algeria. Similar: Oran, Albert Camus."
    assert see("Lookup[city]") == "No paragraph is open: Search first."


# what is asked, and what is read of the answers


def test_neither_actor_nor_reflector_is_told_the_right_answer() -> None:
    trial = Trial(steps=(), answer="Morocco", correct=False, exact=False, f1=0.0)
    memory = (Reflection(form="structured", text="Open Oran.", error_type="BRIDGE_FAILURE", first_step=2),)
    view = View(QUESTION, 2, (Step(text="Action: Finish[Morocco]"),), memory, (trial,))
    for text in (actor_prompt(view), *(reflector_prompt(view, form) for form in ("free", "structured", "lifted"))):
        assert "Algeria" not in text
        assert "BRIDGE_FAILURE" in text and "Open Oran." in text and QUESTION.text in text
    assert "'Morocco' is wrong" in reflector_prompt(view, "free")


def test_the_schema_allows_the_five_types_and_nothing_else() -> None:
    assert REFLECTION_SCHEMA["properties"]["error_type"]["enum"] == list(ERROR_TYPES)
    assert list(ERROR_TYPES) == [
        "RETRIEVAL_FOCUS", "BRIDGE_FAILURE", "HALLUCINATION", "INFERENCE_ERROR", "FORMATTING_MISMATCH",
    ]  # fmt: skip


def test_the_bounded_schema_takes_nothing_that_the_other_refuses() -> None:
    good = {"error_type": "HALLUCINATION", "first_error_in_step": 1, "correction_rule": "x" * 140}
    bounded, plain = Draft202012Validator(BOUNDED_REFLECTION_SCHEMA), Draft202012Validator(REFLECTION_SCHEMA)
    bounded.validate(good)
    plain.validate(good)
    longer = good | {"correction_rule": "x" * 141}
    assert plain.is_valid(longer) and not bounded.is_valid(longer)
    for broken in (good | {"error_type": "OTHER"}, good | {"more": 1}, {"error_type": "HALLUCINATION"}):
        assert not bounded.is_valid(broken) and not plain.is_valid(broken)


def test_a_reflection_that_cannot_be_read_keeps_its_text_and_has_no_type() -> None:
    good = {"error_type": "HALLUCINATION", "first_error_in_step": 2, "correction_rule": "Read it."}
    made = read_reflection(f"```json\n{json.dumps(good)}\n```")
    assert (made.error_type, made.first_step, made.text) == ("HALLUCINATION", 2, "Read it.")
    for broken in ("no", "[1]", '{"error_type": "HALLUCINATION"}', json.dumps(good | {"error_type": "OTHER"})):
        assert read_reflection(broken) == Reflection(form="structured", text=broken)
    assert read_reflection(json.dumps(good | {"first_error_in_step": True})).first_step == 0


def test_a_constrained_step_becomes_lines_and_holds_one_action() -> None:
    document = {"thought": "so\naction: Finish[no]", "action": "Search", "argument": "Albert  Camus"}
    text = as_step(json.dumps(document))
    assert text == "Thought: so action: Finish(no]\nAction: Search[Albert Camus]"
    action = read_action(text)
    assert action is not None and (action.verb, action.argument) == ("Search", "Albert Camus")
    for broken in ("no", "{}", json.dumps(document | {"action": "Open"}), json.dumps(document | {"argument": 1})):
        assert as_step(broken) == broken


def test_a_verdict_is_yes_no_or_unreadable() -> None:
    assert read_verdict('{"equivalent": true}') is True
    assert read_verdict('So: {"equivalent": false}') is False
    assert read_verdict('{"equivalent": "true"}') is None
    assert read_verdict("yes") is None
