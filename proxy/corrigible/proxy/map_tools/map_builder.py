"""Maps between the APIs of an index: which pairs of APIs are compared, and by what probes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from corrigible.adapters.mapping.annotation import Consensus, OperationPair, judged_mappings
from corrigible.adapters.mapping.builder import Builder
from corrigible.adapters.mapping.likeness import Probe
from corrigible.adapters.mapping.mapping import MapFile, OperationMapping
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.plan_text import Asked
from corrigible.adapters.mapping.store import OperationIndex

from .model_option import Model
from .refiner import questions, refined

MOST_APIS = 20
"""Up to so many, each pair of APIs is compared; of more, each API with all others at once."""
TOGETHER = 10
"""Hits of one utterance, as in the paper."""


def build_map(
    index: OperationIndex,
    sources: Sequence[str],
    targets: Sequence[str],
    utterances: Iterable[str] = (),
    tell: Callable[[str], None] = lambda _: None,
    model: Model | None = None,
    said: Mapping[OperationPair, Consensus] = MappingProxyType({}),
) -> MapFile:
    """Map the operations of each source API to each target API, or to other versions within one API.

    `model`: asked about each source whose candidates are not hopeless. `said`: what people said has the last word;
    what they said of operations that are not compared here is left out.
    """
    together = _found_together(index, utterances)
    mappings: list[OperationMapping] = []
    for source, group in _pairs(sources, targets):
        builder = _between(index, source, group, together)
        found = builder.mappings() if model is None else refined(builder, model)
        mappings += found
        tell(f"{source} -> {group[0] if len(group) == 1 else f'{len(group)} APIs'}: {len(found)} mappings")
    known = known_pairs(index, sources, targets, said)
    mappings = list(judged_mappings(mappings, known))
    named = {api for one in mappings for api in (one.source.api, one.target.api)}
    apis = tuple(one for one in index.apis() if one.name in named)
    method = f"lexical; candidates by {index.methods[0]}"
    if model is not None:
        method += f"; judged by {model.name}, few-shot and self-reflection"
    if known:
        method += f"; {len(known)} judged by people"
    return MapFile(method=method, apis=apis, mappings=tuple(mappings))


def known_pairs(
    index: OperationIndex, sources: Sequence[str], targets: Sequence[str], said: Mapping[OperationPair, Consensus]
) -> dict[OperationPair, Consensus]:
    """Return what is said of operations that the index has, of the APIs that are compared."""
    apis = {one.api for pair in said for one in pair}
    keys = {key_of(one) for api in sorted(apis) for one in index.operations(api)}
    return {
        (source, target): word
        for (source, target), word in said.items()
        if source.api in sources and target.api in targets and {source.key, target.key} <= keys
    }


def builders(
    index: OperationIndex, sources: Sequence[str], targets: Sequence[str], found: Mapping[str, Sequence[str]]
) -> Iterator[Builder]:
    """Yield what compares each two APIs; `found`: the keys of the operations that an utterance finds together."""
    together = _together(found.values())
    for source, group in _pairs(sources, targets):
        yield _between(index, source, group, together)


def first_questions(index: OperationIndex, sources: Sequence[str], targets: Sequence[str]) -> Iterator[Asked]:
    """Yield what a model would be asked first about each source."""
    for source, group in _pairs(sources, targets):
        yield from (question for _, question in questions(_between(index, source, group, {})))


def _pairs(sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    if len(set(sources) | set(targets)) <= MOST_APIS:
        yield from ((source, (target,)) for source in sources for target in targets)
        return
    for source in sources:
        yield source, [target for target in targets if target != source]


def _between(index: OperationIndex, source: str, group: Sequence[str], together: dict[str, list[str]]) -> Builder:
    operations = [one for api in group for one in index.operations(api)]
    known = {key_of(one) for one in operations}
    return Builder(
        index.operations(source),
        operations,
        _probe(index, group[0] if len(group) == 1 else ""),
        lambda key: [other for other in together.get(key, ()) if other in known],
    )


def _probe(index: OperationIndex, api: str) -> Probe:
    return lambda text, limit: [key_of(hit.operation) for hit in index.search(text, limit, api=api)]


def _found_together(index: OperationIndex, utterances: Iterable[str]) -> dict[str, list[str]]:
    """Return, by the key of an operation, those that an utterance found with it."""
    return _together([key_of(hit.operation) for hit in index.search(text, TOGETHER)] for text in utterances)


def _together(found: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    together: dict[str, dict[str, None]] = defaultdict(dict)
    for keys in found:
        for key in keys:
            together[key] |= dict.fromkeys(other for other in keys if other != key)
    return {key: list(others) for key, others in together.items()}


def key_of(operation: CanonicalOperation) -> str:
    """Return what names an operation among those of all APIs."""
    return f"{operation.api} {operation.key}"
