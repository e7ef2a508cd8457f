"""Judges the product on all recorded servers, in several ways, and holds the figures to `bars.json`.

    python -m tests.strangers.gates [--only NAME ...] [--runs RUN ...] [--out FILE.json] [--compare OLD.json]

A run is one way to ask: as recorded, with the server left out of what was learned, in other words, and so on.

Knows: recorded cases, how they are said otherwise. Does not know: how the product reads.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel, ConfigDict

from corrigible.adapters.reader import scorer

from . import translated
from .case import FOLDER, OWN, Case, Figures, Stranger, fold, load, load_sentences, names, product
from .judge import Episode, Kind, is_offered, judge, kind_of, wrong_edits
from .page import PAGE, README, title, written, written_readme
from .replay import Known, forget, replay, rows_left_out
from .said_otherwise import TELLINGS, Telling, in_nonsense, names_described, told

BARS: Final = FOLDER / "bars.json"
PROCESSES: Final = 2
BASE: Final = "left out"
"""The run that all others are compared with."""
SHIPPED: Final = "as shipped"
EMPTY: Final = "with an empty description"
NOTHING: Final = "with no description"
RIGHTS: Final = "rights under 403"
LANGUAGES: Final = ("de", "fr", "es", "pt", "zh", "ja")
FOLD_WEIGHTS: Final = FOLDER / "folds.json"
"""Of each fold: the weights of places, learned without its servers."""
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
    """harm, flagged harm, asked wrong, failed with its reason, or nothing."""
    is_offered: bool = False
    confirmed: bool = False
    """What is right is only sent once the caller has said yes, although the wish is certain."""
    confidence: float | None = None
    """The least that the last feedback says."""
    wrong_edits: int = 0
    denied: bool = False
    """A sentence about rights is answered as if it were no matter of permission."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.run, self.server, self.case


def row(run: str, name: str, server: Stranger, case: Case, known: Known = "described") -> Row:
    """Replay a case and judge it. A failure of ours is the fault of this case alone."""
    about = {
        "run": run,
        "server": name,
        "case": case.name,
        "is_rpc": server.is_rpc,
        "is_repairable": case.is_repairable,
    }
    try:
        episode = replay(name, server, case, known)
    except Exception as error:
        lines = traceback.format_exception_only(error)
        return Row(**about, right=False, kind="silence", fault=f"{_FAILED}: {lines[-1].strip()}"[:300])
    verdict = judge(case, episode)
    return Row(
        **about,
        right=verdict.right,
        kind=kind_of(episode),
        fault="harm" if verdict.harm else verdict.fault,
        is_offered=is_offered(case, episode),
        confirmed=verdict.confirmed,
        confidence=_confidence(episode),
        wrong_edits=wrong_edits(case, episode),
    )


def _confidence(episode: Episode) -> float | None:
    said = [one.confidence for one in (episode.feedback[-1].suggestions if episode.feedback else ())]
    return min((one.value for one in said if one is not None and one.value is not None), default=None)


_FAILED: Final = "failed"


@contextmanager
def left_out(name: str) -> Iterator[None]:
    """Read as if a server had never been seen: with the weights of its fold, without rows that it alone needs."""
    with ExitStack() as stack:
        if FOLD_WEIGHTS.exists():
            forget()
            stack.callback(forget)
            learned = _learned_of_folds(FOLD_WEIGHTS)
            stack.enter_context(scorer.use(learned["folds"][fold(name)]))
            stack.enter_context(rows_left_out(frozenset(learned.get("rows", {}).get(product(name), ()))))
        yield


