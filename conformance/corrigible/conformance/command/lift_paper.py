"""`conformance lift paper`: the figures of two papers from their counts, and what clustering by task does to them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corrigible.conformance.lift.stats.estimate import Estimate

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_PAIRS = (("reflective", "traditional"), ("reflective", "verbose"), ("verbose", "traditional"))


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "paper",
        help="recompute two papers' figures from their counts",
        description='From the counts that "Structure Beats Verbosity for AI Agent Recovery" prints, recompute its'
        " tables 2 and 4 and its Acme intervals; then show what remains if repeats of a task do not count as"
        " independent. Last, the figures of the paper on structure snowballing, from its counts.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print, and return the exit status."""
    parts = (_table_1, _table_2, _table_3, _table_4, _acme, _clustered, _snowballing)
    print("\n\n".join("\n".join(part()) for part in parts))
    return 0


def _table_1() -> Iterator[str]:
    from corrigible.conformance.lift.stats import paper_figures as paper

    yield "Table 1: what of the saving is the framework's"
    for model, printed in paper.FACTORS.items():
        factor = paper.efficiency(model)
        yield f"  {model:<20} tokens per success, verbose over reflective: {factor:.1f} (printed: {printed:.1f})"
    yield f"  GPT-4 to gpt-4o-mini: about {paper.MODEL_SWAP}, as printed; the prices are not, so no more can be said"


def _table_3() -> Iterator[str]:
    from corrigible.conformance.lift.stats import paper_figures as paper

    yield "Table 3: tokens per success as printed, and what they come to for an attempt with the successes of table 2"
    yield f"  {'model':<20}" + "".join(f"{arm:>24}" for arm in paper.ARMS)
    for model, cells in paper.TOKENS_PER_SUCCESS.items():
        shown = (f"{cells[arm]:,} ({paper.attempt_tokens(model, arm):,.0f})" for arm in paper.ARMS)
        yield f"  {model:<20}" + "".join(f"{one:>24}" for one in shown)
    yield "  Verbose over reflective: the paper's bootstrap over attempts, and ours (seed 0) from the counts alone"
    for model, (value, low, high) in paper.EFFICIENCY.items():
        own, own_low, own_high = paper.efficiency_by_counts(model)
        yield (
            f"  {model:<20} printed {value:.2f} ({low:.2f} to {high:.2f}); recomputed {own:.2f}"
            f" ({own_low:.2f} to {own_high:.2f})"
        )
    yield "  (the tokens of single attempts are not printed: ours leaves their spread out, so it is the narrower one)"


def _table_2() -> Iterator[str]:
    from corrigible.conformance.lift.stats import paper_figures as paper
    from corrigible.conformance.lift.stats.estimate import wilson

    yield "Table 2: success of 30, with Wilson intervals"
    yield f"  {'model':<20}" + "".join(f"{arm:>27}" for arm in paper.ARMS)
    for model, cells in paper.RECIPE.items():
        yield f"  {model:<20}" + "".join(f"{_share(wilson(cells[arm])):>27}" for arm in paper.ARMS)


def _table_4() -> Iterator[str]:
    from corrigible.conformance.lift.stats import paper_figures as paper
    from corrigible.conformance.lift.stats.estimate import fisher, holm

    cells = {
        (model, pair): fisher(cells[pair[0]], cells[pair[1]])
        for model, cells in paper.RECIPE.items()
        for pair in _PAIRS
    }
    adjusted = holm({f"{model} {pair}": p for (model, pair), (_, p) in cells.items()})
    yield "Table 4: odds ratios and Fisher's exact p, every episode taken for independent; Holm over the nine"
    for (model, pair), (odds, p) in cells.items():
        ratio = f"{odds:.1f}" if odds is not None else "unbounded"
        holms = adjusted[f"{model} {pair}"]
        yield f"  {model:<20}{pair[0]:>11} - {pair[1]:<12} OR {ratio:>7}   p {p:<9.3g} Holm {holms:.3g}"


def _acme() -> Iterator[str]:
    from corrigible.conformance.lift.stats import paper_figures as paper
    from corrigible.conformance.lift.stats.estimate import fisher, wilson

    yield "Acme billing (5.5.3), 90 episodes an arm"
    for arm, cell in paper.ACME.items():
        yield f"  {arm:<12} {cell.successes} of {cell.trials}: {_share(wilson(cell))}"
    for first, second in _PAIRS:
        yield f"  {first} - {second}: p {fisher(paper.ACME[first], paper.ACME[second])[1]:.3g}"
    yield "  (its counts by task are not printed, so nothing can be said of clustering there)"


def _clustered() -> Iterator[str]:
    from corrigible.conformance.lift.stats import paper_figures as paper
    from corrigible.conformance.lift.stats.estimate import clustered_difference, clustering, fisher
    from corrigible.conformance.lift.stats.observation import by_task, counts

    observations = paper.recipe_observations()
    yield "What clustering does: ten tasks, nine episodes each an arm (three models together)"
    for arm in paper.ARMS:
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


def _snowballing() -> Iterator[str]:
    from corrigible.conformance.lift.hotpot import paper
    from corrigible.conformance.lift.hotpot.figures import mcnemar_test
    from corrigible.conformance.lift.stats.estimate import newcombe

    table = paper.TABLE
    difference, test = newcombe(table), mcnemar_test(table)
    free, constrained = table.both + table.second_only, table.both + table.first_only
    diagnosed = sum(paper.FIRST_DIAGNOSES.values())
    pool_a, pool_b = paper.POOLS
    yield f"Structure snowballing (HotpotQA, Qwen3-8B, {table.n} questions): reflection in free text, then constrained"
    yield (
        f"  success {free / table.n:.0%} and {constrained / table.n:.0%};"
        f" difference {_signed(difference.value)} ({_signed(difference.low)} to {_signed(difference.high)})"
    )
    yield (
        f"  TT {table.both}, TF {table.second_only}, FT {table.first_only}, FF {table.neither}; McNemar p"
        f" {test.corrected:.3f} with continuity correction (printed: {paper.P}), {test.exact:.3f} exact"
    )
    yield f"  first diagnoses: {paper.FIRST_DIAGNOSES['FORMATTING_MISMATCH']} of {diagnosed} FORMATTING_MISMATCH"
    yield f"  death loops: {paper.DEATH_LOOPS} of {table.n - constrained} failures"
    yield f"  thinking tokens: TF {paper.TOKENS['TF'] / paper.TOKENS['TT']:.2f} times TT (printed: about 40 % more)"
    yield (
        f"  (pools A and B hold {pool_a} and {pool_b} questions, but the table has {free} that the baseline"
        " solved: the paper does not say why)"
    )


def _share(estimate: Estimate) -> str:
    assert estimate.value is not None and estimate.low is not None and estimate.high is not None
    return f"{estimate.value:.1%} ({estimate.low:.1%} to {estimate.high:.1%})"


def _signed(value: float | None) -> str:
    return f"{value:+.2f}" if value is not None else "?"
