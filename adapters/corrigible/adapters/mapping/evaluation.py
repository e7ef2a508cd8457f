"""How right mappings and sequences of calls are, by what people judged.

Ground truth of mappings, as people judged it: `tests/mapping/README.md` says what each member means.
Anybody's file may be scored, so members that no score needs are passed over. The judgements of this project are also
read by `tests/mapping/judged.py`, strictly and apart from this: what is judged does not judge itself.

Precision, recall and F1 of sequences of calls, as sets and in order.
As in "API Mapping using Self Reflection in Large Language Models", section 4: precision is the share of the generated
calls that are in the ground truth, recall the share of the ground truth that was generated, both for each example, then
averaged; F1 is the harmonic mean of the two averages (its table 2: 0.2208 and 0.1904 give 0.2045). A set has a call
once. The paper does not say what the metrics of order count; here it is the longest common subsequence, so that what
is right but in the wrong place counts less, and a missing call does not make those after it wrong.

What users ask for and the sequence of calls that answers it: ToolBench's queries, and our own sets in JSON lines.
ToolBench: a JSON list of `{query, api_list, "relevant APIs": [[tool_name, api_name], ...]}`. Ours, a JSON object a
line: `{"utterance": ..., "calls": [["api", "name"], ...]}`, with the names of an index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.safety.nearness import common_length
from corrigible.schema.exchange import Json

from .annotation import Consensus, OperationPair
from .likeness import Profile, Rarity, cosine
from .mapping import Equivalence, FieldMapping, OperationMapping, OperationName
from .operation import CanonicalOperation, Field


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Called(_Model):
    """An operation of the API that the file names."""

    method: str
    path: str

    @property
    def key(self) -> str:
        return f"{self.method} {self.path}"


class JudgedPair(_Model):
    """Two fields that are the same."""

    source: str
    target: str


class JudgedMapping(_Model):
    """A target that is right."""

    target: Called
    equivalence: Equivalence
    arguments: tuple[JudgedPair, ...] = ()
    results: tuple[JudgedPair, ...] = ()
    judged_arguments: tuple[str, ...] = ()
    judged_results: tuple[str, ...] = ()
    doubtful_arguments: tuple[str, ...] = ()
    doubtful_results: tuple[str, ...] = ()


class JudgedOperation(_Model):
    """A source, and all that is right for it."""

    source: Called
    mappings: tuple[JudgedMapping, ...] = ()
    judged_targets: frozenset[str] | None = None
    """Keys of the targets of which something is known; None: of all, so that those that are not listed are wrong."""


class Truth(_Model):
    """One file."""

    format: Literal["corrigible mapping truth 1"]
    source_api: str
    target_api: str
    split: str = ""
    operations: tuple[JudgedOperation, ...]


def read_truth(path: Path) -> Truth:
    """Read a file. Raises AuthoringError where it is none."""
    try:
        return Truth.model_validate_json(path.read_bytes())
    except OSError as problem:
        raise AuthoringError(Place(path, 0), f"cannot be read: {problem.strerror}") from None
    except ValidationError as problem:
        first: Any = problem.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise AuthoringError(
            Place(path, 0), f"no ground truth of mappings: {where or 'the file'}: {first['msg']}"
        ) from None


def annotated_truths(said: Mapping[OperationPair, Consensus]) -> list[Truth]:
    """Return one truth for each two APIs. What is open is not scored, and neither is a target that nobody judged.

    The page shows arguments, not results: pairs of results are scored by nobody's word.
    """
    by_apis: dict[tuple[str, str], dict[OperationName, dict[str, Consensus]]] = {}
    for (source, target), word in said.items():
        if word.verdict is not None:
            of_source = by_apis.setdefault((source.api, target.api), {}).setdefault(source, {})
            of_source[_called(target).key] = word
    return [
        Truth(
            format="corrigible mapping truth 1",
            source_api=source_api,
            target_api=target_api,
            operations=tuple(_judged(source, targets) for source, targets in by_source.items()),
        )
        for (source_api, target_api), by_source in by_apis.items()
    ]


def _judged(source: OperationName, targets: Mapping[str, Consensus]) -> JudgedOperation:
    return JudgedOperation(
        source=_called(source),
        mappings=tuple(_mapping(word.mapping) for word in targets.values() if word.verdict),
        judged_targets=frozenset(targets),
    )


def _mapping(right: OperationMapping) -> JudgedMapping:
    places = [*(pair.source for pair in right.arguments), *right.lost_arguments]
    is_substitute = right.equivalence is not Equivalence.RELATED
    return JudgedMapping(
        target=_called(right.target),
        equivalence=right.equivalence,
        arguments=tuple(JudgedPair(source=pair.source, target=pair.target) for pair in right.arguments),
        judged_arguments=tuple(dict.fromkeys(one.rpartition("/")[0] for one in places)) if is_substitute else (),
    )


def _called(name: OperationName) -> Called:
    return Called(method=name.method, path=name.path)


@dataclass(frozen=True, slots=True)
class Share:
    """Counts of what was proposed. `right` of `proposed` are right; `wanted` is how many there are to find."""

    right: int
    proposed: int
    wanted: int

    @property
    def precision(self) -> float | None:
        """None where nothing was proposed: no share of nothing."""
        return self.right / self.proposed if self.proposed else None

    @property
    def recall(self) -> float | None:
        return self.right / self.wanted if self.wanted else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; 0 where nothing is right."""
        if not self.proposed or not self.wanted:
            return None
        return 2 * self.right / (self.proposed + self.wanted)

    def __add__(self, other: Share) -> Share:
        return Share(self.right + other.right, self.proposed + other.proposed, self.wanted + other.wanted)


