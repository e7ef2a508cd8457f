"""`corrigible pack new|lint|test|try|coverage|docs|render|schema`: what an author of rules needs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from corrigible.proxy.build import build_corrector
from corrigible.proxy.pack_tools.case_runner import Trial, losses_unsaid, try_pack
from corrigible.proxy.recording.reader import read_recording
from corrigible.rules.errors import AuthoringError, gather
from corrigible.rules.language.editor_schema import editor_schemas
from corrigible.rules.pack.cases import load_cases
from corrigible.rules.pack.load import built_in, load_pack, rule_files
from corrigible.rules.pack.markdown import page
from corrigible.rules.pack.scaffold import new_pack, new_rule

from . import coverage, render, translate


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("pack", help="write, check and try rule packs")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    new = verbs.add_parser("new", help="start a pack, or a rule in one (PACK/RULE)")
    new.add_argument("path", type=Path, metavar="FOLDER or FOLDER/RULE")
    new.set_defaults(run=_new)

    for name, text, run in (("lint", "find mistakes, with file and line", _lint), ("test", "run the cases", _test)):
        verb = verbs.add_parser(name, help=text)
        verb.add_argument("packs", nargs="*", metavar="NAME_OR_PATH", help="default: every built-in pack")
        verb.set_defaults(run=run)

    attempt = verbs.add_parser("try", help="say what a pack would answer to recorded exchanges, and why")
    attempt.add_argument("pack", metavar="NAME_OR_PATH")
    attempt.add_argument("file", type=Path, metavar="FILE")
    translate.options(attempt)
    attempt.set_defaults(run=_try)

    coverage.add(verbs)
    render.add(verbs)

    docs = verbs.add_parser("docs", help="print a pack's rules as Markdown")
    docs.add_argument("pack", metavar="NAME_OR_PATH")
    docs.set_defaults(run=_docs)

    schema = verbs.add_parser("schema", help="print the JSON Schema for editors")
    schema.add_argument("what", choices=sorted(editor_schemas()), nargs="?", default="rule")
    schema.set_defaults(run=_schema)


def _new(args: argparse.Namespace) -> int:
    path: Path = args.path
    made = new_rule(path) if (path.parent / "pack.yaml").is_file() else new_pack(path)
    for file in made:
        print(file)
    return 0


def _lint(args: argparse.Namespace) -> int:
    wrong = 0
    for name in args.packs or built_in():
        try:
            pack = load_pack(name)
            cases = sum(len(load_cases(file)) for file in rule_files(pack.path))
            if (unsaid := gather(list(losses_unsaid(name)))) is not None:
                raise unsaid
        except AuthoringError as error:
            wrong += len(error.each())
            print(error, file=sys.stderr)
        else:
            print(f"{pack.label}: {len(pack.rules)} rules, {cases} cases, {len(pack.tables)} tables, nothing wrong")
    return 1 if wrong else 0


def _test(args: argparse.Namespace) -> int:
    failed = 0
    for name in args.packs or built_in():
        trial = try_pack(name)
        failed += _print(trial)
        print(f"{name}: {trial.passed} passed, {len(trial.verdicts) - trial.passed} failed")
    return 1 if failed else 0


def _print(trial: Trial) -> int:
    for verdict in trial.verdicts:
        for complaint in verdict.complaints:
            print(f'{verdict.case.place}: "{verdict.case.text.name}": {complaint}', file=sys.stderr)
    for problem in trial.problems:
        print(problem, file=sys.stderr)
    return len(trial.verdicts) - trial.passed + len(trial.problems)


def _try(args: argparse.Namespace) -> int:
    args.explain = True
    corrector = build_corrector([args.pack], mode=args.mode, spec=args.spec)
    return translate.report(corrector, read_recording(args.file), args)


def _docs(args: argparse.Namespace) -> int:
    print(page(load_pack(args.pack)), end="")
    return 0


def _schema(args: argparse.Namespace) -> int:
    print(json.dumps(editor_schemas()[args.what], indent=2))
    return 0
