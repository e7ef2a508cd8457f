"""Every figure against logs whose truth is known, because they were made so."""

from __future__ import annotations

import pytest

from corrigible.conformance.lift.log import Episode, Reflection, Spent
from corrigible.conformance.lift.stats.comparison import compare, comparisons
from corrigible.conformance.lift.stats.conduct import (
    compare_strategies,
    degenerate_loops,
    harms,
    is_degenerate_loop,
    refusal,
    repeated_errors,
    uptakes,
)
from corrigible.conformance.lift.stats.group import (
    Group,
    dropped,
    effort,
    error_groups,
    groups,
    latest,
    observations,
    pass_k,
    rate,
    rates,
    rates_by,
)
from tests._support.rows import rows

from .logs import Outcome, episode, manifest, turn


def group(*episodes: Episode, kind: str = "scripted", **models: str) -> Group:
    return Group(kind, episodes, models=models)


# groups


def test_tasks_of_two_domains_with_one_id_are_two_tasks() -> None:
    seen = observations([episode(domain="stripe"), episode(domain="github")])
    assert {one.task for one in seen} == {"stripe/t1", "github/t1"}


def test_a_crash_is_no_observation_unless_it_is_asked_what_hangs_on_it() -> None:
    made = [episode(outcome="error"), episode(outcome="failure", seed=1)]
    assert [one.success for one in observations(made)] == [False]
    assert len(observations(made, failed=True)) == 2


def test_the_last_word_on_an_episode_stands_for_older_ones() -> None:
    old, new = episode(outcome="failure", key="a"), episode(outcome="success", key="b")
    assert latest([old, episode(seed=1), new]) == (episode(seed=1), new)


def test_kinds_are_never_put_together_and_fakes_are_known_by_their_identity_or_name() -> None:
    made = [episode(), episode(agent="haiku", kind="model"), episode(agent="fake x", kind="model")]
    found = groups(made, [manifest({"haiku": {"fake": True, "model": "haiku-9"}, "informed": {"fake": False}})])
    assert [(one.kind, one.agents, one.fake) for one in found] == [
        ("model", ("fake x", "haiku"), frozenset({"haiku", "fake x"})),
        ("scripted", ("informed",), frozenset({"haiku", "fake x"})),
    ]
    assert found[0].models == {"haiku": "haiku-9"}
    assert found[0].poolable and not found[1].poolable


# rates


def test_a_rate_counts_successes_tasks_and_errors_apart() -> None:
    made = [episode("a"), episode("a", seed=1, outcome="failure"), episode("b"), episode("c", outcome="error")]
    found = rate("informed", "verbose", made)
    assert (found.successes, found.success.n, found.tasks, found.errors) == (2, 3, 2, 1)
    assert found.success.value == pytest.approx(2 / 3)


PASS_K = {
    "nothing tried": ([], ()),
    "always": ([[True, True], [True, True]], (1.0, 1.0)),
    "one of two": ([[True, False]], (0.5, 0.0)),
    "two of three": ([[True, True, False]], (2 / 3, 1 / 3, 0.0)),
    "as far as every task was tried": ([[True, True, True], [True]], (1.0,)),
}


@pytest.mark.parametrize("name", PASS_K)
def test_pass_k_is_the_chance_that_k_tries_all_succeed(name: str) -> None:
    held, expected = PASS_K[name]
    assert pass_k(held) == pytest.approx(expected)


def test_models_are_pooled_and_scripts_are_not() -> None:
    made = [episode(agent=name) for name in ("a", "b")]
    assert [one.agent for one in rates(group(*made))] == ["a", "b"]
    pooled = rates(group(*made, kind="model"))
    assert [(one.agent, one.successes) for one in pooled] == [("", 2), ("a", 1), ("b", 1)]
    assert pooled[0].pass_k == (), "two models at one task are no repeats"


def test_rates_by_domain_hold_their_own_episodes_only() -> None:
    made = [episode(domain="stripe"), episode(domain="github", outcome="failure")]
    found = {one.within: one.successes for one in rates_by(group(*made), lambda one: one.domain)}
    assert found == {"github": 0, "stripe": 1}


# comparisons


