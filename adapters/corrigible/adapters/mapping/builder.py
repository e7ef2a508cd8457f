"""The mappings from the operations of one API to those of another one, or to other versions within one API.

Deterministic: the same operations give the same map, whatever the order in which they are read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from .field_map import compared
from .likeness import VARIABLE, Candidates, Comparison, Probe, Profile, Rarity, Signs, container, likeness
from .mapping import Equivalence, Evidence, OperationMapping
from .operation import CanonicalOperation, text_words

ACCEPTED: Final = 0.15
"""The likeness from which a target is a substitute."""
RELATED: Final = 0.06
"""From here it is near, but no substitute."""
_CLEAR: Final = 0.5
"""The likeness from which a pair tells of its neighbours."""
_MARGIN: Final = 4.0
"""How many times as likely another source may be for a target to be still this one's, too: in odds."""
_ALIKE: Final = 0.6
"""The likeness of summaries."""
_SAID_ALIKE: Final = 0.8
_ANSWERED_ALIKE: Final = 0.8
_SUCCESSOR: Final = re.compile(r"(?i)(?:deprecated|superseded|replaced|instead|obsolete)")


class Pair(NamedTuple):
    """Two operations that were compared."""

    source: str
    target: str
    signs: Signs
    neighbours: float
    score: float


