"""Tables 1 to 4 and the Acme figures of "Structure Beats Verbosity for AI Agent Recovery", from its own counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from corrigible.conformance.lift.stats import paper_figures as paper
from corrigible.conformance.lift.stats.estimate import fisher, wilson

from .figure import Figure, Table

_PAIRS: Final = (("reflective", "traditional"), ("reflective", "verbose"), ("verbose", "traditional"))
_RATES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "claude-haiku-4-5": ("10.0", "60.0", "96.7", "86.7", "36.7"),
        "claude-sonnet-4-6": ("16.7", "46.7", "86.7", "70.0", "40.0"),
        "gpt-4o-mini": ("20.0", "50.0", "63.3", "43.3", "13.3"),
    }
)
"""Table 2, in percent: the three arms, and reflective less traditional and less verbose."""
_TESTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = MappingProxyType(
    {
        "claude-haiku-4-5": (("261.0", "2.4e-12"), ("19.3", "0.0011"), ("13.5", "9.4e-5")),
        "claude-sonnet-4-6": (("32.5", "7.0e-8"), ("7.4", "0.0022"), ("4.4", "0.025")),
        "gpt-4o-mini": (("6.9", "0.0014"), ("1.7", "0.435"), ("4.0", "0.029")),
    }
)
"""Table 4: odds ratio and p, in the order of `_PAIRS`."""
_ACME: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "traditional": ("45.6", "35.7", "55.8"),
        "verbose": ("47.8", "37.8", "58.0"),
        "reflective": ("100.0", "95.9", "100.0"),
    }
)
"""5.5.3, in percent, with Wilson's intervals."""
_ACME_TESTS: Final = ("3.75e-19", "3.64e-18", "0.881")
"""In the order of `_PAIRS`."""


def tables() -> list[Table]:
    """Return every figure that the paper prints in them, and what its counts come to."""
    return [
        Table(
            "Table 1: the framework's part in what is saved",
            list(_factors()),
            (
                "as it rounds table 3",
                f"GPT-4 to gpt-4o-mini, about {paper.MODEL_SWAP}: by vendors' prices, which are not printed",
            ),
        ),
        Table("Table 2: success in percent, and reflective less the others in points", list(_rates())),
        Table(
            "Table 3: tokens per success, verbose over reflective",
            list(_tokens()),
            (
                "the interval is a bootstrap over the tokens of attempts, which are not printed; `lift paper` shows"
                " what the counts alone come to",
            ),
        ),
        Table("Table 4: odds ratios, and Fisher's exact p", list(_tests())),
        Table("Acme billing (5.5.3): success in percent, Wilson's 95 % interval, Fisher's exact p", list(_acme())),
    ]


def _factors() -> Iterator[Figure]:
    for model, printed in paper.FACTORS.items():
        yield Figure(model, f"{printed:.1f}", paper.efficiency(model))


def _rates() -> Iterator[Figure]:
    for model, printed in _RATES.items():
        cells = paper.RECIPE[model]
        shares = {arm: 100 * cells[arm].successes / cells[arm].trials for arm in paper.ARMS}
        reflective = shares["reflective"]
        computed = (*shares.values(), reflective - shares["traditional"], reflective - shares["verbose"])
        names = (*paper.ARMS, "less traditional", "less verbose")
        for name, text, value in zip(names, printed, computed, strict=True):
            yield Figure(f"{model} {name}", text, value)


def _tokens() -> Iterator[Figure]:
    for model, (value, low, high) in paper.EFFICIENCY.items():
        yield Figure(f"{model}", f"{value:.2f}", paper.efficiency(model))
        yield Figure(f"{model} 95 %, low", f"{low:.2f}", None)
        yield Figure(f"{model} 95 %, high", f"{high:.2f}", None)


def _tests() -> Iterator[Figure]:
    for model, printed in _TESTS.items():
        cells = paper.RECIPE[model]
        for (first, second), (odds_text, p_text) in zip(_PAIRS, printed, strict=True):
            odds, p = fisher(cells[first], cells[second])
            yield Figure(f"{model} {first} - {second} OR", odds_text, odds)
            yield Figure(f"{model} {first} - {second} p", p_text, p)


def _acme() -> Iterator[Figure]:
    for arm, (value_text, low_text, high_text) in _ACME.items():
        share = wilson(paper.ACME[arm])
        assert share.value is not None and share.low is not None and share.high is not None
        yield Figure(arm, value_text, 100 * share.value)
        yield Figure(f"{arm} 95 %, low", low_text, 100 * share.low)
        yield Figure(f"{arm} 95 %, high", high_text, 100 * share.high)
    for (first, second), text in zip(_PAIRS, _ACME_TESTS, strict=True):
        yield Figure(f"{first} - {second} p", text, fisher(paper.ACME[first], paper.ACME[second])[1])