NOTHING = Share(0, 0, 0)


@dataclass(frozen=True, slots=True)
class MappingScore:
    """What holds of some mappings, over the operations that were judged."""

    operations: Share = NOTHING
    """Targets proposed as substitutes. Whatever is proposed as `related` is no substitute, and is counted apart."""
    related: Share = NOTHING
    fields: Share = NOTHING
    """Pairs of fields in mappings that are right, where people judged; a parent of judged ones may be judged, too."""
    unjudged: int = 0
    """Pairs that nobody judged."""
    classes_right: int = 0
    """Of the right targets, those whose class is the judged one."""

    def __add__(self, other: MappingScore) -> MappingScore:
        return MappingScore(
            self.operations + other.operations,
            self.related + other.related,
            self.fields + other.fields,
            self.unjudged + other.unjudged,
            self.classes_right + other.classes_right,
        )


def score(mappings: Iterable[OperationMapping], truths: Iterable[Truth]) -> MappingScore:
    """Score mappings by all truths together; what truth says nothing of is not counted."""
    by_source: dict[tuple[str, str, str], list[OperationMapping]] = defaultdict(list)
    for one in mappings:
        key = f"{one.source.method} {one.source.path}"
        by_source[one.source.api, one.target.api, key].append(one)
    total = MappingScore()
    for truth in truths:
        for judged in truth.operations:
            proposed = by_source[truth.source_api, truth.target_api, judged.source.key]
            if (known := judged.judged_targets) is not None:
                proposed = [one for one in proposed if f"{one.target.method} {one.target.path}" in known]
            total += _of_one(proposed, judged.mappings)
    return total


def _of_one(proposed: Sequence[OperationMapping], judged: Sequence[JudgedMapping]) -> MappingScore:
    right = {one.target.key: one for one in judged if one.equivalence is not Equivalence.RELATED}
    near = {one.target.key for one in judged if one.equivalence is Equivalence.RELATED}
    total = MappingScore(operations=Share(0, 0, len(right)), related=Share(0, 0, len(near)))
    for one in proposed:
        key = f"{one.target.method} {one.target.path}"
        if one.equivalence is Equivalence.RELATED:
            total += MappingScore(related=Share(key in near, 1, 0))
            continue
        total += MappingScore(operations=Share(key in right, 1, 0))
        if key in right:
            same_class = one.equivalence is right[key].equivalence
            total += MappingScore(classes_right=int(same_class)) + _of_fields(one, right[key])
    return total


