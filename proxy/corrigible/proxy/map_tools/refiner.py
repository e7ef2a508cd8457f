"""Mappings as a model judges them: it answers after examples, then criticises its answer.

The model only says which candidates do the same. What becomes of each field, what is lost and the class follow from the
descriptions as ever, so that no model can call a mapping the same that loses something.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corrigible.adapters.mapping.build.builder import Builder, Pair
from corrigible.adapters.mapping.mapping import Equivalence, Evidence, OperationMapping
from corrigible.adapters.mapping.plan.answer import UnreadableAnswer, judged, read_answer
from corrigible.adapters.mapping.plan.prompt import Asked, mapping_question, mapping_reflection
from corrigible.model.provider_client import ProviderError

from .model_option import Model

SHOWN = 10
"""Candidates that a model sees, as in the paper."""
_WORTH_ASKING = 0.01
"""The likeness of the best candidate: below it there is nothing to ask about."""


def questions(builder: Builder) -> Iterator[tuple[list[Pair], Asked]]:
    """Yield what a model is asked about each source, with the pairs of its candidates."""
    for key, pairs in builder.pairs().items():
        shown = [pair for pair in pairs if pair.score > 0][:SHOWN]
        if shown and shown[0].score >= _WORTH_ASKING:
            yield shown, mapping_question(builder.operation(key), [builder.operation(pair.target) for pair in shown])


def refined(builder: Builder, model: Model) -> list[OperationMapping]:
    """Return the mappings of a builder as a model sees them. Where it does not answer, they stay as they were."""
    lexical: dict[str, list[OperationMapping]] = {}
    for one in builder.mappings():
        lexical.setdefault(one.source.key, []).append(one)
    found = dict(lexical)
    for shown, question in questions(builder):
        key = shown[0].source
        try:
            kept = _judged(question, len(shown), model)
        except (ProviderError, UnreadableAnswer):
            model.failed += 1
            continue
        found[key] = list(_combined(builder, shown, kept, lexical.get(key, []), model))
    return [one for key in builder.pairs() for one in found.get(key, [])]


def _judged(question: Asked, count: int, model: Model) -> dict[int, str]:
    """Ask twice: for the mappings, and for what is wrong with them."""
    first = model.ask(question)
    judged(read_answer(first.text), count)
    said, schema = mapping_reflection(first.text)
    return judged(read_answer(model.ask(question, [(first, said)], schema).text), count)


def _combined(
    builder: Builder, shown: Sequence[Pair], kept: dict[int, str], before: Sequence[OperationMapping], model: Model
) -> Iterator[OperationMapping]:
    """Yield what the model takes for the same, then what was found without it and it does not, as `related`."""
    for at, reasoning in kept.items():
        mapping = builder.mapping(shown[at], accepted=True)
        evidence = Evidence(kind="model", note=f"{model.name}: {reasoning}")
        yield mapping.model_copy(update={"evidence": (*mapping.evidence, evidence)})
    chosen = {shown[at].target for at in kept}
    seen = {pair.target for pair in shown}
    for one in before:
        target = one.target.key
        if target in chosen:
            continue
        if target not in seen:
            yield one
            continue
        evidence = Evidence(kind="model", score=0.0, note=f"{model.name}: does not do the same")
        update = {"equivalence": Equivalence.RELATED, "evidence": (*one.evidence, evidence)}
        yield one.model_copy(update=update)