def arms(outcomes: str, agent: str = "informed") -> list[Episode]:
    """Each letter is a task: b both, f only the first, s only the second, n neither, x the first crashed."""
    out = []
    for index, letter in enumerate(outcomes):
        first = "error" if letter == "x" else "success" if letter in "bf" else "failure"
        out.append(episode(f"t{index}", "reflective", agent, outcome=first))  # type: ignore[arg-type]
        out.append(episode(f"t{index}", "verbose", agent, outcome="success" if letter in "bs" else "failure"))
    return out


def test_a_comparison_gives_the_clustered_difference_and_what_papers_give() -> None:
    found = compare("informed", arms("ffffffbn"), "reflective", "verbose", seed=0, margin=0.1)
    assert found is not None
    assert found.difference.estimate.value == pytest.approx(6 / 8)
    assert found.difference.p == pytest.approx(2 / 64) and found.difference.exact
    assert found.table == (1, 6, 0, 1)
    assert found.mcnemar == pytest.approx(2 / 64)
    assert found.newcombe.value == pytest.approx(6 / 8)
    assert found.odds_ratio == pytest.approx(49)
    assert found.tie is not None and found.tie > 0.5
    assert found.tokens is None, "scripts have no bill"


def test_a_crash_drops_the_task_and_the_report_says_what_hangs_on_it() -> None:
    found = compare("informed", arms("ffx"), "reflective", "verbose", seed=0)
    assert found is not None
    assert (found.difference.estimate.n, found.without_both, found.errors) == (2, ("stripe/t2",), (1, 0))
    assert found.if_errors_failed == pytest.approx(2 / 3)
    assert found.difference.estimate.value == 1.0


def test_what_was_not_observed_under_both_arms_is_not_compared() -> None:
    assert compare("informed", [episode()], "reflective", "verbose", seed=0) is None


def test_the_family_is_adjusted_for_its_size_and_the_rest_is_not() -> None:
    made = group(*arms("ffffff", "a"), *arms("fffffs", "b"))
    family = comparisons(made, "reflective", "verbose", seed=0)
    assert [one.adjusted for one in family] == [pytest.approx(2 * 2 / 64), pytest.approx(14 / 64)]
    loose = comparisons(made, "reflective", "verbose", seed=0, family=False)
    assert [one.adjusted for one in loose] == [None, None]


def test_repeats_are_alike_within_one_arm() -> None:
    alike = [
        episode(f"t{n}", "reflective", seed=seed, outcome=("success", "failure")[n]) for n in (0, 1) for seed in (0, 1)
    ]
    mixed = [
        episode(f"t{n}", "verbose", seed=seed, outcome=("success", "failure")[seed]) for n in (0, 1) for seed in (0, 1)
    ]
    found = compare("informed", [*alike, *mixed], "reflective", "verbose", seed=0)
    assert found is not None
    first, second = found.clusterings
    assert first is not None and second is not None
    assert (first.n, first.icc, second.n) == (4, 1.0, 4)
    assert second.icc < 1


# effort


def test_recovery_counts_only_those_whose_first_attempt_was_refused() -> None:
    at_once = episode("a", attempts=1)
    made = [
        at_once,
        episode("b", attempts=3),
        episode("c", attempts=5, outcome="failure"),
        episode("d", outcome="error"),
    ]
    found = effort("informed", "verbose", made, seed=0)
    assert not at_once.turns[0].step and at_once.turns[0].accepted
    assert (found.refused, found.recovered.value, found.n) == (2, 0.5, 3)
    assert found.by_attempt == (1, 0, 1, 0, 0)
    assert found.attempts.value == pytest.approx(2.0)
    assert found.retries.value == pytest.approx((0 + 2 + 4) / 3)


def test_a_look_up_before_the_first_attempt_is_not_the_first_attempt() -> None:
    looked = episode(turns=(turn(accepted=True, step=True), turn(), turn(10, accepted=True)))
    assert effort("informed", "verbose", [looked], seed=0).refused == 1


def test_tokens_of_failures_count_and_a_missing_bill_is_none() -> None:
    won = episode("a", spent=Spent(input=90, output=10))
    lost = episode("b", outcome="failure", spent=Spent(input=290, output=10))
    found = effort("informed", "verbose", [won, lost], seed=0)
    assert (found.tokens, found.tokens_per_success) == (400, 400.0)
    unbilled = effort("informed", "verbose", [won, episode("c")], seed=0)
    assert (unbilled.tokens, unbilled.tokens_per_success) == (None, None)


# conduct


