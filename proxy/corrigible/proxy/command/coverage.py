"""`corrigible pack coverage`: which documented and observed errors of an API have a rule."""

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
from corrigible.proxy.access_log.terminal import counted
from corrigible.proxy.build import load_profiles, profile_of
from corrigible.proxy.core.api_profile import ApiProfile, Explanation, match_with
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.request_reader import read_request
from corrigible.proxy.pack_tools.coverage import UNREAD, Coverage, Error, Exercise, ObservedError, Row, coverage
from corrigible.proxy.pack_tools.lint import judged_cases, shown_branch
from corrigible.proxy.recording.reader import Recording, capture, decoded, read_recording
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.lookup import LookupAnswer
from corrigible.rules.violation import Violation
from corrigible.schema.command_line import several
from corrigible.schema.exchange import Exchange, Json

from . import translate
from .options import Subparsers

_SHOWN_RULES = 2


@runtime_checkable
class Documented(Protocol):
    """An API description that lists the errors of an operation."""

    @property
    def operations(self) -> Operations: ...

    def refusals(self, operation: str) -> Mapping[str, Sequence[str]]:
        """Return the documented statuses, each with the error codes in its schema."""
        ...


def add(verbs: Subparsers) -> None:
    parser = verbs.add_parser(
        "coverage",
        help="compare documented and observed errors with rules and cases",
        description="Compare the documented and observed errors of an API with the rules and cases of its pack. "
        "Frequent errors without a rule are listed first.",
    )
    parser.add_argument("pack", metavar="NAME_OR_PATH", help="a built-in pack, or a folder")
    parser.add_argument(
        "--spec", type=Path, metavar="FILE", help="OpenAPI description; default: the one included for this API"
    )
    several(
        parser,
        "--log",
        type=Path,
        metavar="FILE",
        help="observed errors: a proxy log, captures (.jsonl) or a recording (HAR, flows, capture); repeatable",
    )
    parser.add_argument(
        "--min",
        type=float,
        metavar="PERCENT",
        help="exit with status 1 if fewer of the observed errors (without --log: of the documented errors) are "
        "corrected",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument(
        "--all",
        action="store_true",
        help="include documented errors that were not observed and have no case, and entries that were reached",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    (profile,) = load_profiles([args.pack], args.spec)
    description = _description(profile, args.spec)
    seen = [error for file in args.log for error in observed(profile, file)]
    result = coverage(documented(profile, description), seen, exercises(profile), profile.index.rules)
    if args.json:
        print(json.dumps(result.document(), indent=2, ensure_ascii=False))
    else:
        for line in table(result, profile, whole=args.all):
            print(line)
    if args.min is None:
        return 0
    source, share = ("observed", result.observed) if args.log else ("documented", result.documented)
    if share.percent is not None and share.percent >= args.min:
        return 0
    print(f"coverage: {source} {share} is under {args.min:g} %", file=sys.stderr)
    return 1


def _description(profile: ApiProfile, spec: Path | None) -> Documented | None:
    if spec is not None:
        return load(spec)
    included = profile.adapter.description() if profile.adapter.description is not None else None
    return included if isinstance(included, Documented) else None


def documented(profile: ApiProfile, description: Documented | None) -> Iterator[Error]:
    """Yield the documented errors: each status of an operation, with each code in its schema."""
    if description is None:
        return
    seen_errors: set[str] = set()
    for key, operation in description.operations.templates.items():
        if operation in seen_errors:
            continue
        seen_errors.add(operation)
        method, _, template = key.partition(" ")
        for status, codes in description.refusals(operation).items():
            name = _operation(profile, method, template) or operation
            yield from (Error(name, status, code) for code in codes or ("",))


def exercises(profile: ApiProfile) -> list[Exercise]:
    """Return the cases that a rule of the pack matches and that pass, without or with the description."""
    plain = profile_of(profile.pack)
    results = [*judged_cases(plain), *(judged_cases(profile) if profile.description is not None else ())]
    passed = {result.case.place: result for result in reversed(results) if result.branches}
    return [
        Exercise(error, f"{profile.pack.name}.{result.case.rule}", result.branches)
        for result in passed.values()
        for error in _errors(profile, result.case.exchange)[:1]
    ]


def observed(profile: ApiProfile, file: Path) -> Iterator[ObservedError]:
    """Yield the errors in a file of recorded traffic. Raises AuthoringError if the file is malformed."""
    corrector = HttpCorrector(Engine([profile]))
    if file.suffix != ".jsonl":
        yield from _recorded(profile, corrector, read_recording(file))
        return
    try:
        lines = file.read_bytes().splitlines()
    except OSError as problem:
        raise AuthoringError(Place(file), f"cannot be read: {problem.strerror}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            document = orjson.loads(line)
        except orjson.JSONDecodeError as problem:
            raise AuthoringError(Place(file, number), f"not JSON: {problem.msg}") from None
        if isinstance(document, dict) and "outcome" in document and "status" in document:
            yield from _logged(profile, document)
        elif isinstance(document, dict) and "request" in document and "response" in document:
            try:
                recording = capture(document, f"{file.stem} {number}")
            except (KeyError, TypeError, ValueError, AttributeError) as problem:
                raise AuthoringError(Place(file, number), f"malformed: {type(problem).__name__}: {problem}") from None
            yield from _recorded(profile, corrector, recording)
        else:
            raise AuthoringError(Place(file, number), 'expected a line of the proxy log, or "request" and "response"')


def _logged(profile: ApiProfile, entry: Mapping[str, Json]) -> Iterator[ObservedError]:
    status, rules = entry.get("status"), tuple(map(str, entry.get("rules") or ()))
    if not isinstance(status, int) or (status < 400 and not rules):
        return
    path = str(entry.get("path") or "").partition("?")[0]
    operation = str(entry.get("operation") or "") or _operation(profile, str(entry.get("method")), path)
    is_corrected = entry.get("outcome") != "untouched"
    code = UNREAD if not is_corrected and str(entry.get("reason") or "").startswith(_OF_UNREAD) else ""
    yield ObservedError(Error(operation, str(status), code), rules, is_corrected)


_OF_UNREAD = ("no known error format", "answers of the type", "an unknown type", "the answer is ")
"""How the proxy's log says that it could not read an answer."""


def _recorded(profile: ApiProfile, corrector: HttpCorrector, recording: Recording) -> Iterator[ObservedError]:
    for recorded in recording.exchanges:
        request = read_request(
            recorded.request.method, recorded.request.target, recorded.request.headers, recorded.request_body
        )
        headers = {name.lower(): value for name, value in recorded.response.headers}
        body = decoded(recorded.response.headers, recorded.response_body)
        exchange = Exchange(request, recorded.response.status, headers, body, recorded.name, recorded.started)
        if not corrector.wants_body(recorded.request, recorded.response):
            if exchange.status >= 400:
                yield ObservedError(_kind(profile, exchange, UNREAD), (), False)
            continue
        explanation = Explanation()
        outcome = translate.corrected(corrector, recording, recorded, explanation)
        if exchange.status < 400 and outcome.rewrite is None:
            continue
        is_read = any(one.code or one.type or one.message or one.pointer for one in explanation.errors)
        is_corrected = outcome.rewrite is not None
        codes = _codes(explanation.errors) if is_read or is_corrected else [UNREAD]
        for code in codes:
            branches = frozenset(one for one in explanation.branches if one[0] in outcome.rules)
            yield ObservedError(_kind(profile, exchange, code), outcome.rules, is_corrected, branches)


def _errors(profile: ApiProfile, exchange: Exchange) -> list[Error]:
    """Return the kinds of errors in the response of a case."""
    explanation = Explanation()
    run_with_lookups_sync(Engine([profile]).decide(exchange, explanation), lambda _: LookupAnswer(0))
    return [_kind(profile, exchange, code) for code in _codes(explanation.errors)]


def _codes(errors: Sequence[Violation]) -> list[str]:
    """Return the codes of the errors of a response, or one that is empty."""
    return [code for code in dict.fromkeys(one.code for one in errors) if code] or [""]


def _kind(profile: ApiProfile, exchange: Exchange, code: str) -> Error:
    return Error(match_with(profile, exchange.request).operation, str(exchange.status), code)


def _operation(profile: ApiProfile, method: str, path: str) -> str:
    match = profile.adapter.operations.find(method.upper(), path)
    return match[0] if match is not None else ""


_HEADS = ("operation", "status", "code", "documented", "seen", "answered", "rules", "cases")


def table(result: Coverage, profile: ApiProfile, *, whole: bool) -> Iterator[str]:
    """Yield the lines of a table, then the totals."""
    visible_rows = [row for row in result.rows if whole or row.observed or row.cases]
    rows = [_HEADS, *map(_cells, visible_rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    for row in rows if visible_rows else ():
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if visible_rows:
        yield ""
    hidden = [bool(row.rules) for row in result.rows if row not in visible_rows]
    if hidden:
        able, rest = sum(hidden), len(hidden) - sum(hidden)
        without = f"{len(hidden)} documented errors without a case"
        yield f"not shown (use --all): {without}; a rule could match {able} of them, none {rest}"
    if result.documented.whole:
        yield f"documented: {result.documented} errors are corrected in a case or in observed responses"
    if result.observed.whole:
        yield f"observed: {result.observed} kinds of errors and {result.corrected} responses were corrected"
    if result.unread:
        yield f"not read: {result.unread} responses, with the code {UNREAD} above; `corrigible pack explain` shows why"
    yield f"rules: {result.rules} gave a correction in a case that passes or in an observed response"
    yield f"entries under suggest: {result.reached} gave one"
    by_id = {rule.id: rule for rule in profile.index.rules}
    for one in result.entries:
        if whole or not one.covered:
            counts = f"{counted(one.cases, 'case')}, {one.observed} observed" if one.covered else "not reached"
            yield f"  {one.rule}: {shown_branch(by_id[one.rule], one.branch)}: {counts}"


def _cells(row: Row) -> tuple[str, ...]:
    rules = ", ".join(row.rules[:_SHOWN_RULES])
    further = len(row.rules) - _SHOWN_RULES
    return (
        row.error.operation or "(no operation)",
        row.error.status,
        row.error.code or "-",
        "yes" if row.documented else "no",
        str(row.observed or "-"),
        str(row.corrected) if row.observed else "-",
        (f"{rules} and {further} more" if further > 0 else rules) or "-",
        str(row.cases or "-"),
    )