@cache
def _learned_of_folds(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def is_left_out() -> bool:
    """Whether there is anything to leave out: else the run as shipped says the same again."""
    return FOLD_WEIGHTS.exists()


def as_recorded(run: str, name: str, server: Stranger, known: Known = "described") -> Iterator[Row]:
    yield from (row(run, name, server, case, known) for case in server.cases)


def said(telling: Telling) -> Run:
    """Return a run of the cases whose refusal can be said in another way."""

    def replayed(run: str, name: str, server: Stranger) -> Iterator[Row]:
        others = (told(case, telling) for case in server.cases)
        yield from (row(run, name, server, case) for case in others if case is not None)

    return replayed


def in_no_language(run: str, name: str, server: Stranger) -> Iterator[Row]:
    telling = in_nonsense(names_described(FOLDER / name / server.description))
    yield from said(telling)(run, name, server)


def in_language(run: str, name: str, server: Stranger) -> Iterator[Row]:
    """Judge what `translated.py` has in the language that ends the name of a run."""
    cases = {case.name: case for case in server.cases}
    for one in translated.translations():
        if one.server == name:
            yield row(run, name, server, translated.told(cases[one.case], one, run[-2:]))


def about_rights(run: str, name: str, server: Stranger) -> Iterator[Row]:
    """No value makes up for a right: an edit is wrong, and so is a question for another value."""
    for one in as_recorded(run, name, server):
        denied = one.kind in ("unasked", "to confirm", "question")
        yield one.model_copy(update={"right": one.right and not denied, "denied": denied})


RUNS: Final[dict[str, Run]] = {
    BASE: as_recorded,
    SHIPPED: as_recorded,
    "words replaced by nonsense": in_no_language,
    **{name: said(telling) for name, telling in TELLINGS.items()},
    **{f"in {language}": in_language for language in LANGUAGES},
    EMPTY: partial(as_recorded, known="empty"),
    NOTHING: partial(as_recorded, known="nothing"),
}
OWN_RUNS: Final[dict[str, tuple[str, Run]]] = {
    "unseen wordings": ("unseen.yaml", as_recorded),
    RIGHTS: ("rights.yaml", about_rights),
}
"""Sentences of `own/`, which nobody was asked for while the reader was written."""


def rows_of(task: tuple[str, Sequence[str]]) -> list[Row]:
    """Return what comes of the cases of one server, in some runs."""
    name, runs = task
    if name == OWN.name:
        own = [(run, *OWN_RUNS[run]) for run in runs if run in OWN_RUNS]
        return [one for run, file, judged in own for one in judged(run, name, load_sentences(file))]
    server = load(name)
    shipped = list(RUNS[SHIPPED](SHIPPED, name, server)) if SHIPPED in runs and is_left_out() else []
    with left_out(name):
        others = [run for run in runs if run in RUNS and run != SHIPPED]
        return shipped + [one for run in others for one in RUNS[run](run, name, server)]


def all_rows(servers: Sequence[str], runs: Sequence[str]) -> list[Row]:
    """Judge in two processes, the servers with most cases first. Each server has its description read once."""
    sizes = {path.parent.name: path.stat().st_size for path in FOLDER.glob("*/cases.json")}
    tasks = sorted(servers, key=lambda name: -sizes.get(name, 0))
    os.environ.setdefault("CORRIGIBLE_TIME_LIMIT", "20")  # a busy machine is no failure
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        done = pool.imap_unordered(rows_of, [(name, runs) for name in tasks])
        return sorted((one for part in done for one in part), key=lambda one: one.key)


Shares = dict[str, tuple[int, int]]
"""By name: how many, of how many."""


def figures(rows: Sequence[Row]) -> Shares:
    """Return the figures of each kind of server."""
    found: Shares = {}
    for kind, is_rpc in (("HTTP", False), ("gRPC", True)):
        of_kind = [one for one in rows if one.is_rpc is is_rpc]
        if of_kind:
            found |= {f"{kind} {name}": share for name, share in _figures_of_kind(of_kind).items() if share[1]}
    return found


def _figures_of_kind(rows: Sequence[Row]) -> Shares:
    by_run: dict[str, dict[tuple[str, str], Row]] = {run: {} for run in (*RUNS, *OWN_RUNS)}
    for one in rows:
        by_run[one.run][one.server, one.case] = one
    base = by_run[BASE]
    found = _base_figures(list(base.values()))
    for run, cases in by_run.items():
        if run == BASE:
            continue
        if run in (*OWN_RUNS, SHIPPED, EMPTY, NOTHING):
            found[f"{run}: right"] = _share(list(cases.values()), lambda one: one.right)
        else:
            known = [one for key, one in cases.items() if key in base and base[key].right]
            found[f"{run}: stay right"] = _share(known, lambda one: one.right)
        found[f"{run}: harm"] = _share(list(cases.values()), lambda one: one.fault == "harm")
    found["failures of ours, in all runs"] = _share(rows, lambda one: one.fault.startswith(_FAILED))
    found[f"{RIGHTS}: no matter of permission"] = _share(list(by_run[RIGHTS].values()), lambda one: one.denied)
    for less, more in ((NOTHING, EMPTY), (EMPTY, BASE), (NOTHING, BASE)):
        pairs = [(one, by_run[more][key]) for key, one in by_run[less].items() if one.right and key in by_run[more]]
        name = "with the description" if more == BASE else more
        found[f"{name}, worse than {less}"] = (sum(is_worse(one, other) for one, other in pairs), len(pairs))
    return found


def is_worse(less: Row, more: Row) -> bool:
    """Whether an answer got worse as more was known: what is right stays right, or becomes a question."""
    return less.right and not more.right and not (more.kind in ("question", "to confirm") and not more.fault)


def _base_figures(rows: Sequence[Row]) -> Shares:
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
        "right, said with a confidence of 0.9": _share(
            [one for one in rows if one.confidence is not None and one.confidence >= 0.9], lambda one: one.right
        ),
        "harm": _share(rows, lambda one: one.fault == "harm"),
        "flagged harm": _share(rows, lambda one: one.fault == "flagged harm"),
        **{f"answer: {kind}": (kinds[kind], len(rows)) for kind in get_args(Kind)},
    }


