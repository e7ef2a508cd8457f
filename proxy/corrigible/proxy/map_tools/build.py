"""`corrigible map build`: mappings between the operations of an index.

With --refine a model judges the mappings: it is asked by examples, then told to criticise what it answered. The model
only says which candidates do the same. What becomes of each field, what is lost and the class follow from the
descriptions as ever, so that no model can call a mapping the same that loses something.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from corrigible.adapters.mapping import plan_text
from corrigible.adapters.mapping.annotation import Consensus, OperationPair, Proposal, judged_mappings
from corrigible.adapters.mapping.builder import Builder, Pair
from corrigible.adapters.mapping.evaluation import is_queries, read_queries
from corrigible.adapters.mapping.likeness import Probe
from corrigible.adapters.mapping.mapping import Equivalence, Evidence, MapFile, OperationMapping
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.store import SqliteIndex
from corrigible.model.provider_client import ProviderError
from corrigible.rules.errors import CorrigibleError, did_you_mean
from corrigible.schema.command_line import several

from . import options
from .options import Model

SHOWN = 10
"""Candidates that a model sees, as in the paper."""
_WORTH_ASKING = 0.01
"""The likeness of the best candidate: below it there is nothing to ask about."""


def questions(builder: Builder) -> Iterator[tuple[list[Pair], plan_text.Asked]]:
    """Yield what a model is asked about each source, with the pairs of its candidates."""
    for key, pairs in builder.pairs().items():
        shown = [pair for pair in pairs if pair.score > 0][:SHOWN]
        if shown and shown[0].score >= _WORTH_ASKING:
            yield (
                shown,
                plan_text.mapping_question(builder.operation(key), [builder.operation(pair.target) for pair in shown]),
            )


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
        except (ProviderError, plan_text.UnreadableAnswer):
            model.failed += 1
            continue
        found[key] = list(_combined(builder, shown, kept, lexical.get(key, []), model))
    return [one for key in builder.pairs() for one in found.get(key, [])]


def _judged(question: plan_text.Asked, count: int, model: Model) -> dict[int, str]:
    """Ask twice: for the mappings, and for what is wrong with them."""
    first = model.ask(question)
    plan_text.judged(plan_text.read_answer(first.text), count)
    said, schema = plan_text.mapping_reflection(first.text)
    return plan_text.judged(plan_text.read_answer(model.ask(question, [(first, said)], schema).text), count)


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


MOST_APIS = 20
"""Up to so many, each pair of APIs is compared; of more, each API with all others at once."""
TOGETHER = 10
"""Hits of one utterance, as in the paper."""


def build_map(
    index: SqliteIndex,
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
    index: SqliteIndex, sources: Sequence[str], targets: Sequence[str], said: Mapping[OperationPair, Consensus]
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
    index: SqliteIndex, sources: Sequence[str], targets: Sequence[str], found: Mapping[str, Sequence[str]]
) -> Iterator[Builder]:
    """Yield what compares each two APIs; `found`: the keys of the operations that an utterance finds together."""
    together = _together(found.values())
    for source, group in _pairs(sources, targets):
        yield _between(index, source, group, together)


def first_questions(index: SqliteIndex, sources: Sequence[str], targets: Sequence[str]) -> Iterator[plan_text.Asked]:
    """Yield what a model would be asked first about each source."""
    for source, group in _pairs(sources, targets):
        yield from (question for _, question in questions(_between(index, source, group, {})))


def _pairs(sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    if len(set(sources) | set(targets)) <= MOST_APIS:
        yield from ((source, (target,)) for source in sources for target in targets)
        return
    for source in sources:
        yield source, [target for target in targets if target != source]


def _between(index: SqliteIndex, source: str, group: Sequence[str], together: dict[str, list[str]]) -> Builder:
    operations = [one for api in group for one in index.operations(api)]
    known = {key_of(one) for one in operations}
    return Builder(
        index.operations(source),
        operations,
        _probe(index, group[0] if len(group) == 1 else ""),
        lambda key: [other for other in together.get(key, ()) if other in known],
    )


def _probe(index: SqliteIndex, api: str) -> Probe:
    return lambda text, limit: [key_of(hit.operation) for hit in index.search(text, limit, api=api)]


def _found_together(index: SqliteIndex, utterances: Iterable[str]) -> dict[str, list[str]]:
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


CANDIDATES: Final = 3
"""Targets of one source: those that `map build` takes, then the nearest others."""
_SAID: Final = 400
"""Characters of a description on the page."""


def proposals_for(
    index: SqliteIndex, sources: Sequence[str], targets: Sequence[str], utterances: Sequence[str] = ()
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
    index: SqliteIndex,
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


def described(proposals: Sequence[Proposal], index: SqliteIndex) -> Iterator[Proposal]:
    """Yield proposals with what the index says of their operations, where they say nothing themselves."""
    apis = {api for one in proposals for api in (one.mapping.source.api, one.mapping.target.api)}
    texts = {key_of(one): _text(one) for api in sorted(apis) for one in index.operations(api)}
    for one in proposals:
        source = one.source_text or texts.get(one.mapping.source.key, "")
        target = one.target_text or texts.get(one.mapping.target.key, "")
        yield one.model_copy(update={"source_text": source, "target_text": target})


_SHOWN: Final = 3
"""Questions of a dry run."""


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "build",
        help="map operations that do the same, and their fields",
        description="Map the operations of the APIs of an index to each other, and to their other versions: class "
        "(same, same with conversion, weaker, stronger, related), score, evidence, and the counterpart of each field. "
        "The same index gives the same map.",
    )
    options.add_index(parser)
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="the map, as JSON")
    several(parser, "--from", dest="sources", metavar="API", help="default: all")
    several(parser, "--to", dest="targets", metavar="API", help="default: all")
    parser.add_argument(
        "--utterances",
        type=Path,
        metavar="FILE",
        help="utterances of users, one a line, or ToolBench's queries: operations that one finds together are compared",
    )
    options.add_annotations(
        parser,
        "what they accepted or corrected is taken as judged, rejected ones are left out; the majority counts, and a tie"
        " makes `related`",
    )
    options.add_embedding(parser)
    options.add_model(
        parser, "--refine", "let this model judge the candidates: by examples, then by criticising itself"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    said = options.agreed(args)
    began = time.perf_counter()
    with options.opened(args) as (index, model):
        names = [one.name for one in index.apis()]
        sources, targets = _known(args.sources, names, "--from"), _known(args.targets, names, "--to")
        if len(set(sources) | set(targets)) > MOST_APIS and not (args.sources or args.targets):
            print(f"{len(names)} APIs: each is compared with all others at once", file=sys.stderr)
        if args.dry_run:
            return _dry_run(first_questions(index, sources, targets))
        utterances = read_utterances(args.utterances) if args.utterances else []
        found = build_map(index, sources, targets, utterances, print, model, said)
        if said:
            known = len(known_pairs(index, sources, targets, said))
            print(f"{known} judged mappings{_left_out(len(said) - known)}")
    write_map(args.out, found)
    classes = Counter(str(one.equivalence) for one in found.mappings)
    told = ", ".join(f"{count} {name}" for name, count in classes.most_common()) or "none"
    print(f"{args.out}: {len(found.mappings)} mappings ({told}), {found.method}, {time.perf_counter() - began:.1f} s")
    return 0


def _dry_run(questions: Iterator[plan_text.Asked]) -> int:
    """Print the first questions, and how many there are. Each is followed by one more, for the criticism."""
    count = 0
    for question in questions:
        count += 1
        if count <= _SHOWN:
            options.print_question(question)
    print(f"--- {count} operations would be asked about, with {2 * count} requests; {min(count, _SHOWN)} are shown")
    return 0


def write_map(file: Path, found: MapFile) -> None:
    """Write a map. Raises CorrigibleError where that fails."""
    try:
        file.write_text(found.model_dump_json(indent=1, exclude_defaults=True) + "\n", "utf-8")
    except OSError as problem:
        raise CorrigibleError(f"{file}: cannot be written: {problem.strerror}") from None


def _known(chosen: Sequence[str], names: Sequence[str], option: str) -> list[str]:
    for one in chosen:
        if one not in names:
            raise CorrigibleError(f"{option} {one}: not in this index{did_you_mean(one, names)}")
    return list(chosen) or list(names)


def _left_out(count: int) -> str:
    return f"; {count} of operations that are not compared here are left out" if count else ""


def read_utterances(file: Path) -> list[str]:
    """Read utterances, one a line, or ToolBench's queries. Raises CorrigibleError."""
    if is_queries(file):
        return [one.utterance for one in read_queries(file)]
    try:
        return [line.strip() for line in file.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as problem:
        raise CorrigibleError(f"{file}: cannot be read: {problem}") from None