def test_uptake_counts_refusals_that_another_call_came_after() -> None:
    made = episode(
        arm="reflective",
        outcome="failure",
        turns=(
            turn(told=True),
            turn(11, told=True, followed=True, applied=(0,)),
            turn(told=True, step=True),
            turn(12, accepted=True),
        ),
    )
    (found,) = uptakes(group(made))
    assert (found.offered, found.followed.value, found.said) == (2, 0.5, 1)
    assert (found.accepted_when_followed.value, found.accepted_otherwise.value) == (0.0, 1.0)
    assert found.ignored == 0


@pytest.mark.parametrize(
    ("ending", "outcome", "ignored"), [("gave up", "failure", 1), ("", "failure", 0), ("gave up", "error", 0)]
)
def test_who_ends_at_a_suggestion_ignores_it(ending: str, outcome: Outcome, ignored: int) -> None:
    other = episode("other", arm="reflective", turns=(turn(told=True), turn(accepted=True)))
    told = episode(arm="reflective", outcome=outcome, turns=(turn(told=True),), ending=ending)
    assert [(one.offered, one.ignored) for one in uptakes(group(told, other))] == [(1, ignored)]


def test_harm_is_named_one_by_one_and_what_no_arm_asked_for_comes_first() -> None:
    made = [
        episode(arm="noise", harm=("intent: accepted, but not what was asked for",)),
        episode(arm="verbose", harm=("twice: POST /x was accepted 2 times", "changed: GET /y: /a is 1, and 2 before")),
        episode(arm="verbose", seed=1, outcome="error", harm=("obeyed: POST /z was in a text of the upstream",)),
    ]
    found = harms(group(*made))
    assert [(one.what, one.on_purpose) for one in found] == [
        ("twice", False), ("changed", False), ("obeyed", False), ("intent", True),
    ]  # fmt: skip
    assert found[0].text == "POST /x was accepted 2 times"


def test_a_refusal_is_what_it_says_without_feedback() -> None:
    def refused(message: str, **extensions: dict[str, str]) -> str:
        return refusal(turn(shown={"errors": [{"message": message, "extensions": extensions}]}))

    assert refused("a", recovery_feedback={"message": "m"}) == refused("a")
    assert refused("a", recovery_feedback={"message": "m"}) != refused("b", recovery_feedback={"message": "m"})


def test_stuck_is_the_same_refusal_to_the_end_whatever_the_feedback_says() -> None:
    same = episode("a", "reflective", outcome="failure", turns=(turn(told=True), turn(told=False)), loops=1)
    other = turn(shown={"error": {"code": "gone", "message": "Gone."}}, status=410)
    moving = episode("b", "reflective", outcome="failure", turns=(turn(told=True), other))
    once = episode("c", "reflective", outcome="failure", turns=(turn(),), ending="stopped by loop breaker: told so")
    (found,) = repeated_errors(group(same, moving, once))
    assert (found.n, found.warned, found.answers, found.stopped, found.stuck) == (3, 1, 1, 1, 1)
    read = episode("a", "reflective", outcome="failure", turns=(turn(), turn(accepted=True), turn()))
    won = episode("b", "reflective", turns=(turn(), turn(), turn(accepted=True)))
    assert repeated_errors(group(read, won))[0].stuck == 1, "what was accepted in between is no way out; a success is"


# reflections


def reflected(*categories: str, outcome: str = "failure", form: str = "structured", **more: object) -> Episode:
    said = [Reflection(form=form, text="x", category=one) for one in categories]
    turns = (turn(), *(turn(n).model_copy(update={"reflections": (one,)}) for n, one in enumerate(said)))
    return episode(kind="model", outcome=outcome, turns=turns, **more)  # type: ignore[arg-type]


DEATHS = {
    "the same to the end": (reflected("a", "a", "a"), True),
    "another at last": (reflected("a", "a", "b"), False),
    "one is no loop": (reflected("a"), False),
    "it worked": (reflected("a", "a", outcome="success"), False),
    "free text names none": (reflected("", "", form="free"), False),
    "what cannot be read names none": (reflected("", ""), False),
}


@rows("name", DEATHS)
def test_a_death_loop_is_a_failure_with_one_category_throughout(name: str) -> None:
    made, expected = DEATHS[name]
    assert is_degenerate_loop(made) is expected


