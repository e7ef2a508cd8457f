"""Learns what evidence is worth: the weights of the scorer, from the recorded refusals whose place is known.

    python -m tests.strangers.learn

Writes `adapters/corrigible/adapters/reader/weights.json`, learned on all servers, and `folds.json`, for each fold of
servers what was learned without it. Prints how often the likeliest place is right on servers that were left out.

The model is a conditional logit: the probability of a place is the exponential of the sum of its weights, divided by
that of all places of the refusal. A refusal may have several right places. Ridge, no other tuning.

Knows: recorded cases, evidence by name. Does not know: how the product uses it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from corrigible.adapters.reader import scorer
from corrigible.adapters.reader.places import Place

from .case import FOLDER, FOLDS, Case, document, fold, load, names
from .judge import differences, is_ignored
from .replay import Known, replay

WEIGHTS: Final = Path(scorer.__file__).with_name("weights.json")
FOLD_WEIGHTS: Final = FOLDER / "folds.json"
PAGE: Final = FOLDER.parents[1] / "docs/confidence.md"
_RIDGE: Final = 1.0
_LEAST_SERVERS: Final = 3
"""Evidence that fewer servers have is worth nothing: it would be about them."""
_DIGITS: Final = 3
_KNOWN: Final[Sequence[tuple[Known, float]]] = (("described", 1.0), ("empty", 0.25))
"""How a refusal is judged, and how much that counts: without a description there is less evidence."""
_CLASSES: Final = frozenset({"auto", "flagged", "either", "ask"})
"""Cases of which the truth has a place."""


class Sample(NamedTuple):
    """One error of one refusal."""

    server: str
    is_rpc: bool
    evidence: Sequence[Sequence[str]]
    """For each place."""
    is_right: np.ndarray[Any, np.dtype[np.bool_]]
    share: float = 1.0
    """How much it counts."""


def samples(server_names: Sequence[str]) -> Iterator[Sample]:
    """Yield the errors of recorded refusals that the scorer is asked about, where a right place is among its places."""
    for name in server_names:
        server = load(name)
        for case in server.cases:
            if case.cls not in _CLASSES:
                continue
            first = case.model_copy(update={"exchanges": case.exchanges[:1]})
            right = set(right_places(case))
            for known, share in _KNOWN[: 1 if server.is_rpc else None]:
                with scorer.observed() as seen:
                    replay(name, server, first, known)
                for refusal, evidence in seen:
                    is_right = np.array([is_place(one, right) for one in refusal.places])
                    if is_right.any():
                        yield Sample(name, server.is_rpc, evidence, is_right, share)


def right_places(case: Case) -> Iterator[str]:
    """Yield where a question belongs, and where the right request differs from what was sent."""
    yield from case.ask_at
    sent = document(case.exchanges[0].request).document()
    for request in case.right_requests():
        places = [place for place, _ in differences(sent, request.document(), "") if not is_ignored(place)]
        told = [one for one in places if one != "/headers/content-type"] or places
        if "/method" in told:
            told = [one for one in told if one == "/method" or one.startswith("/query")]
        yield from told


def is_place(place: Place, right: set[str]) -> bool:
    pointer = place.pointer.lower() if place.part == "headers" else place.pointer
    others = {one.lower() for one in right} if place.part == "headers" else right
    return any(pointer == one or pointer.startswith(f"{one}/") for one in others)


class Corpus:
    """Samples as a sparse matrix: a row for each place, a column for each name of evidence."""

    def __init__(self, chosen: Sequence[Sample], columns: Mapping[str, int]) -> None:
        numbers: list[int] = []
        ends, starts, right = [0], [0], []
        for one in chosen:
            for evidence in one.evidence:
                numbers += [columns[name] for name in evidence if name in columns]
                ends.append(len(numbers))
            starts.append(starts[-1] + len(one.evidence))
            right.append(one.is_right)
        self.matrix = csr_matrix((np.ones(len(numbers)), numbers, ends), shape=(len(ends) - 1, len(columns)))
        self.starts = np.array(starts[:-1])
        self.group = np.repeat(np.arange(len(chosen)), np.diff(starts))
        self.right = np.concatenate(right)
        self.share = np.array([one.share for one in chosen])

    def loss(self, weights: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        """Return how unlikely the right places are, and the gradient of that."""
        sums = self.matrix @ weights
        powers = np.exp(sums - np.maximum.reduceat(sums, self.starts)[self.group])
        total = np.add.reduceat(powers, self.starts)
        of_right = np.add.reduceat(powers * self.right, self.starts)
        gradient = (powers / total[self.group] - powers * self.right / of_right[self.group]) * self.share[self.group]
        loss = -(np.log(of_right / total) * self.share).sum() + _RIDGE * weights @ weights / 2
        return float(loss), self.matrix.T @ gradient + _RIDGE * weights


def learn(chosen: Sequence[Sample]) -> dict[str, float]:
    """Return what evidence is worth, by its name."""
    servers: dict[str, set[str]] = {}
    for one in chosen:
        for name in {name for evidence in one.evidence for name in evidence}:
            servers.setdefault(name, set()).add(one.server)
    known = sorted(name for name, having in servers.items() if len(having) >= _LEAST_SERVERS)
    corpus = Corpus(chosen, {name: number for number, name in enumerate(known)})
    found = minimize(corpus.loss, np.zeros(len(known)), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return {name: round(float(weight), _DIGITS) for name, weight in zip(known, found.x, strict=True)}


def probabilities(sample: Sample, weights: Mapping[str, float]) -> np.ndarray[Any, Any]:
    sums = np.array([sum(weights.get(name, 0.0) for name in evidence) for evidence in sample.evidence])
    powers = np.exp(sums - sums.max())
    out: np.ndarray[Any, Any] = powers / powers.sum()
    return out


def calibrate(judged: Sequence[tuple[Sample, np.ndarray[Any, Any]]]) -> list[float]:
    """Return slope and intercept of how often the likeliest place is right, by the logit of its probability."""
    best = np.array([p.max() for _, p in judged])
    right = np.array([one.is_right[p.argmax()] for one, p in judged], float)
    logits = np.array([scorer.logit(one) for one in np.clip(best, 1e-6, 1 - 1e-6)])

    def loss(line: np.ndarray[Any, Any]) -> float:
        sums = line[0] * logits + line[1]
        return float((np.logaddexp(0, sums) - right * sums).sum())

    return [round(float(one), _DIGITS) for one in minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x]


def main() -> None:
    every = list(samples(names()))
    folds: list[dict[str, Any]] = []
    judged: list[tuple[Sample, np.ndarray[Any, Any]]] = []
    for number in range(FOLDS):
        weights = learn([one for one in every if fold(one.server) != number])
        folds.append({"weights": weights})
        judged += [(one, probabilities(one, weights)) for one in every if fold(one.server) == number]
    for number, learned in enumerate(folds):
        learned["calibration"] = calibrate([one for one in judged if fold(one[0].server) != number])
    judged = [one for one in judged if one[0].share == 1]
    rows = reliability(judged, calibrate(judged))
    weights = learn(every)
    model: dict[str, Any] = {
        "corpus": hashlib.sha256(repr([(one.server, one.evidence) for one in every]).encode()).hexdigest()[:16],
        "errors": len(every),
        "servers": len({one.server for one in every}),
        "left out: likeliest place right": top(judged),
        "calibration": calibrate(judged),
        "weights": weights,
    }
    WEIGHTS.write_text(json.dumps(model, indent=1) + "\n", "utf-8")
    FOLD_WEIGHTS.write_text(json.dumps(folds) + "\n", "utf-8")
    print(f"{len(every)} errors, {len(weights)} weights; right on servers that were left out: {top(judged)}")
    print("\n".join(rows))


def top(judged: Sequence[tuple[Sample, np.ndarray[Any, Any]]]) -> dict[str, float]:
    """Return the share of errors whose likeliest place is right."""
    out = {}
    for kind, is_rpc in (("HTTP", False), ("gRPC", True)):
        right = [one.is_right[p.argmax()] for one, p in judged if one.is_rpc is is_rpc]
        out[kind] = round(float(np.mean(right)), _DIGITS)
    return out


def reliability(judged: Sequence[tuple[Sample, np.ndarray[Any, Any]]], line: Sequence[float]) -> list[str]:
    """Return the rows of the table: what was said of a place, how often that was right."""
    said = np.array([scorer.calibrated(float(p.max()), line) for _, p in judged])
    right = np.array([one.is_right[p.argmax()] for one, p in judged])
    rows = ["| said | errors | right |", "|---|---|---|"]
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.01)):
        chosen = (said >= low) & (said < high)
        if chosen.any():
            rows.append(f"| {low:.2f} to {min(high, 1):.2f} | {chosen.sum()} | {right[chosen].mean():.2f} |")
    return rows


if __name__ == "__main__":
    main()
