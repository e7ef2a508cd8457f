"""Print a table of scores: of the two baselines, and of a map if one is given.

    python tests/mapping/report.py [tune | kept_out] [MAP.json]

Baselines take the threshold that has the best F1 over all pairs of APIs of `tune`, also on `kept_out`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

if __name__ == "__main__":  # as a script: the root is where `tests` is a package
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from corrigible.adapters.mapping.mapping import MapFile, OperationMapping
from tests.mapping import described
from tests.mapping.baselines import at_least, by_descriptions, by_names, nearest
from tests.mapping.judged import TruthFile
from tests.mapping.scoring import Score, score, total_of

_STEPS = 50
_COLUMNS = (
    *("method", "APIs", "sources", "traps", "operations: precision", "recall", "with class: precision"),
    *("arguments: precision", "results: precision", "fields: precision", "recall"),
    *("moved fields: precision", "recall", "conversions: precision"),
)


def files(split: str) -> list[TruthFile]:
    """Return the truth of one split."""
    paths = sorted((Path(__file__).parent / "truth").glob(f"*.{split}.json"))
    return [TruthFile.model_validate_json(path.read_bytes()) for path in paths]


def baselines(truth: Iterable[TruthFile]) -> dict[str, list[OperationMapping]]:
    """Return what each baseline takes for all judged sources, whatever the likeness."""
    found: dict[str, list[OperationMapping]] = {"names alone": [], "descriptions alone": []}
    for file in truth:
        sources, targets = described.operations(file.source_api), described.operations(file.target_api)
        wanted = [sources[operation.source.key] for operation in file.operations]
        found["names alone"] += nearest(wanted, list(targets.values()), by_names)
        likeness = by_descriptions(sources.values(), targets.values())
        found["descriptions alone"] += nearest(wanted, list(targets.values()), likeness)
    return found


def best_threshold(proposed: Sequence[OperationMapping], truth: Sequence[TruthFile]) -> float:
    """Return the score from which proposals have the best F1."""
    steps = [step / _STEPS for step in range(_STEPS + 1)]
    return max(steps, key=lambda step: total_of(score(at_least(proposed, step), truth).values()).operations.f1 or 0.0)


def rows(method: str, proposed: Iterable[OperationMapping], truth: Sequence[TruthFile]) -> Iterator[str]:
    """Yield one line a pair of APIs, and one for all."""
    scores = score(proposed, truth)
    for name, one in [*((f"{a} -> {b}", one) for (a, b), one in scores.items()), ("all", total_of(scores.values()))]:
        yield _row(method, name, one)


def _row(method: str, name: str, one: Score) -> str:
    shares = (
        *(one.operations.precision, one.operations.recall, one.classes.precision),
        *(one.arguments.precision, one.results.precision, one.fields.precision, one.fields.recall),
        *(one.moved.precision, one.moved.recall, one.conversions.precision),
    )
    return " | ".join([f"| {method}", name, str(one.sources), str(one.caught), *map(_figure, shares)]) + " |"


def _figure(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def main(split: str, given: str = "") -> None:
    """Print the table."""
    truth, tune = files(split), files("tune")
    print(f"| {' | '.join(_COLUMNS)} |")
    print("| --- " * len(_COLUMNS) + "|")
    tuned = baselines(tune)
    for method, proposed in (tuned if split == "tune" else baselines(truth)).items():
        threshold = best_threshold(tuned[method], tune)
        for row in rows(f"{method}, from {threshold:.2f}", at_least(proposed, threshold), truth):
            print(row)
    if given:
        map_file = MapFile.model_validate_json(Path(given).read_bytes())
        for row in rows(map_file.method, map_file.mappings, truth):
            print(row)


if __name__ == "__main__":
    main(*sys.argv[1:3] or ["tune"])
