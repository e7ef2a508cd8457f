"""What may be claimed of a log, and what has to be said with it."""

from __future__ import annotations

import json

import pytest

from corrigible.conformance.lift.log import Episode, Log
from corrigible.conformance.lift.report.summary import SCRIPTED, Summary, p_text, points_of, summarise
from tests._support.rows import rows

from .logs import episode, log, manifest, models

BOTH = [episode(f"t{n}", arm, outcome="success" if arm != "verbose" else "failure") for n in range(4)
        for arm in ("reflective", "reflective-patches", "verbose")]  # fmt: skip


def as_kind(kind: str) -> list[Episode]:
    return [one.model_copy(update={"kind": kind, "agent": "someone"}) for one in BOTH]


def test_scripts_are_said_to_be_no_evidence_of_what_a_model_makes_of_it() -> None:
    found = summarise(log(BOTH))
    assert SCRIPTED in found.caveats
    (section,) = found.sections
    assert "not what a model makes of it" in section.claim
    assert "100% of 4 episodes under reflective-patches, and 0% under verbose" in section.claim


def test_impossible_tasks_are_said_apart_for_to_stop_needs_no_advice() -> None:
    stopped = [episode("t9", arm, needs="impossible") for arm in ("reflective-patches", "verbose")]
    claim = summarise(log([*BOTH, *stopped])).sections[0].claim
    assert "100% of 5 episodes under reflective-patches, and 20% under verbose" in claim
    assert "Of tasks that can be solved at all it solves 100% and 0%" in claim
    assert "solved at all" not in summarise(log(BOTH)).sections[0].claim


def test_the_primary_comparison_follows_the_kind_the_plan_or_is_said_to_be_chosen_late() -> None:
    kinds = {kind: summarise(log(as_kind(kind))).sections[0] for kind in ("scripted", "model", "external")}
    assert {kind: one.primary for kind, one in kinds.items()} == {
        "scripted": ("reflective-patches", "verbose"),
        "model": ("reflective", "verbose"),
        "external": ("reflective", "verbose"),
    }
    assert all(one.declared for one in kinds.values())
    planned = manifest(plan={"registered": {"primary": ["reflective-patches", "reflective"], "margin": 0.1}})
    (section,) = summarise(log(as_kind("model"), planned)).sections
    assert section.primary == ("reflective-patches", "reflective") and section.declared
    assert section.comparisons[0].margin == 0.1
    assert section.comparisons[0].tie is None, "four tasks that all came out alike prove no tie"
    (late,) = summarise(log(BOTH, planned), ("reflective", "verbose")).sections
    assert late.primary == ("reflective", "verbose") and not late.declared


def test_a_fake_provider_is_called_no_model_in_caveat_and_claim() -> None:
    found = summarise(models(tasks=3, seeds=1, fake=True))
    assert sum("no model" in line for line in found.caveats) == 3
    assert "no model" in found.sections[0].claim
    assert not any("no model" in line for line in summarise(models(tasks=3, seeds=1)).caveats)


CAVEATS = {
    "not audited": (log(BOTH), "no certificate is on record"),
    "one seed": (log(BOTH), "one seed"),
    "a domain left out": (log(BOTH, manifest(plan={"skipped": {"etcd": "no etcd here"}})), "etcd was not run: no etcd"),
    "two states of the code": (log(BOTH, manifest(digests={"code": "a"}), manifest(digests={"code": "b"})), "2 states"),
    "older episodes": (log([episode(key="old"), *BOTH, episode("t0", key="new")]), "2 older episodes"),
    "a torn line": (Log((manifest(),), tuple(BOTH), ("the last line is torn",)), "torn"),
}


@rows("name", CAVEATS)
def test_what_weakens_the_figures_is_said(name: str) -> None:
    made, said = CAVEATS[name]
    assert any(said in line for line in summarise(made).caveats)


def test_an_audited_log_with_two_seeds_needs_no_such_caveat() -> None:
    made = [*BOTH, *(one.model_copy(update={"seed": 1, "kind": "model"}) for one in BOTH)]
    assert summarise(log(made, manifest(audit="ab" * 32))).caveats == (SCRIPTED,)


