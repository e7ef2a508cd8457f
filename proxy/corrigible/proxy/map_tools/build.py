"""`corrigible map build`: mappings between the operations of an index."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from corrigible.adapters.mapping.evaluate.toolbench_queries import is_queries, read_queries
from corrigible.adapters.mapping.mapping import MapFile
from corrigible.adapters.mapping.plan.prompt import Asked
from corrigible.adapters.mapping.store.sqlite_index import SqliteIndex
from corrigible.rules.errors import CorrigibleError, suggest_spelling

from . import embedding_option, input_option, model_option
from .map_builder import MOST_APIS, build_map, first_questions, known_pairs

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
    input_option.add_index(parser)
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="the map, as JSON")
    parser.add_argument("--from", dest="sources", action="append", default=[], metavar="API", help="default: all")
    parser.add_argument("--to", dest="targets", action="append", default=[], metavar="API", help="default: all")
    parser.add_argument(
        "--utterances",
        type=Path,
        metavar="FILE",
        help="utterances of users, one a line, or ToolBench's queries: operations that one finds together are compared",
    )
    input_option.add_annotations(
        parser,
        "what they accepted or corrected is taken as judged, rejected ones are left out; the majority counts, and a tie"
        " makes `related`",
    )
    embedding_option.add(parser)
    model_option.add(parser, "--refine", "let this model judge the candidates: by examples, then by criticising itself")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    said = input_option.agreed(args)
    model = model_option.model(args)
    index = SqliteIndex(args.index, embedding_option.embedder(args))
    began = time.perf_counter()
    try:
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
    finally:
        index.close()
        if model is not None:
            model.close()
    write_map(args.out, found)
    classes = Counter(str(one.equivalence) for one in found.mappings)
    told = ", ".join(f"{count} {name}" for name, count in classes.most_common()) or "none"
    print(f"{args.out}: {len(found.mappings)} mappings ({told}), {found.method}, {time.perf_counter() - began:.1f} s")
    if model is not None:
        print(model.told(), file=sys.stderr)
    return 0


def _dry_run(questions: Iterator[Asked]) -> int:
    """Print the first questions, and how many there are. Each is followed by one more, for the criticism."""
    count = 0
    for question in questions:
        count += 1
        if count <= _SHOWN:
            model_option.print_question(question)
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
            raise CorrigibleError(f"{option} {one}: not in this index{suggest_spelling(one, names)}")
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
