"""What was published, computed again: the figures of two papers from their counts, and a committed run from its log.

Of "Structure Beats Verbosity for AI Agent Recovery", table 2 gives the cells; 5.3.3, 5.4.1 and 6.2 give the tasks,
pooled over three models. Of adv_ctx_003 and adv_ctx_004 the paper says two things (5.4.1 against 6.2.5): the totals of
table 2, and the list of tasks where Traditional is above zero, fit 5.4.1 only, and fix adv_ctx_004, which has no figure
of its own. The paper on "structure snowballing" compares free text with constrained reflection of Qwen3-8B.
Reads `papers.yaml`. Knows: papers, reports, plans, logs. Does not know: how a plan is played.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, Literal

from corrigible.conformance.lift.log import Episode, Manifest, differing, name_of_run
from corrigible.conformance.lift.plan import Plan
from corrigible.conformance.lift.stats.comparison import mcnemar_test
from corrigible.conformance.lift.stats.estimate import (
    Counts,
    Observation,
    Paired,
    by_task,
    clustered_difference,
    clustering,
    counts,
    fisher,
    newcombe,
    wilson,
)
from corrigible.conformance.model.yaml_file import SUITE, load_yaml

Verdict = Literal["match", "mismatch", "not given"]


@dataclass(frozen=True, slots=True)
class Figure:
    """What was printed, to the digits that were printed, and what its source comes to."""

    name: str
    printed: str
    computed: float | None
    """None: the source gives no counts for it."""
    to: str = ""
    """What it was rounded to, where its digits do not say it: 1e1 for "about 40"."""

    @property
    def verdict(self) -> Verdict:
        if self.computed is None:
            return "not given"
        return "match" if self.rounded == Decimal(self.printed) else "mismatch"

    @property
    def rounded(self) -> Decimal:
        """What was computed, to the digits that were printed."""
        assert self.computed is not None
        return Decimal(repr(self.computed)).quantize(Decimal(self.to or self.printed), ROUND_HALF_UP)

    @property
    def shown(self) -> str:
        """What was computed, in the form of what was printed."""
        if self.computed is None:
            return "-"
        digits = self.printed.partition("e")[0].partition(".")[2]
        return f"{self.rounded:.{len(digits)}e}" if "e" in self.printed else f"{self.rounded:f}"


@dataclass(frozen=True, slots=True)
class Table:
    """Figures that stand together, under the name that their source gives them."""

    title: str
    figures: Sequence[Figure]
    notes: Sequence[str] = field(default=())


def rendered(tables: Sequence[Table]) -> Iterator[str]:
    """Yield the lines that show tables, with one verdict for each figure and one for all."""
    for table in tables:
        yield table.title
        width = max((len(one.name) for one in table.figures), default=0)
        for one in table.figures:
            yield f"  {one.name:<{width}}  printed {one.printed:>8}  computed {one.shown:>8}  {one.verdict}"
        yield from (f"  ({note})" for note in table.notes)
        yield ""
    verdicts = [one.verdict for table in tables for one in table.figures]
    matched, lacking = verdicts.count("match"), verdicts.count("not given")
    said = f"{matched} of {len(verdicts) - lacking} figures match"
    if lacking:
        said += f"; {lacking} cannot be computed from what is printed"
    yield f"{'mismatch' if 'mismatch' in verdicts else 'match'}: {said}"


ARMS: Final = ("traditional", "verbose", "reflective")

_PAPERS: Final = load_yaml((SUITE / "lift" / "papers.yaml").read_text(encoding="utf-8"))
_FIRST: Final = _PAPERS["structure_beats_verbosity"]
_MODELS: Final[Mapping[str, Mapping[str, Any]]] = _FIRST["models"]
RECIPE: Final = {
    model: {arm: Counts(n, 30) for arm, n in printed["successes"].items()} for model, printed in _MODELS.items()
}
EFFICIENCY: Final = {model: tuple(printed["efficiency"]) for model, printed in _MODELS.items()}
FACTORS: Final = {model: printed["factor"] for model, printed in _MODELS.items()}
ACME: Final = {arm: Counts(n, 90) for arm, n in _FIRST["acme"]["successes"].items()}
RECIPE_TASKS: Final[Mapping[str, Sequence[int]]] = _FIRST["tasks"]
ATTEMPTS: Final = 9
MODEL_SWAP: Final[int] = _FIRST["model_swap"]


def recipe_observations() -> list[Observation]:
    """Return the pooled task counts as observations. Which of the nine succeeded is not known, and not needed."""
    return [
        Observation(task, arm, "pooled", attempt, attempt < successes)
        for task, figures in RECIPE_TASKS.items()
        for arm, successes in zip(ARMS, figures, strict=True)
        for attempt in range(ATTEMPTS)
    ]


def efficiency(model: str) -> float:
    """Return tokens per success of verbose over those of reflective, by table 3."""
    tokens = _MODELS[model]["tokens"]
    return float(tokens["verbose"] / tokens["reflective"])


_PAIRS: Final = (("reflective", "traditional"), ("reflective", "verbose"), ("verbose", "traditional"))


def recipe_tables() -> list[Table]:
    """Return every figure that the paper prints in them, and what its counts come to."""
    return [
        Table(
            "Table 1: the framework's part in what is saved",
            list(_factors()),
            (
                "as it rounds table 3",
                f"GPT-4 to gpt-4o-mini, about {MODEL_SWAP}: by vendors' prices, which are not printed",
            ),
        ),
        Table("Table 2: success in percent, and reflective less the others in points", list(_rates())),
        Table(
            "Table 3: tokens per success, verbose over reflective",
            list(_tokens()),
            ("the interval is a bootstrap over the tokens of attempts, which are not printed",),
        ),
        Table("Table 4: odds ratios, and Fisher's exact p", list(_tests())),
        Table("Acme billing (5.5.3): success in percent, Wilson's 95 % interval, Fisher's exact p", list(_acme())),
    ]


def _factors() -> Iterator[Figure]:
    for model, printed in FACTORS.items():
        yield Figure(model, f"{printed:.1f}", efficiency(model))


def _rates() -> Iterator[Figure]:
    for model, cells in RECIPE.items():
        shares = {arm: 100 * cells[arm].successes / cells[arm].trials for arm in ARMS}
        reflective = shares["reflective"]
        computed = (*shares.values(), reflective - shares["traditional"], reflective - shares["verbose"])
        names = (*ARMS, "less traditional", "less verbose")
        for name, text, value in zip(names, _MODELS[model]["rates"], computed, strict=True):
            yield Figure(f"{model} {name}", text, value)


def _tokens() -> Iterator[Figure]:
    for model, (value, low, high) in EFFICIENCY.items():
        yield Figure(f"{model}", f"{value:.2f}", efficiency(model))
        yield Figure(f"{model} 95 %, low", f"{low:.2f}", None)
        yield Figure(f"{model} 95 %, high", f"{high:.2f}", None)


def _tests() -> Iterator[Figure]:
    for model, cells in RECIPE.items():
        for (first, second), (odds_text, p_text) in zip(_PAIRS, _MODELS[model]["tests"], strict=True):
            odds, p = fisher(cells[first], cells[second])
            yield Figure(f"{model} {first} - {second} OR", odds_text, odds)
            yield Figure(f"{model} {first} - {second} p", p_text, p)


def _acme() -> Iterator[Figure]:
    for arm, (value_text, low_text, high_text) in _FIRST["acme"]["rates"].items():
        share = wilson(ACME[arm])
        assert share.value is not None and share.low is not None and share.high is not None
        yield Figure(arm, value_text, 100 * share.value)
        yield Figure(f"{arm} 95 %, low", low_text, 100 * share.low)
        yield Figure(f"{arm} 95 %, high", high_text, 100 * share.high)
    for (first, second), text in zip(_PAIRS, _FIRST["acme"]["tests"], strict=True):
        yield Figure(f"{first} - {second} p", text, fisher(ACME[first], ACME[second])[1])


_SECOND: Final = _PAPERS["structure_snowballing"]
TABLE: Final = Paired(**_SECOND["table"])
FIRST_DIAGNOSES: Final[Mapping[str, int]] = _SECOND["first_diagnoses"]
DEATH_LOOPS: Final[int] = _SECOND["death_loops"]
TOKENS: Final[Mapping[str, float]] = _SECOND["tokens"]
POOLS: Final[tuple[int, int]] = tuple(_SECOND["pools"])
P: Final[float] = _SECOND["p"]


def snowballing_tables() -> list[Table]:
    """Return its figures 1 to 3, and what its counts come to."""
    table = TABLE
    cells = {"TT": table.both, "TF": table.second_only, "FT": table.first_only, "FF": table.neither}
    before, after = table.both + table.second_only, table.both + table.first_only
    difference, test = newcombe(table), mcnemar_test(table)
    assert difference.low is not None and difference.high is not None
    diagnosed = sum(FIRST_DIAGNOSES.values())
    mislabelled = FIRST_DIAGNOSES["FORMATTING_MISMATCH"]
    return [
        Table(
            "Figure 1: from reflection in free text to constrained reflection, percent of the questions",
            [
                Figure("right, free text", "50.0", 100 * before / table.n),
                Figure("right, constrained", "38.0", 100 * after / table.n),
                *(
                    Figure(name, printed, 100 * cells[name] / table.n)
                    for name, printed in _SECOND["transitions"].items()
                ),
                Figure("McNemar p, with continuity correction", str(P), test.corrected),
            ],
            (
                f"the exact p is {test.exact:.3f}; the difference is {100 * (after - before) / table.n:.0f} points,"
                f" Newcombe's 95 % interval {100 * difference.low:.0f} to {100 * difference.high:.0f}",
                f"its pools say that the baseline had {POOLS[0]} right, this table {before}: it does not say why",
            ),
        ),
        Table(
            "Figure 2: mean thinking tokens by transition",
            [
                Figure("TF over TT, percent more", "40", 100 * (TOKENS["TF"] / TOKENS["TT"] - 1), "1e1"),
                *(Figure(f"{name}, tokens", f"{tokens:g}", None) for name, tokens in TOKENS.items()),
            ],
            ("FT and FF stand in its figure only, without numbers",),
        ),
        Table(
            "Figure 3: outcomes by the error type that was diagnosed first",
            [
                Figure("FORMATTING_MISMATCH, percent", "96", 100 * mislabelled / diagnosed),
                Figure("RETRIEVAL_FOCUS, percent", "4", 100 * (diagnosed - mislabelled) / diagnosed),
                Figure("death loops", str(DEATH_LOOPS), None),
            ],
            (f"of {table.n - after} failures; which trials they are counted from is not printed",),
        ),
    ]


_OF_THE_RUN = ("agents", "ran", "skipped")
"""Members of a plan in a log that the options or the machine gave: a model at its address, what could start."""
_MOST = 20


def report_differences(committed: str, computed: str) -> list[str]:
    """Return the lines in which a report differs from the one that its log comes to now."""
    lines = difflib.unified_diff(committed.splitlines(), computed.splitlines(), n=0, lineterm="")
    return list(lines)[2:][:_MOST]


def plan_differences(plan: Plan, ran: Manifest) -> list[str]:
    """Return where what ran is not what the plan says. Agents are compared where the plan names models."""
    wanted, had = plan.model_dump(mode="json"), dict(ran.plan)
    left_out = [name for name in _OF_THE_RUN if name != "agents" or not any(agent.model for agent in plan.agents)]
    first, second = ({name: value for name, value in one.items() if name not in left_out} for one in (wanted, had))
    return list(differing(first, second))


def outcome_differences(committed: Sequence[Episode], again: Sequence[Episode]) -> Iterator[str]:
    """Yield the episodes whose outcome is another one now, and those that only one of two runs has."""
    before, now = ({name_of_run(one): one.outcome for one in inside} for inside in (committed, again))
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"{name}: {before.get(name, 'not played')}, and {now.get(name, 'not played')}"


def by_arm(episodes: Sequence[Episode]) -> dict[str, str]:
    """Return successes of observations by agent and arm."""
    seen = [one for one in episodes if one.outcome != "error"]
    observed = Counter(f"{one.agent} {one.arm}" for one in seen)
    won = Counter(f"{one.agent} {one.arm}" for one in seen if one.outcome == "success")
    return {name: f"{won[name]} of {n}" for name, n in observed.items()}


SOURCES: Final[Mapping[str, str]] = {
    "structure-beats-verbosity": (
        '"Structure Beats Verbosity for AI Agent Recovery", https://arxiv.org/html/2606.05037'
    ),
    "structure-snowballing": (
        'the paper on "structure snowballing", https://github.com/hongxuzhou/agentic_llm_structured_self_critique'
    ),
}


def paper_lines(names: Sequence[str]) -> Iterator[str]:
    """Yield the figures of papers from their counts, and what clustering by task does to them; last, one verdict."""
    yield from (f"From the counts of {SOURCES[name]}" for name in names)
    yield ""
    if "structure-beats-verbosity" in names:
        yield from (*_clustered(), "")
    of_paper = dict(zip(SOURCES, (recipe_tables, snowballing_tables), strict=True))
    yield from rendered([table for name in names for table in of_paper[name]()])


def _clustered() -> Iterator[str]:
    observations = recipe_observations()
    yield "What clustering does: ten tasks, nine episodes each an arm (three models together)"
    for arm in ARMS:
        groups = [
            [observation.success for observation in inside if observation.arm == arm]
            for inside in by_task(observations).values()
        ]
        clusters = clustering(groups)
        if clusters is not None:
            yield (
                f"  {arm:<12} intraclass correlation {clusters.icc:.2f}, design effect {clusters.design_effect:.1f}:"
                f" {clusters.n} episodes are worth {clusters.effective_n:.0f}"
            )
    for first, second in _PAIRS:
        difference = clustered_difference(observations, first, second)
        naive = fisher(counts(observations, first), counts(observations, second))[1]
        interval = difference.estimate
        method = "exact " if difference.exact else ""
        yield (
            f"  {first} - {second}: {_signed(interval.value)}, task bootstrap {_signed(interval.low)} to "
            f"{_signed(interval.high)}, {method}sign-flip p {difference.p:.3g};"
            f" episodes taken for independent: p {naive:.2g}"
        )


def _signed(value: float | None) -> str:
    return f"{value:+.2f}" if value is not None else "?"
