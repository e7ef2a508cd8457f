"""Ground truth from what annotators said: of the pairs of operations that they judged, and of no others."""

from __future__ import annotations

from collections.abc import Mapping

from corrigible.adapters.mapping.consensus import Consensus, OperationPair
from corrigible.adapters.mapping.mapping import Equivalence, OperationMapping, OperationName

from .truth import Called, JudgedMapping, JudgedOperation, JudgedPair, Truth


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
