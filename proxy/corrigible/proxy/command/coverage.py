"""`corrigible pack coverage`: which errors of an API its pack can speak about, and which it has been seen to."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import orjson

from corrigible.adapters.openapi.load import load
from corrigible.adapters.operation import Operations
from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.engine import ApiProfile, Engine
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.request_reader import read_request
from corrigible.proxy.pack_tools.coverage import Coverage, Error, Exercise, Row, Seen, coverage
from corrigible.proxy.recording.reader import Recording, capture, decoded, read_recording
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.pack.cases import load_cases
from corrigible.rules.pack.load import rule_files
from corrigible.schema.exchange import Exchange, Json

_SHOWN_RULES = 2


@runtime_checkable
class Documented(Protocol):
    """A description that says which refusals an operation has."""

    @property
    def operations(self) -> Operations: ...

    def refusals(self, operation: str) -> Mapping[str, Sequence[str]]:
        """Return the documented statuses, each with the error codes that its schema lists."""
        ...


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "coverage", help="lay documented errors, observed errors, rules and cases over each other"
    )
    parser.add_argument("pack", metavar="NAME_OR_PATH")
    parser.add_argument("--spec", type=Path, metavar="FILE", help="OpenAPI description; default: the one that ships")
    parser.add_argument(
        "--log",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a access_log or captures (.jsonl), or a recording (HAR, flows, capture); may be repeated",
    )
    parser.add_argument(
        "--min",
        type=float,
        metavar="PERCENT",
        help="exit with 1 under this share of the observed kinds of errors (without --log: of the documented ones)",
    )
    parser.add_argument("--json", action="store_true", help="everything, for machines")
    parser.add_argument("--all", action="store_true", help="also documented errors that were not seen and have no case")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    (known,) = load_profiles([args.pack], args.spec)
    description = _description(known, args.spec)
    seen = [one for file in args.log for one in observed(known, file)]
    found = coverage(documented(known, description), seen, exercises(known), known.index.rules)
    if args.json:
        print(json.dumps(found.document(), indent=2, ensure_ascii=False))
    else:
        for line in table(found, whole=args.all):
            print(line)
    if args.min is None:
        return 0
    what, share = ("observed", found.observed) if args.log else ("documented", found.documented)
    if share.percent is not None and share.percent >= args.min:
        return 0
    print(f"coverage: {what} {share} is under {args.min:g} %", file=sys.stderr)
    return 1


def _description(known: ApiProfile, spec: Path | None) -> Documented | None:
    if spec is not None:
        return load(spec)
    shipped = known.adapter.description() if known.adapter.description is not None else None
    return shipped if isinstance(shipped, Documented) else None


def documented(known: ApiProfile, description: Documented | None) -> Iterator[Error]:
    """Yield what the description lists: a status of an operation, with each code that its schema names."""
    if description is None:
        return
    told: set[str] = set()
    for key, operation in description.operations.templates.items():
        if operation in told:
            continue
        told.add(operation)
        method, _, template = key.partition(" ")
        for status, codes in description.refusals(operation).items():
            name = _operation(known, method, template) or operation
            yield from (Error(name, status, code) for code in codes or ("",))


def exercises(known: ApiProfile) -> list[Exercise]:
    """Return the cases in which a rule of the pack speaks."""
    found = []
    for file in rule_files(known.pack.path):
        for case in load_cases(file):
            if not case.text.no_match:
                rule = f"{known.pack.name}.{case.rule}"
                found += [Exercise(error, rule) for error in _errors(known, case.exchange)[:1]]
    return found


def observed(known: ApiProfile, file: Path) -> Iterator[Seen]:
    """Yield the refusals of a file of recorded traffic. Raises AuthoringError that says what is wrong with it."""
    corrector = HttpCorrector(Engine([known]))
    if file.suffix != ".jsonl":
        yield from _recorded(known, corrector, read_recording(file))
        return
    try:
        lines = file.read_bytes().splitlines()
    except OSError as problem:
        raise AuthoringError(Place(file), f"cannot be read: {problem.strerror}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            said = orjson.loads(line)
        except orjson.JSONDecodeError as problem:
            raise AuthoringError(Place(file, number), f"not JSON: {problem.msg}") from None
        if isinstance(said, dict) and "outcome" in said and "status" in said:
            yield from _journalled(known, said)
        elif isinstance(said, dict) and "request" in said and "response" in said:
            try:
                recording = capture(said, f"{file.stem} {number}")
            except (KeyError, TypeError, ValueError, AttributeError) as problem:
                raise AuthoringError(Place(file, number), f"malformed: {type(problem).__name__}: {problem}") from None
            yield from _recorded(known, corrector, recording)
        else:
            raise AuthoringError(Place(file, number), 'expected a access_log entry, or "request" and "response"')


def _journalled(known: ApiProfile, said: Mapping[str, Json]) -> Iterator[Seen]:
    status, rules = said.get("status"), tuple(map(str, said.get("rules") or ()))
    if not isinstance(status, int) or (status < 400 and not rules):
        return
    path = str(said.get("path") or "").partition("?")[0]
    operation = str(said.get("operation") or "") or _operation(known, str(said.get("method")), path)
    yield Seen(Error(operation, str(status)), rules, said.get("outcome") != "untouched")


def _recorded(known: ApiProfile, corrector: HttpCorrector, recording: Recording) -> Iterator[Seen]:
    for one in recording.exchanges:
        if not corrector.wants_body(one.request, one.response):
            continue
        request = read_request(one.request.method, one.request.target, one.request.headers, one.request_body)
        headers = {name.lower(): value for name, value in one.response.headers}
        body = decoded(one.response.headers, one.response_body)
        exchange = Exchange(request, one.response.status, headers, body, one.name, one.started)
        outcome = run_with_lookups_sync(
            corrector.correct(
                one.request, one.request_body, one.response, one.response_body, id=one.name, started=one.started
            ),
            recording.fetch,
            corrector.limits,
        )
        if exchange.status < 400 and outcome.rewrite is None:
            continue
        for error in _errors(known, exchange):
            yield Seen(error, outcome.rules, outcome.rewrite is not None)


def _errors(known: ApiProfile, exchange: Exchange) -> list[Error]:
    """Return what kinds of errors an answer holds: one for each code it names, one where it names none."""
    operation = _operation(known, exchange.request.method, exchange.request.path)
    try:
        body = orjson.loads(exchange.body)
    except orjson.JSONDecodeError:
        body = None
    codes = [violation.code for dialect in known.adapter.formats for violation in dialect.read(exchange, body)]
    named = [code for code in dict.fromkeys(codes) if code]
    return [Error(operation, str(exchange.status), code) for code in named or [""]]


def _operation(known: ApiProfile, method: str, path: str) -> str:
    found = known.adapter.operations.find(method.upper(), path)
    return found[0] if found is not None else ""


_HEADS = ("operation", "status", "code", "documented", "seen", "answered", "rules", "cases")


def table(found: Coverage, *, whole: bool) -> Iterator[str]:
    """Yield the lines of a table for people, and what it comes to."""
    shown = [row for row in found.rows if whole or row.seen or row.cases]
    rows = [_HEADS, *map(_cells, shown)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    for row in rows if shown else ():
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if shown:
        yield ""
    left = [row.covered for row in found.rows if row not in shown]
    if left:
        yield f"not shown (--all does): {sum(left)} documented errors with a rule, {len(left) - sum(left)} without"
    if found.documented.whole:
        yield f"documented: {found.documented} errors have a rule"
    if found.observed.whole:
        yield f"observed: {found.observed} kinds and {found.answers} answers were made correctable"
    if found.idle:
        yield f"rules that no error here leads to: {', '.join(found.idle)}"


def _cells(row: Row) -> tuple[str, ...]:
    rules = ", ".join(row.rules[:_SHOWN_RULES])
    further = len(row.rules) - _SHOWN_RULES
    return (
        row.error.operation or "(no operation)",
        row.error.status,
        row.error.code or "-",
        "yes" if row.documented else "no",
        str(row.seen or "-"),
        str(row.answered) if row.seen else "-",
        (f"{rules} and {further} more" if further > 0 else rules) or "-",
        str(row.cases or "-"),
    )