def figures_of(rows: Sequence[Row]) -> Figures:
    """Return the figures of one server, left out."""
    repairable = [one for one in rows if one.is_repairable]
    others = [one for one in rows if not one.is_repairable]
    faults = Counter(one.fault for one in rows)
    return Figures(
        refusals=len(rows),
        repairable=len(repairable),
        repaired=sum(one.right for one in repairable),
        others=len(others),
        answered=sum(one.right for one in others),
        confirmed=sum(one.confirmed for one in rows),
        harm=faults["harm"],
        flagged_harm=faults["flagged harm"],
        asked_wrong=faults["asked wrong"],
    )


def pages(rows: Sequence[Row]) -> dict[Path, str]:
    """Return the pages that have figures, with those of the servers left out."""
    servers = {name: load(name) for name in names()}
    by_server: dict[str, list[Row]] = {name: [] for name in servers}
    for one in rows:
        if one.run == BASE and one.server in servers:
            by_server[one.server].append(one)
    found = {title(server): figures_of(by_server[name]) for name, server in servers.items()}
    every = list(servers.values())
    return {
        PAGE: written(PAGE.read_text("utf-8"), every, found),
        README: written_readme(README.read_text("utf-8"), every, found),
    }


def _share(rows: Sequence[Row], is_counted: Callable[[Row], bool]) -> tuple[int, int]:
    return sum(map(is_counted, rows)), len(rows)


def table(found: Shares, bars: Mapping[str, Any]) -> str:
    """Return the figures for people, HTTP beside gRPC, each with its bar; first those that have a goal."""
    goals, figures = bars["goals"], bars["figures"]
    names_of_both = dict.fromkeys(name.partition(" ")[2] for name in (*goals, *figures, *found))
    lines = [f"{'':64} {'HTTP':>21} {'bar':>8} {'gRPC':>21} {'bar':>8}   goals"]
    for name_of_both in names_of_both:
        both = [f"{kind} {name_of_both}" for kind in ("HTTP", "gRPC")]
        cells = "".join(f" {_cell(found.get(name)):>21} {_bar(figures.get(name)):>8}" for name in both)
        aims = ", ".join(f"{goals[name]:g}" for name in both if name in goals)
        if any(name in found for name in both):
            lines.append(f"{name_of_both:64}{cells}   {aims}".rstrip())
    return "\n".join(lines)


def _cell(share: tuple[int, int] | None) -> str:
    return "" if share is None else f"{share[0]} of {share[1]}, {100 * share[0] / max(share[1], 1):5.1f} %"


def _bar(bar: Mapping[str, float] | None) -> str:
    return "" if bar is None else f">= {bar['least']}" if "least" in bar else f"<= {bar['most']}"


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


