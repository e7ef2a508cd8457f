"""Learns what evidence is worth: the weights of the scorer, from the recorded refusals whose place is known.

    make learn      (python -m tests.strangers.learn; a minute on one core)

Writes `adapters/corrigible/adapters/reader/weights.json`, learned on all servers, `folds.json`, for each fold of
servers what was learned without it, and for each server the rows of wordings that it alone needs, and the table of
docs/servers.md on confidence. Prints how often the likeliest place is right on servers that were left out.

The model is a conditional logit: the probability of a place is the exponential of the sum of its weights, divided by
that of all places of the refusal. A refusal may have several right places. Ridge, no other tuning.

Knows: recorded cases, evidence by name. Does not know: how the product uses it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import scipy

from corrigible.adapters.reader import scorer
from corrigible.adapters.reader.places import Place
from corrigible.proxy.core.request_at_fault import BESIDE, SURE

from .case import FOLDER, FOLDS, Case, Stranger, document, fold, load, names, product
from .judge import differences, is_ignored
from .page import PAGE, with_reliability
from .replay import Known, forget, replay, rows_left_out

WEIGHTS: Final = Path(scorer.__file__).with_name("weights.json")
FOLD_WEIGHTS: Final = FOLDER / "folds.json"
_RIDGE: Final = 1.0
_LEAST_SERVERS: Final = 3
"""Evidence that fewer servers have is worth nothing: it would be about them."""
_DIGITS: Final = 3
_KNOWN: Final[Sequence[tuple[Known, float]]] = (("described", 1.0), ("empty", 0.25))
"""How a refusal is judged, and how much that counts: without a description there is less evidence."""
_CLASSES: Final = frozenset({"auto", "flagged", "either", "ask"})
"""Cases of which the truth has a place."""
_SAID: Final = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
"""The ranges of confidence of the table on the page."""
_NO_WEIGHTS: Final[Mapping[str, Any]] = {"weights": {}, "calibration": [1.0, 0.0]}
"""What is learned must not depend on what was learned before: where one error is, others are not looked for."""


class Sample(NamedTuple):
    """One error of one refusal."""

    server: str
    is_rpc: bool
    evidence: Sequence[Sequence[str]]
    """For each place."""
    is_right: np.ndarray[Any, np.dtype[np.bool_]]
    share: float = 1.0
    """How much it counts."""


_REPEATS_SECRET: Final = "a secret of the request would be repeated"


def samples(server_names: Sequence[str], read: dict[str, Set[str]] | None = None) -> Iterator[Sample]:
    """Yield the errors of recorded refusals that the scorer is asked about. `read` gets the rows that each needs."""
    for name in server_names:
        server = load(name)
        forget()
        with rows_left_out() as rows:
            for case in server.cases:
                yield from _samples_of(name, server, case)
        if read is not None:
            read[product(name)] = read.get(product(name), set()) | rows
        forget()


def _samples_of(name: str, server: Stranger, case: Case) -> Iterator[Sample]:
    first = case.model_copy(update={"exchanges": case.exchanges[:1]})
    right = set(right_places(case))
    for known, share in _KNOWN[: 1 if server.is_rpc else None]:
        with scorer.use(_NO_WEIGHTS), scorer.observed() as seen:
            try:
                replay(name, server, first, known)
            except AssertionError as failure:  # without weights the first place is taken, also round a secret
                if _REPEATS_SECRET not in str(failure):
                    raise
        for refusal, evidence in seen if case.cls in _CLASSES else ():
            is_right = np.array([is_place(one, right) for one in refusal.places], bool)
            if is_right.size:
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
        self.matrix = scipy.sparse.csr_matrix(
            (np.ones(len(numbers)), numbers, ends), shape=(len(ends) - 1, len(columns))
        )
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
    """Return what evidence is worth, by its name. Errors of which no place is right teach nothing."""
    chosen = [one for one in chosen if one.is_right.any()]
    servers: dict[str, set[str]] = {}
    for one in chosen:
        for name in {name for evidence in one.evidence for name in evidence}:
            servers.setdefault(name, set()).add(one.server)
    known = sorted(name for name, having in servers.items() if len(having) >= _LEAST_SERVERS)
    corpus = Corpus(chosen, {name: number for number, name in enumerate(known)})
    # Until other libraries and processors find the same weights, but for the last digit.
    options: Any = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-5}
    found = scipy.optimize.minimize(corpus.loss, np.zeros(len(known)), jac=True, method="L-BFGS-B", options=options)
    return {name: round(float(weight), _DIGITS) for name, weight in zip(known, found.x, strict=True)}


def probabilities(sample: Sample, weights: Mapping[str, float]) -> np.ndarray[Any, Any]:
    sums = np.array([sum(weights.get(name, 0.0) for name in evidence) for evidence in sample.evidence])
    powers = np.exp(sums - sums.max())
    out: np.ndarray[Any, Any] = powers / powers.sum()
    return out


def calibrate(judged: Sequence[tuple[Sample, np.ndarray[Any, Any]]]) -> list[float]:
    """Return slope and intercept of how often the places to ask at are right, by the logit of their probability."""
    asked = [(one, p, places) for one, p in judged if (places := _asked(p))]
    right = np.array([one.is_right[places].any() for one, _, places in asked], float)
    sums = np.clip([p[places].sum() for _, p, places in asked], 1e-6, 1 - 1e-6)
    logits = np.array([scorer.logit(one) for one in sums])

    def loss(line: np.ndarray[Any, Any]) -> float:
        sums = line[0] * logits + line[1]
        return float((np.logaddexp(0, sums) - right * sums).sum())

    return [
        round(float(one), _DIGITS)
        for one in scipy.optimize.minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    ]


def _asked(p: np.ndarray[Any, Any]) -> list[int]:
    """Return the places that the product asks at: the likeliest, and the next one where that is not sure."""
    first, *rest = (int(one) for one in np.argsort(-p, kind="stable"))
    chosen = [first] if p[first] >= SURE else [first, *(one for one in rest[:1] if p[one] >= BESIDE)]
    return chosen if p[chosen].sum() >= SURE else []


def rows_of_one(read: Mapping[str, Set[str]]) -> dict[str, list[str]]:
    """Return, by product, the rows of wordings that no other one needs: they may be there for it alone."""
    count = Counter(row for rows in read.values() for row in rows)
    only = {name: sorted(row for row in rows if count[row] == 1) for name, rows in sorted(read.items())}
    return {name: rows for name, rows in only.items() if rows}


class Learned(NamedTuple):
    """What is written: the weights, and what they were judged by."""

    model: dict[str, Any]
    folds: dict[str, Any]


def digest(chosen: Sequence[Sample]) -> str:
    """Return the hash of what is learned from, whatever the order of fields that a library gives."""
    written = [
        (one.share, sorted((sorted(said), bool(right)) for said, right in zip(one.evidence, one.is_right, strict=True)))
        for one in chosen
    ]
    return hashlib.sha256(repr(written).encode()).hexdigest()[:16]


def digest_of_all(corpus: Mapping[str, str]) -> str:
    """Return the hash of what is learned from, given that of each server."""
    return hashlib.sha256(json.dumps(corpus, sort_keys=True).encode()).hexdigest()[:16]


def learn_all(every: Sequence[Sample]) -> Learned:
    """Learn on all servers, and for each fold on all others."""
    folds: list[dict[str, Any]] = []
    judged: list[tuple[Sample, np.ndarray[Any, Any]]] = []
    for number in range(FOLDS):
        weights = learn([one for one in every if fold(one.server) != number])
        folds.append({"weights": weights})
        here = (one for one in every if fold(one.server) == number and one.share == 1)
        judged += [(one, probabilities(one, weights)) for one in here]
    for number, learned in enumerate(folds):
        learned["calibration"] = calibrate([one for one in judged if fold(one[0].server) != number])
    corpus = {name: digest([one for one in every if one.server == name]) for name in names()}
    model = {
        "corpus": digest_of_all(corpus),
        "errors": len(every),
        "servers": len({one.server for one in every}),
        "left out: likeliest place right": top(judged),
        "calibration": calibrate(judged),
        "weights": learn(every),
    }
    return Learned(model, {"corpus": corpus, "reliability": reliability(judged, folds), "folds": folds})


def main() -> None:
    read: dict[str, Set[str]] = {}
    model, folds = learn_all(list(samples(names(), read)))
    WEIGHTS.write_text(json.dumps(model, indent=1) + "\n", "utf-8")
    lines = [
        f'"corpus": {json.dumps(folds["corpus"])}',
        f'"reliability": {json.dumps(folds["reliability"])}',
        f'"rows": {json.dumps(rows_of_one(read))}',
        '"folds": [\n' + ",\n".join(map(json.dumps, folds["folds"])) + "\n]",
    ]
    FOLD_WEIGHTS.write_text("{" + ",\n".join(lines) + "}\n", "utf-8")
    PAGE.write_text(with_reliability(PAGE.read_text("utf-8"), folds["reliability"]), "utf-8")
    right = model["left out: likeliest place right"]
    print(f"{model['errors']} errors, {len(model['weights'])} weights; right on servers that were left out: {right}")
    for one in folds["reliability"]:
        print(f"said {one['from']:.2f} to {one['to']:.2f}: {one['right']} of {one['errors']} right")


def top(judged: Sequence[tuple[Sample, np.ndarray[Any, Any]]]) -> dict[str, float]:
    """Return the share of errors whose likeliest place is right."""
    out = {}
    for kind, is_rpc in (("HTTP", False), ("gRPC", True)):
        right = [one.is_right[p.argmax()] for one, p in judged if one.is_rpc is is_rpc]
        out[kind] = round(float(np.mean(right)), _DIGITS)
    return out


def reliability(
    judged: Sequence[tuple[Sample, np.ndarray[Any, Any]]], folds: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return, for each range of what was said of the places to ask at, how many errors, and how many were right."""
    pairs = []
    for one, p in judged:
        asked = _asked(p)
        if asked:
            said = scorer.calibrated(float(p[asked].sum()), folds[fold(one.server)]["calibration"])
            pairs.append((round(said, 2), bool(one.is_right[asked].any())))
    rows = []
    for low, high in pairwise(_SAID):
        chosen = [right for said, right in pairs if low <= said < high or said == high == 1]
        if chosen:
            rows.append({"from": low, "to": high, "errors": len(chosen), "right": sum(chosen)})
    return rows


if __name__ == "__main__":
    main()