class Builder:
    """Maps the operations of one API to those of another one."""

    def __init__(
        self,
        sources: Iterable[CanonicalOperation],
        targets: Iterable[CanonicalOperation],
        probe: Probe,
        together: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        """`probe` searches the targets; `together`: the targets that utterances found with a source, by its key."""
        self._sources = {profile.key: profile for profile in map(Profile, sources)}
        self._targets = {profile.key: profile for profile in map(Profile, targets)}
        self._within = self._sources.keys() == self._targets.keys()
        profiles = list({**self._sources, **self._targets}.values())
        self._comparison = Comparison(profiles)
        self._rarity = Rarity(
            text_words(one.description)
            for profile in profiles
            for one in (*profile.operation.arguments[:60], *profile.operation.results[:60])
        )
        self._candidates = Candidates(self._targets, probe)
        self._together = together
        self._compared: dict[str, list[Pair]] | None = None

    def mappings(self) -> list[OperationMapping]:
        """Return all mappings, in the order of sources and, for each, of likeness."""
        return [self.mapping(pair, accepted=self._accepted(pair)) for pair in self._chosen(self.pairs())]

    def pairs(self) -> dict[str, list[Pair]]:
        """Return what was compared, by the key of the source, the most alike first."""
        if self._compared is None:
            self._compared = self._pairs()
        return self._compared

    def operation(self, key: str) -> CanonicalOperation:
        """Return a source or a target by its key."""
        return (self._sources.get(key) or self._targets[key]).operation

    def _pairs(self) -> dict[str, list[Pair]]:
        first: dict[str, list[Pair]] = {}
        for key, source in sorted(self._sources.items()):
            first[key] = [
                Pair(key, target, signs, 0.0, likeness(signs))
                for target in self._candidates.of(source, self._together(key))
                if not (self._within and target == key)
                and (signs := self._comparison.signs(source, self._targets[target])).effect
            ]
        votes = self._votes(first)
        second = {}
        for key, pairs in first.items():
            judged = []
            for pair in pairs:
                share = self._agreement(pair, votes)
                judged.append(pair._replace(neighbours=share, score=likeness(pair.signs, share)))
            second[key] = sorted(judged, key=lambda pair: (-pair.score, pair.target))
        return second

    def _votes(self, pairs: Mapping[str, Sequence[Pair]]) -> dict[object, Counter[object]]:
        """Count, over the pairs that are clear alone, what each place of paths and each schema became."""
        votes: dict[object, Counter[object]] = defaultdict(Counter)
        for listed in pairs.values():
            best = max(listed, key=lambda pair: (pair.score, pair.target), default=None)
            if best is None or best.score < _CLEAR:
                continue
            for one, other in self._correspondences(best):
                votes[one][other] += 1
        return votes

    def _agreement(self, pair: Pair, votes: Mapping[object, Counter[object]]) -> float:
        shares = [
            votes[one][other] / total
            for one, other in self._correspondences(pair)
            if one in votes and (total := votes[one].total())
        ]
        return max(shares, default=0.0)

    def _correspondences(self, pair: Pair) -> list[tuple[object, object]]:
        source, target = self._sources[pair.source], self._targets[pair.target]
        here, there = container(source), container(target)
        found: list[tuple[object, object]] = [(("path", here), ("path", there))] if here and there else []
        if source.operation.schemas and target.operation.schemas:
            found.append((("schema", source.operation.schemas[-1]), ("schema", target.operation.schemas[-1])))
        return found

    def _chosen(self, pairs: Mapping[str, Sequence[Pair]]) -> list[Pair]:
        strongest: dict[str, float] = defaultdict(float)
        for listed in pairs.values():
            for pair in listed:
                strongest[pair.target] = max(strongest[pair.target], pair.score)
        chosen = []
        for listed in pairs.values():
            fitting = [pair for pair in listed if self._is_candidate(pair)]
            if not fitting:
                continue
            best = fitting[0]
            is_another_ones = _odds(best.score) * _MARGIN < _odds(strongest[best.target])
            if is_another_ones and not self._is_certain(best):
                continue
            if best.score >= RELATED or self._is_successor(best):
                chosen.append(best)
                chosen += [pair for pair in fitting[1:] if self._is_other_version(best, pair) or self._is_twin(pair)]
        return chosen

    def _is_certain(self, pair: Pair) -> bool:
        """Whether a target is this source's, too, however much nearer another one is to it."""
        return self._is_successor(pair) or self._is_version(pair) or self._is_twin(pair) or _is_as_good(pair)

    def _is_candidate(self, pair: Pair) -> bool:
        """Within one API everything resembles something: there only versions and named successors count."""
        return not self._within or self._is_version(pair) or self._is_successor(pair)

    def _is_version(self, pair: Pair) -> bool:
        source, target = self._sources[pair.source], self._targets[pair.target]
        return (
            source.operation.method == target.operation.method
            and source.segments[-4:] == target.segments[-4:]
            and source.segments.count("{}") == target.segments.count("{}")
            and source.versions != target.versions
        )

    def _is_other_version(self, best: Pair, pair: Pair) -> bool:
        one, other = self._targets[best.target], self._targets[pair.target]
        return (
            one.operation.method == other.operation.method
            and one.segments == other.segments
            and one.versions != other.versions
        )

    def _is_twin(self, pair: Pair) -> bool:
        """Whether a target does the same on a shorter path: APIs keep older paths beside newer ones."""
        source, target = self._sources[pair.source], self._targets[pair.target]
        return pair.score >= ACCEPTED and _says_the_same(pair.signs) and _is_shorter(source.segments, target.segments)

    def _is_successor(self, pair: Pair) -> bool:
        """Whether the source is deprecated and its description names the target."""
        source, target = self._sources[pair.source].operation, self._targets[pair.target].operation
        said = source.description
        if not (source.deprecated or _SUCCESSOR.search(said)):
            return False
        return any(len(name) > 4 and _names(said, name) for name in (target.path, target.name))

    def _accepted(self, pair: Pair) -> bool:
        return pair.score >= ACCEPTED or self._is_successor(pair)

    def mapping(self, pair: Pair, *, accepted: bool) -> OperationMapping:
        """Return the mapping of two operations; one that is not accepted is `related`."""
        source, target = self._sources[pair.source], self._targets[pair.target]
        mapping = compared(source, target, self._rarity, pair.score)
        evidence = list(self._evidence(pair))
        if source.operation.left_out:
            note = f"{source.operation.left_out} places of the source are not described further"
            evidence.append(Evidence(kind="fields", score=0.0, note=note))
        changes: dict[str, object] = {"evidence": tuple(evidence)}
        if not accepted:
            changes["equivalence"] = Equivalence.RELATED
        return mapping.model_copy(update=changes)

    def _evidence(self, pair: Pair) -> Iterable[Evidence]:
        signs = pair.signs
        if self._is_successor(pair):
            yield Evidence(kind="version", note="the description of the source names it as what to use instead")
        elif self._is_version(pair):
            source, target = self._sources[pair.source], self._targets[pair.target]
            yield Evidence(kind="version", note=f"{'/'.join(source.versions)} -> {'/'.join(target.versions)}")
        yield Evidence(kind="path", score=_share(max(signs.path, signs.exact_path)))
        if signs.said:
            yield Evidence(kind="description", score=_share(signs.said))
        if signs.results and self._sources[pair.source].result_names:
            yield Evidence(kind="fields", score=_share(signs.results), note="names in both answers")
        if pair.neighbours:
            yield Evidence(kind="neighbours", score=_share(pair.neighbours))


def _says_the_same(signs: Signs) -> bool:
    """Whether two operations are about one resource, and say alike what they do with it."""
    return signs.resource == 1 and signs.said >= _ALIKE and signs.effect == 1 and signs.many == 1


def _is_as_good(pair: Pair) -> bool:
    """Whether another source that is nearer to a target takes nothing away: both do what it does."""
    signs = pair.signs
    same_thing = signs.resource == 1 or signs.results >= _ANSWERED_ALIKE
    return pair.score >= ACCEPTED and same_thing and signs.said >= _SAID_ALIKE and signs.effect == signs.many == 1


def _is_shorter(source: Sequence[str], target: Sequence[str]) -> bool:
    """Whether one path is the end of another one, with the variable of the thing: `teams/{}` of `orgs/{}/teams/{}`.

    The longer one only says again where the thing is; a list without its scope would be a longer list.
    """
    end = tuple(target)
    return len(end) < len(source) and tuple(source[-len(end) :]) == end and len(end) > 1 and end[1] == VARIABLE


def _odds(share: float) -> float:
    return share / max(1 - share, 1e-9)


def _share(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 3)


def _names(text: str, name: str) -> bool:
    """Whether a text has a name as a whole: not `/v1/order` for `/v1/orders`."""
    return re.search(rf"(?<![\w/{{]){re.escape(name)}(?![\w/{{])", text) is not None
