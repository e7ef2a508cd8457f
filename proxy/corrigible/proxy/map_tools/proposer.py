"""Mappings to be judged, from an index: for utterances, or for every operation; with near candidates beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.adapters.mapping.annotation import Proposal
from corrigible.adapters.mapping.mapping import OperationMapping
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.store import OperationIndex

from .map_builder import TOGETHER, builders, key_of

CANDIDATES: Final = 3
"""Targets of one source: those that `map build` takes, then the nearest others."""
_SAID: Final = 400
"""Characters of a description on the page."""


def proposals_for(
    index: OperationIndex, sources: Sequence[str], targets: Sequence[str], utterances: Sequence[str] = ()
) -> list[Proposal]:
    """Return what is to be judged, the candidates of one source together.

    With utterances: for each of them the operations that it finds, and mappings between these.
    """
    found = {text: [key_of(hit.operation) for hit in index.search(text, TOGETHER)] for text in utterances}
    wanted = {key for keys in found.values() for key in keys}
    by_source = _candidates(index, sources, targets, found, wanted)
    texts = {key_of(one): _text(one) for api in sorted({*sources, *targets}) for one in index.operations(api)}
    if not utterances:
        return [_proposal("", mapping, texts) for mappings in by_source.values() for mapping in mappings[:CANDIDATES]]
    return [
        _proposal(text, mapping, texts)
        for text, keys in found.items()
        for key in keys
        for mapping in [one for one in by_source.get(key, ()) if one.target.key in keys][:CANDIDATES]
    ]


def _candidates(
    index: OperationIndex,
    sources: Sequence[str],
    targets: Sequence[str],
    found: Mapping[str, Sequence[str]],
    wanted: set[str],
) -> dict[str, list[OperationMapping]]:
    """Return, by the key of the source, what is mapped, the best first, then what was only compared."""
    by_source: dict[str, list[OperationMapping]] = {}
    for builder in builders(index, sources, targets, found):
        taken: dict[str, list[OperationMapping]] = {}
        for one in builder.mappings():
            taken.setdefault(one.source.key, []).append(one)
        for key, pairs in builder.pairs().items():
            if wanted and key not in wanted:
                continue
            mapped = taken.get(key, [])
            seen = {one.target.key for one in mapped}
            near = [pair for pair in pairs if pair.score > 0 and pair.target not in seen]
            if wanted:
                near = [pair for pair in near if pair.target in wanted]
            mapped += [builder.mapping(pair, accepted=False) for pair in near[: CANDIDATES if wanted else 1]]
            by_source.setdefault(key, []).extend(mapped)
    return by_source


def _proposal(utterance: str, mapping: OperationMapping, texts: Mapping[str, str]) -> Proposal:
    return Proposal(
        mapping=mapping,
        utterance=utterance,
        source_text=texts[mapping.source.key],
        target_text=texts[mapping.target.key],
    )


def _text(one: CanonicalOperation) -> str:
    return (one.summary or one.description)[:_SAID]


def described(proposals: Sequence[Proposal], index: OperationIndex) -> Iterator[Proposal]:
    """Yield proposals with what the index says of their operations, where they say nothing themselves."""
    apis = {api for one in proposals for api in (one.mapping.source.api, one.mapping.target.api)}
    texts = {key_of(one): _text(one) for api in sorted(apis) for one in index.operations(api)}
    for one in proposals:
        source = one.source_text or texts.get(one.mapping.source.key, "")
        target = one.target_text or texts.get(one.mapping.target.key, "")
        yield one.model_copy(update={"source_text": source, "target_text": target})