def _of_fields(one: OperationMapping, judged: JudgedMapping) -> MappingScore:
    arguments = _pairs(one.arguments, judged.arguments, judged.judged_arguments, judged.doubtful_arguments)
    return arguments + _pairs(one.results, judged.results, judged.judged_results, judged.doubtful_results)


def _pairs(
    proposed: Sequence[FieldMapping], right: Sequence[JudgedPair], parents: Sequence[str], doubtful: Sequence[str]
) -> MappingScore:
    listed = {(pair.source, pair.target) for pair in right}
    judged, unclear = set(parents), set(doubtful)
    found = wrong = unjudged = 0
    for pair in proposed:
        if (pair.source, pair.target) in listed:
            found += 1
        elif pair.source not in unclear and pair.source.rpartition("/")[0] in judged:
            wrong += 1
        else:
            unjudged += 1
    return MappingScore(fields=Share(found, found + wrong, len(listed)), unjudged=unjudged)


Likeness = Callable[[Profile, Profile], float]


class Baseline(NamedTuple):
    """A method, and its score at the threshold that suits it best on these very judgements."""

    name: str
    threshold: float
    score: MappingScore


def by_names(profiles: Sequence[Profile]) -> Likeness:
    """Compare the words of names."""
    rarity = Rarity(one.name for one in profiles)
    vectors = {one.key: rarity.vector(one.name) for one in profiles}
    return lambda one, other: cosine(vectors[one.key], vectors[other.key])


def by_descriptions(profiles: Sequence[Profile]) -> Likeness:
    """Compare the words of summaries and descriptions."""
    rarity = Rarity(one.described for one in profiles)
    vectors = {one.key: rarity.vector(one.described) for one in profiles}
    return lambda one, other: cosine(vectors[one.key], vectors[other.key])


def by_vectors(vectors: Mapping[str, Sequence[float]]) -> Likeness:
    """Compare the vectors of operations by their key."""
    return lambda one, other: sum(map(mul, vectors[one.key], vectors[other.key]))


def baseline(
    name: str,
    likeness: Likeness,
    operations: Mapping[str, Sequence[CanonicalOperation]],
    truths: Sequence[Truth],
) -> Baseline:
    """Map each judged source to the most alike target, from the threshold on that gives the best F1."""
    nearest = list(_nearest(likeness, operations, truths))
    best = Baseline(name, 0.0, score((), truths))
    for threshold in sorted({round(one.score, 2) for one in nearest}):
        found = score((one for one in nearest if one.score >= threshold), truths)
        if (found.operations.f1 or 0) > (best.score.operations.f1 or 0):
            best = Baseline(name, threshold, found)
    return best


def _nearest(
    likeness: Likeness, operations: Mapping[str, Sequence[CanonicalOperation]], truths: Sequence[Truth]
) -> Iterable[OperationMapping]:
    profiles = {api: {one.key: Profile(one) for one in listed} for api, listed in operations.items()}
    for truth in truths:
        targets = profiles[truth.target_api]
        for judged in truth.operations:
            source = profiles[truth.source_api].get(judged.source.key)
            others = [one for key, one in targets.items() if source is not None and one.key != source.key]
            if source is None or not others:
                continue
            alike, target = max(
                ((likeness(source, one), one) for one in others), key=lambda pair: (pair[0], pair[1].key)
            )
            yield OperationMapping(
                source=_named(source),
                target=_named(target),
                equivalence=Equivalence.WEAKER,
                score=min(max(alike, 0.0), 1.0),
                arguments=_same_names(source.operation.arguments, target.operation.arguments),
                results=_same_names(source.operation.results, target.operation.results),
            )


