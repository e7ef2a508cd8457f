"""`conformance audit`: whether fixes leak outside of the feedback."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from corrigible.conformance.audit.audit import Audit, Hit, audit, document, gather
from corrigible.conformance.audit.subject import command
from corrigible.conformance.command import Subparsers, several, subcommand
from corrigible.conformance.model.outcome import usable

_SHOWN = 5


def add(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "audit",
        run,
        "find fixes that leak outside of the feedback",
        "Search for every fix of packs, look-ups and tasks in all that an agent without feedback"
        " sees: diagnoses, responses in the modes verbose and traditional, prompts, success criteria."
        " Exit status: 0 no leak, 1 a leak, 2 could not tell.",
    )
    parser.add_argument("packs", nargs="*", metavar="NAME_OR_PATH", help="rule packs; default: every built-in one")
    several(parser, "--tasks", type=Path, nargs="+", metavar="FILE", help="task files")
    parser.add_argument("--strict", action="store_true", help="count fixes in third parties' own texts as leaks, too")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="write the certificate, if there is no leak")
    parser.add_argument("--json", action="store_true", help="print all results as JSON")
    parser.add_argument("--all", action="store_true", help="list all disclosures, not only the first few")
    parser.add_argument(
        "--corrigible", metavar="COMMAND", help="the command that renders packs; default: the one installed here"
    )


def run(args: argparse.Namespace) -> int:
    """Audit, print the results, and return the exit status."""
    names: Sequence[str | None] = args.packs or [None]
    subjects = gather(names, [path for paths in args.tasks for path in paths], command(args.corrigible))
    result = audit(subjects)
    date = datetime.now(UTC).date().isoformat()
    certificate = document(result, suite=version("corrigible"), date=date)
    leaks = bool(result.leaks or (args.strict and result.disclosed))
    if args.json:
        print(json.dumps(certificate, indent=2, ensure_ascii=False))
    else:
        for line in report(result, strict=args.strict, whole=args.all):
            print(line)
    if args.certificate is not None:
        _certify(args.certificate, json.dumps(certificate, indent=2, ensure_ascii=False) + "\n", bad=leaks)
    return 1 if leaks else 0


def _certify(path: Path, text: str, *, bad: bool) -> None:
    if bad:
        print(f"no certificate: {path} is not written", file=sys.stderr)
        return
    with usable(path):
        path.write_text(text, encoding="utf-8")
    print(f"certificate: {path}", file=sys.stderr)


def report(result: Audit, *, strict: bool = False, whole: bool = False) -> Iterator[str]:
    """Yield the lines of the report: leaks, disclosures, totals."""
    for hit in result.leaks:
        yield from _hit_lines("LEAK", hit)
    disclosed = result.disclosed
    visible = disclosed if whole or strict else disclosed[:_SHOWN]
    for hit in visible:
        yield from _hit_lines("LEAK (strict)" if strict else "disclosed", hit)
    if len(visible) < len(disclosed):
        yield f"... and {len(disclosed) - len(visible)} more that are disclosed (--all lists them, --json has them)"
        yield ""
    for subject in result.subjects:
        facts = ", ".join(f"{count} {fact}" for fact, count in subject.facts.items())
        yield f"{subject.kind:8}  {subject.name}: {facts}"
    yield f"{result.texts} texts, {result.comparisons} comparisons: {_verdict(result)}"


def _verdict(result: Audit) -> str:
    leaks, disclosed = len(result.leaks), len(result.disclosed)
    verdict = "no leak" if not leaks else "1 leak" if leaks == 1 else f"{leaks} leaks"
    return f"{verdict}; {disclosed} times a third party gives the fix away itself (disclosed)" if disclosed else verdict


def _hit_lines(label: str, hit: Hit) -> Iterator[str]:
    yield f"{label}  {hit.fix.value!r} in {hit.text.channel}, {hit.how}"
    yield f"    where  {hit.text.where}"
    yield f"    text   {hit.marked}"
    yield f"    fix    known from {hit.fix.source}: {hit.fix.origin}" + (
        f", for {hit.fix.name}" if hit.fix.name else ""
    )
    yield ""