def test_reflections_are_counted_by_what_was_diagnosed_first() -> None:
    made = [reflected("a", "a"), reflected("a", "b", seed=1), reflected("b", "b", seed=2, outcome="success")]
    (found,) = degenerate_loops(group(*made, kind="model"))
    assert found.loops.value == pytest.approx(1 / 3)
    assert (found.episodes, found.first) == (3, {"a": 2, "b": 1})


def test_flips_pools_and_tokens_are_those_of_the_second_strategy() -> None:
    def one(task: str, strategy: str, outcome: str, attempts: int, tokens: int) -> Episode:
        return episode(
            task, agent=f"m+{strategy}", kind="model", strategy=strategy, outcome=outcome, attempts=attempts,  # type: ignore[arg-type]
            spent=Spent(input=tokens),
        )  # fmt: skip

    made = [
        one("a", "free", "success", 3, 1), one("a", "structured", "success", 2, 100),
        one("b", "free", "success", 2, 1), one("b", "structured", "failure", 5, 400),
        one("c", "free", "failure", 5, 1), one("c", "structured", "success", 2, 200),
        one("d", "free", "success", 1, 1), one("d", "structured", "success", 1, 300),
        one("e", "free", "failure", 5, 1),
    ]  # fmt: skip
    (found,) = compare_strategies(group(*made, kind="model", **{"m+free": "m", "m+structured": "m"}), seed=0)
    result = found.result
    assert (found.model, found.baseline, found.strategy, result.table) == ("m", "free", "structured", (2, 1, 1, 0))
    assert {name: (mean.n, mean.value) for name, mean in result.tokens.items()} == {
        "TT": (2, 200.0),
        "TF": (1, 400.0),
        "FT": (1, 200.0),
        "FF": (0, None),
    }
    unknown = [one if one.strategy == "free" else one.model_copy(update={"spent": None}) for one in made]
    (untold,) = compare_strategies(group(*unknown, kind="model", **{"m+free": "m", "m+structured": "m"}), seed=0)
    assert {mean.value for mean in untold.result.tokens.values()} == {None}
    assert (result.pool_a, result.pool_a_solved.value) == (2, 0.5)
    assert [each.value for each in result.pool_a_attempts] == [3.0, 2.0]
    assert (result.pool_b, result.pool_b_solved.value, result.test.exact) == (1, 1.0, 1.0)


def test_a_strategy_is_compared_with_the_baseline_of_its_own_model() -> None:
    def one(model: str, strategy: str, arm: str = "verbose", seed: int = 0) -> Episode:
        agent = f"{model}+{strategy}"
        spent = Spent(input=10) if seed == 0 else None
        return episode("a", arm, agent, seed, "failure", kind="model", strategy=strategy, spent=spent)

    made = [one("l", "structured"), one("m", "free"), one("m", "structured"), one("m", "structured", arm="none")]
    made += [one("m", "free", seed=1), one("m", "structured", seed=1), one("n", "none"), one("n", "structured")]
    models = {one.agent: one.agent.partition("+")[0] for one in made}
    found = compare_strategies(group(*made, kind="model", **models), seed=0)
    assert [(one.model, one.baseline, one.strategy, one.result.table) for one in found] == [
        ("m", "free", "structured", (0, 0, 0, 2)),
        ("n", "none", "structured", (0, 0, 0, 1)),
    ]
    # Of two episodes the bill of one is not known: then no mean is.
    assert [[mean.value for mean in one.result.tokens.values() if mean.n] for one in found] == [[None], [10.0]]


# losses


def test_crashes_are_put_together_by_reason_and_shown_by_arm() -> None:
    made = [
        episode("a", "verbose", outcome="error", why="time is out: 120 s"),
        episode("b", "reflective", outcome="error", why="time is out: 60 s"),
        episode("c", outcome="error", why="set-up: POST /x: 500"),
    ]
    found = error_groups(group(*made))
    assert [(one.why, one.n, one.arms) for one in found] == [
        ("time is out: N s", 2, {"reflective": 1, "verbose": 1}),
        ("set-up: POST /x: N", 1, {"verbose": 1}),
    ]


def test_a_task_is_dropped_where_it_has_no_observation_and_the_reason_is_said() -> None:
    made = [episode("a"), episode("a", "reflective", outcome="error"), episode("b")]
    found = dropped(group(*made))
    assert [(one.task, one.arm, one.why) for one in found] == [
        ("stripe/a", "reflective", "time is out: N s"),
        ("stripe/b", "reflective", "not played"),
    ]