def _named(one: Profile) -> OperationName:
    return OperationName(api=one.operation.api, method=one.operation.method, path=one.operation.path)


def _same_names(sources: Sequence[Field], targets: Sequence[Field]) -> tuple[FieldMapping, ...]:
    """Pair fields by their last name alone, wherever they stand: the first that has it."""
    first: dict[str, str] = {}
    for one in targets:
        first.setdefault(one.name, one.pointer)
    return tuple(FieldMapping(source=one.pointer, target=first[one.name]) for one in sources if one.name in first)


@dataclass(frozen=True, slots=True)
class Averages:
    """Over all examples."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Of the averages, as the paper's table has it; 0 where both are."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class SequenceScore:
    """Of some examples; None where there are none."""

    examples: int
    sets: Averages | None
    order: Averages | None


def score_sequences(pairs: Iterable[tuple[Sequence[Hashable], Sequence[Hashable]]]) -> SequenceScore:
    """Score pairs of a generated sequence and the right one. Examples without a right sequence are left out.

    Who generates nothing has a precision of 0 there: an average over fewer examples would reward silence.
    """
    listed = [(generated, right) for generated, right in pairs if right]
    if not listed:
        return SequenceScore(0, None, None)
    sets = [(len(set(generated) & set(right)), len(set(generated)), len(set(right))) for generated, right in listed]
    order = [(common_length(generated, right), len(generated), len(right)) for generated, right in listed]
    return SequenceScore(len(listed), _averages(sets), _averages(order))


def _averages(counts: Sequence[tuple[int, int, int]]) -> Averages:
    precision = fmean(found / generated if generated else 0.0 for found, generated, _ in counts)
    return Averages(precision, fmean(found / right for found, _, right in counts))


Call = tuple[str, str]
"""API and name of an operation."""


@dataclass(frozen=True, slots=True)
class Query:
    """An utterance, and what should be called for it, in order."""

    utterance: str
    calls: tuple[Call, ...]
    candidates: tuple[Call, ...] = ()
    """Those that the set itself offers; empty: any operation may be meant."""


def is_queries(file: Path) -> bool:
    """Whether a file is a set of queries: JSON that begins with a list, or JSON lines."""
    try:
        with file.open("rb") as opened:
            return opened.read(256).lstrip()[:1] in (b"[", b"{")
    except OSError:
        return False


def read_queries(file: Path) -> list[Query]:
    """Read a set. Raises AuthoringError with file and line."""
    try:
        data = file.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(file, 0), f"cannot be read: {problem.strerror}") from None
    if data.lstrip()[:1] == b"[":
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError as problem:
            raise AuthoringError(Place(file, problem.lineno), f"not JSON: {problem.msg}") from None
        return [_toolbench(one, file, at) for at, one in enumerate(document, 1)]
    queries = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            queries.append(_own(orjson.loads(line)))
        except orjson.JSONDecodeError as problem:
            raise AuthoringError(Place(file, number), f"not JSON: {problem.msg}") from None
        except (KeyError, TypeError, ValueError):
            wanted = '{"utterance": ..., "calls": [["api", "name"], ...]}'
            raise AuthoringError(Place(file, number), f"not of the form {wanted}") from None
    return queries


def _toolbench(one: Json, file: Path, number: int) -> Query:
    try:
        listed = [(str(api["tool_name"]), str(api["api_name"])) for api in one.get("api_list", ())]
        return Query(str(one["query"]), _calls(one.get("relevant APIs", ())), tuple(listed))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise AuthoringError(Place(file, 0), f"query {number}: not of ToolBench's form") from None


def _own(document: Json) -> Query:
    return Query(str(document["utterance"]), _calls(document["calls"]))


def _calls(listed: Sequence[Json]) -> tuple[Call, ...]:
    calls = []
    for one in listed:
        api, name = one
        calls.append((str(api), str(name)))
    return tuple(calls)