def below_the_bars(found: Shares, bars: Mapping[str, Any]) -> Iterator[str]:
    """Yield each figure that is worse than its bar, and each bar that no figure has."""
    for name, bar in bars["figures"].items():
        percent = _percent(found[name]) if name in found else None
        if percent is None:
            yield f"{name}: there is a bar, and no figure"
        elif percent < bar.get("least", 0) or percent > bar.get("most", 100):
            yield f"{name}: {percent} %, and the bar is {bar}"


def raised(found: Shares, bars: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bars with what is better now than they say, and a bar for each new figure. They never sink."""
    figures = dict(bars["figures"])
    for name, bar in measured(found, bars)["figures"].items():
        ((side, value),), better = bar.items(), max if "least" in bar else min
        figures[name] = {side: better(value, figures.get(name, bar)[side])}
    return {**bars, "figures": figures}


def measured(found: Shares, bars: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bars as was measured now, lower ones, too. What must never be stays at none."""
    known = [name for name in bars["figures"] if name in found]
    named = dict.fromkeys([*known, *(name for name in found if not name.endswith(_NO_BAR))])
    sides = {name: side for name, bar in bars["figures"].items() for side in bar}
    usual = {name: "most" if _IS_BAD.search(name) else "least" for name in named}
    figures = {name: {sides.get(name, usual[name]): _percent(found[name])} for name in named}
    never = {name: {"most": 0.0} for name in named if bars["goals"].get(name) == 0}  # whatever was measured
    return {**bars, "figures": {**figures, **never}}


def lowered(found: Shares, bars: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Return the bars as was measured now, with the reason beside each that is looser."""
    written, strict = measured(found, bars), raised(found, bars)["figures"]
    reasons = {name: reason for name, bar in written["figures"].items() if bar != strict[name]}
    return {**written, "lowered": {**bars.get("lowered", {}), **reasons}}


_IS_BAD: Final = re.compile(r"harm|wrong place|silence|failures|worse|no matter")
_NO_BAR: Final = tuple(f"answer: {kind}" for kind in get_args(Kind) if kind != "silence")


def _written(bars: Mapping[str, Any]) -> str:
    parts = (
        f' "{part}": {{\n' + ",\n".join(f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in of.items()) + "\n }"
        for part, of in bars.items()
        if part != "about"
    )
    return "{\n" + ",\n".join([f' "about": {json.dumps(bars["about"])}', *parts]) + "\n}\n"


def _percent(share: tuple[int, int]) -> float:
    return round(100 * share[0] / max(share[1], 1), 2)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gates", description="Judge the product on the recorded servers.")
    servers, runs = [*names(), OWN.name], [*RUNS, *OWN_RUNS]
    parser.add_argument("--only", nargs="+", default=servers, choices=servers, metavar="NAME", help="servers")
    parser.add_argument("--runs", nargs="+", default=runs, choices=runs, metavar="RUN", help=", ".join(runs))
    parser.add_argument("--out", type=Path, help="write what came of each case")
    parser.add_argument("--compare", type=Path, help="print what differs from an older --out")
    parser.add_argument("--write", action="store_true", help="write figures of pages, and bars that are stricter now")
    parser.add_argument("--lower", metavar="REASON", help="write looser bars, too, each with the reason")
    args = parser.parse_args(arguments)
    rows = all_rows(args.only, args.runs)
    if args.out is not None:
        args.out.write_text("[\n" + ",\n".join(one.model_dump_json() for one in rows) + "\n]\n", "utf-8")
    if args.compare is not None:
        old = [Row(**one) for one in json.loads(args.compare.read_text("utf-8"))]
        lines = list(differences(old, rows))
        print("\n".join(lines))
        print(*(f"{word} {sum(line.startswith(word) for line in lines)}" for word in ("won", "LOST", "same")), sep=", ")
    found = figures(rows)
    bars = json.loads(BARS.read_text("utf-8"))
    print(table(found, bars))
    if args.only != servers or args.runs != runs:
        return 0  # the bars are of all
    if args.write or args.lower:
        bars = lowered(found, bars, args.lower) if args.lower else raised(found, bars)
        BARS.write_text(_written(bars), "utf-8")
    problems = list(below_the_bars(found, bars))
    for path, text in pages(rows).items():
        if args.write or args.lower:
            path.write_text(text, "utf-8")
        elif text != path.read_text("utf-8"):
            problems.append(f"{path.name}: the figures are others; OPTIONS=--write writes what was measured")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