def test_nothing_to_compare_is_said_and_no_figure_made_up() -> None:
    (section,) = summarise(log([episode()])).sections
    assert section.comparisons == ()
    assert section.claim.endswith("were not both observed.")


def test_of_other_arms_it_is_said_how_they_are_compared() -> None:
    made = log([episode(arm="verbose", kind="model"), episode(arm="reflective-patches", kind="model")])
    (section,) = summarise(made).sections
    assert "nothing to compare" in section.claim and "--primary reflective-patches:verbose" in section.claim
    assert summarise(made, ("reflective-patches", "verbose")).sections[0].comparisons


def test_origins_and_prompts_come_from_the_manifest() -> None:
    told = manifest(tasks={f"stripe/t{n}": {"origin": "a server, POST /x", "prompt": "p"} for n in range(4)})
    (section,) = summarise(log(BOTH, told)).sections
    assert {one.within for one in section.origins} == {"a server"}
    assert {one.within for one in summarise(log(BOTH)).sections[0].origins} == {"not said"}


def test_harm_under_arms_that_are_wrong_on_purpose_is_counted_apart() -> None:
    made = [episode(arm="noise", harm=("twice: x",)), episode(arm="verbose", harm=("twice: x",))]
    found = summarise(log(made))
    assert found.harms == 1 and len(found.sections[0].harms) == 2


def test_harm_by_following_a_suggestion_is_told_from_an_agents_own_idea() -> None:
    """The texts are those of lift/score.py, see test_score.py."""
    advised = "intent: accepted, but not what was asked for, by a suggestion that does not say so: /a is 1, not 2"
    own = "intent: accepted, but not what was asked for: /a is 1, not 2"
    made = [
        episode(task=f"t{n}", arm=arm, harm=(text,))
        for n, (arm, text) in enumerate([("verbose", own), ("reflective", advised), ("noise", advised)])
    ]
    found = summarise(log(made))
    assert (found.harms, found.harms_advised) == (2, 1)
    assert [harm.task for harm in found.sections[0].harms] == ["stripe/t1", "stripe/t0", "stripe/t2"]


def test_the_document_is_json_and_a_pure_function_of_all_but_times() -> None:
    first = summarise(models(tasks=4))
    later = models(tasks=4)
    moved = Log(later.manifests, tuple(one.model_copy(update={"at": 9.0, "seconds": 3.0}) for one in later.episodes))
    documents = [json.loads(json.dumps(one.document(), allow_nan=False)) for one in (first, summarise(moved))]
    for document in documents:
        for section in document["sections"]:
            for way in section["ways"]:
                assert way.pop("seconds")["n"], "times are told, and are times"
    assert documents[0] == documents[1]
    assert isinstance(first, Summary)


def test_the_order_in_which_episodes_ended_does_not_matter() -> None:
    made = models(tasks=4)
    turned = Log(made.manifests, tuple(reversed(made.episodes)))
    assert summarise(made) == summarise(turned)


def test_an_unbounded_ratio_is_a_word_in_json() -> None:
    made = models(tasks=3, seeds=1)
    none_won = [
        one.model_copy(update={"outcome": "failure"}) if one.arm == "verbose" and one.task != "task-00" else one
        for one in made.episodes
    ]
    text = json.dumps(summarise(Log(made.manifests, tuple(none_won))).document(), allow_nan=False)
    assert "Infinity" not in text


@pytest.mark.parametrize(
    ("p", "text"), [(None, "?"), (0.0004, "< 0.001"), (0.0313, "0.031"), (0.4349, "0.43"), (1.0, "1.00")]
)
def test_p_is_never_rounded_to_nothing(p: float | None, text: str) -> None:
    assert p_text(p) == text


def test_points_have_a_sign() -> None:
    assert [points_of(one) for one in (0.366, -0.05, 0.0, None)] == ["+37", "-5", "0", "?"]
