"""Judges the product on all recorded servers, in several ways, and holds the figures to `bars.json`.

    python -m tests.strangers.gates [--only NAME ...] [--runs RUN ...] [--out FILE.json] [--compare OLD.json]

A run is one way to ask: as recorded, with the server left out of what was learned, in other words, and so on.

Knows: recorded cases, how they are said otherwise. Does not know: how the product reads.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, get_args

from pydantic import BaseModel, ConfigDict

from .case import FOLDER, Case, Stranger, load, names
from .judge import Kind, is_offered, judge, kind_of, wrong_edits
from .replay import Known, replay
from .said_otherwise import TELLINGS, Telling, in_nonsense, names_described, told

BARS: Final = FOLDER / "bars.json"
PROCESSES: Final = 2
BASE: Final = "left out"
"""The run that all others are compared with."""
Run = Callable[[str, str, Stranger], Iterator["Row"]]
"""From the name of a run, and a server with its name, to what comes of its cases."""


class Row(BaseModel):
    """What came of one case in one run."""

    model_config = ConfigDict(frozen=True)

    run: str
    server: str
    case: str
    is_rpc: bool
    is_repairable: bool
    right: bool
    kind: Kind
    fault: str
    """harm, flagged harm, asked wrong, or nothing."""
    is_offered: bool
    wrong_edits: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.run, self.server, self.case


def row(run: str, name: str, server: Stranger, case: Case, known: Known = "described") -> Row:
    """Replay a case and judge it."""
    episode = replay(name, server, case, known)
    verdict = judge(case, episode)
    return Row(
        run=run,
        server=name,
        case=case.name,
        is_rpc=server.is_rpc,
        is_repairable=case.is_repairable,
        right=verdict.right,
        kind=kind_of(episode),
        fault="harm" if verdict.harm else verdict.fault,
        is_offered=is_offered(case, episode),
        wrong_edits=wrong_edits(case, episode),
    )


def left_out(name: str) -> AbstractContextManager[None]:
    """What was learned without a server: the weights of its fold, no wording that was added for it alone."""
    return nullcontext()


def as_recorded(run: str, name: str, server: Stranger) -> Iterator[Row]:
    yield from (row(run, name, server, case) for case in server.cases)


def said(telling: Telling) -> Run:
    """Return a run of the cases whose refusal can be said in another way."""

    def replayed(run: str, name: str, server: Stranger) -> Iterator[Row]:
        others = (told(case, telling) for case in server.cases)
        yield from (row(run, name, server, case) for case in others if case is not None)

    return replayed


def in_no_language(run: str, name: str, server: Stranger) -> Iterator[Row]:
    telling = in_nonsense(names_described(FOLDER / name / server.description))
    yield from said(telling)(run, name, server)


RUNS: Final[dict[str, Run]] = {
    BASE: as_recorded,
    "words replaced by nonsense": in_no_language,
    **{name: said(telling) for name, telling in TELLINGS.items()},
}


def rows_of(task: tuple[str, Sequence[str]]) -> list[Row]:
    """Return what comes of the cases of one server, in some runs."""
    name, runs = task
    server = load(name)
    with left_out(name):
        return [one for run in runs for one in RUNS[run](run, name, server)]


def all_rows(servers: Sequence[str], runs: Sequence[str]) -> list[Row]:
    """Judge in two processes, the servers with most cases first. Each server has its description read once."""
    tasks = sorted(servers, key=lambda name: -(FOLDER / name / "cases.json").stat().st_size)
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        done = pool.imap_unordered(rows_of, [(name, runs) for name in tasks])
        return sorted((one for part in done for one in part), key=lambda one: one.key)


Figures = dict[str, tuple[int, int]]
"""By name: how many, of how many."""


def figures(rows: Sequence[Row]) -> Figures:
    """Return the figures of each kind of server."""
    found: Figures = {}
    for title, is_rpc in (("HTTP", False), ("gRPC", True)):
        of_kind = [one for one in rows if one.is_rpc is is_rpc]
        found |= {f"{title} {name}": value for name, value in _base_figures(_in(of_kind, BASE)).items()}
        known = {(one.server, one.case) for one in _in(of_kind, BASE) if one.right}
        for run in RUNS:
            others = [one for one in _in(of_kind, run) if (one.server, one.case) in known]
            if run != BASE and others:
                found[f"{title} {run}: stay right"] = _share(others, lambda one: one.right)
                found[f"{title} {run}: harm"] = _share(_in(of_kind, run), lambda one: one.fault == "harm")
    return found


def _base_figures(rows: Sequence[Row]) -> Figures:
    repairable = [one for one in rows if one.is_repairable]
    others = [one for one in rows if not one.is_repairable]
    sent = [one for one in repairable if one.right and one.kind == "unasked"]
    wrong = sum(one.wrong_edits for one in rows)
    kinds = Counter(one.kind for one in rows)
    return {
        "repaired": _share(repairable, lambda one: one.right),
        "others right": _share(others, lambda one: one.right),
        "asked at a wrong place": _share(rows, lambda one: one.fault == "asked wrong"),
        "right edit offered": _share(repairable, lambda one: one.is_offered),
        "right edit unasked": (len(sent), len(repairable)),
        "right of the edits sent": (len(sent), len(sent) + wrong),
        "harm": _share(rows, lambda one: one.fault == "harm"),
        "flagged harm": _share(rows, lambda one: one.fault == "flagged harm"),
        **{f"answer: {kind}": (kinds[kind], len(rows)) for kind in get_args(Kind)},
    }


def _in(rows: Iterable[Row], run: str) -> list[Row]:
    return [one for one in rows if one.run == run]


def _share(rows: Sequence[Row], is_counted: Callable[[Row], bool]) -> tuple[int, int]:
    return sum(map(is_counted, rows)), len(rows)


def table(found: Figures) -> str:
    """Return the figures for people, HTTP beside gRPC."""
    titles = {name.partition(" ")[2]: None for name in found}
    lines = [f"{'':46} {'HTTP':>21} {'gRPC':>21}"]
    for title in titles:
        cells = (_cell(found.get(f"{kind} {title}")) for kind in ("HTTP", "gRPC"))
        lines.append(f"{title:46} " + " ".join(f"{cell:>21}" for cell in cells))
    return "\n".join(lines)


def _cell(share: tuple[int, int] | None) -> str:
    return "" if share is None else f"{share[0]} of {share[1]}, {100 * share[0] / max(share[1], 1):5.1f} %"


def differences(old: Sequence[Row], new: Sequence[Row]) -> Iterator[str]:
    """Yield the cases that are won or lost, or answered in another way, by server."""
    before = {one.key: one for one in old}
    for one in sorted(new, key=lambda one: (one.server, one.case, one.run)):
        other = before.get(one.key)
        if other is not None and other != one:
            word = "same" if one.right is other.right else "won" if one.right else "LOST"
            change = f"{other.kind} {other.fault}".strip() + " -> " + f"{one.kind} {one.fault}".strip()
            wrong = (
                f", wrong edits {other.wrong_edits} -> {one.wrong_edits}"
                if one.wrong_edits or other.wrong_edits
                else ""
            )
            yield f"{word:4} {one.server}: {one.case} ({one.run}): {change}{wrong}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gates", description="Judge the product on the recorded servers.")
    parser.add_argument("--only", nargs="+", default=names(), choices=names(), metavar="NAME", help="servers")
    parser.add_argument(
        "--runs", nargs="+", default=list(RUNS), choices=list(RUNS), metavar="RUN", help=", ".join(RUNS)
    )
    parser.add_argument("--out", type=Path, help="write what came of each case")
    parser.add_argument("--compare", type=Path, help="print what differs from an older --out")
    args = parser.parse_args(arguments)
    rows = all_rows(args.only, args.runs)
    if args.out is not None:
        args.out.write_text("[\n" + ",\n".join(one.model_dump_json() for one in rows) + "\n]\n", "utf-8")
    if args.compare is not None:
        old = [Row(**one) for one in json.loads(args.compare.read_text("utf-8"))]
        print("\n".join(differences(old, rows)))
    print(table(figures(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
