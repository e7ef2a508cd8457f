"""`corrigible pack`: the commands for authors of rule packs."""

from __future__ import annotations

import argparse
import datetime
import getpass
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

import orjson

from corrigible.proxy.access_log.terminal import counted
from corrigible.proxy.build import build_corrector, described
from corrigible.proxy.pack_tools.export import render
from corrigible.proxy.pack_tools.lint import KINDS, PackResult, lint_pack, run_cases, sarif
from corrigible.proxy.recording.reader import read_recording
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.rule_model import editor_schemas
from corrigible.rules.pack.load import built_in, find_pack, load_pack
from corrigible.rules.pack.reference import page
from corrigible.rules.pack.scaffold import new_pack, new_rule

from . import case, coverage, translate
from .config_file import config_schema
from .options import Subparsers

_PAUSE: Final = 0.3
"""Seconds between two looks at files that are watched."""


def add(commands: Subparsers) -> None:
    parser = commands.add_parser("pack", description="Work on rule packs.")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)

    new = verbs.add_parser(
        "new",
        help="create a pack, or a rule in an existing pack",
        description="Create a pack, or a rule in an existing pack, with its cases.",
    )
    new.add_argument(
        "path", type=Path, metavar="FOLDER", help="folder of a new pack, or PACK_FOLDER/RULE for a new rule"
    )
    new.add_argument("--author", help="author of the rule; default: the user's name")
    new.set_defaults(run=_new)

    made = verbs.add_parser(
        "from-spec",
        help="create a pack from an API's description",
        description="Create a pack from an OpenAPI description: its operations, what rules may look up, the error "
        "codes that it documents, and an example rule with its cases.",
    )
    made.add_argument("file", type=Path, metavar="FILE", help="OpenAPI 3 or Swagger 2.0, JSON or YAML")
    made.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the new pack; its name is the pack's")
    made.add_argument("--author", help="author of the pack; default: the user's name")
    made.set_defaults(run=_from_spec)

    for name, text, run, of_spec in (
        ("lint", "report mistakes in packs, with file and line", _lint, "rules name its operations and members"),
        ("test", "run the cases of packs", _test, "rules may name its operations"),
    ):
        verb = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        verb.add_argument("packs", nargs="*", metavar="NAME_OR_PATH", help="default: all built-in packs")
        verb.add_argument("--watch", action="store_true", help="run again whenever a file of a pack changes")
        verb.set_defaults(run=partial(_watched, run))
        verb.add_argument("--spec", type=Path, metavar="FILE", help=f"the API's description: {of_spec}")
        if name == "lint":
            verb.add_argument(
                "--format", choices=("text", "sarif"), default="text", help="sarif: SARIF 2.1.0; default: %(default)s"
            )

    explain = verbs.add_parser(
        "explain",
        aliases=["try"],
        help="show the feedback of a pack on recorded exchanges, and why each rule matched or not",
        description="Show the feedback of a pack on recorded exchanges, and why each rule matched or not.",
    )
    explain.add_argument("pack", metavar="NAME_OR_PATH", help="a built-in pack, or a folder")
    explain.add_argument("file", type=Path, metavar="FILE", help=translate.FILE_HELP)
    translate.add_output_options(explain)
    explain.set_defaults(run=_explain)

    case.add(verbs)
    coverage.add(verbs)
    rendered = verbs.add_parser(
        "render",
        help="print packs, rules, and the answer to each case, as JSON lines",
        description="Print packs, their rules, and the answer to each case in every mode, as JSON lines.",
    )
    rendered.add_argument("packs", nargs="*", metavar="NAME_OR_PATH", help="default: all built-in packs")
    rendered.set_defaults(run=_render)

    docs = verbs.add_parser(
        "docs",
        help="print a pack's rules, or the reference of all fields and functions, as Markdown",
        description="Print a pack's rules as Markdown, or the reference of the fields and functions of all packs.",
    )
    printed = docs.add_mutually_exclusive_group(required=True)
    printed.add_argument("pack", nargs="?", metavar="NAME_OR_PATH", help="a built-in pack, or a folder")
    printed.add_argument("--reference", action="store_true", help="print all fields, and all functions")
    docs.set_defaults(run=_docs)

    schema = verbs.add_parser(
        "schema",
        help="print the JSON Schema of pack files, for editors",
        description="Print the JSON Schema of a kind of pack file, for editors.",
    )
    schema.add_argument(
        "kind",
        choices=sorted([*editor_schemas(), "config"]),
        nargs="?",
        default="rule",
        help="kind of file; config is for corrigible proxy --config; default: rule",
    )
    schema.set_defaults(run=_schema)


def _new(args: argparse.Namespace) -> int:
    path: Path = args.path
    create = new_rule if (path.parent / "pack.yaml").is_file() else new_pack
    if not path.parent.is_dir():
        raise AuthoringError(
            Place(path.parent, 0),
            f"there is no pack: a pack is a folder with pack.yaml. corrigible pack new {path.parent} makes it; then "
            f"repeat this command. (To make the pack {path.name} in a new folder, make the folder first.)",
        )
    created = create(path, author=args.author or getpass.getuser(), date=datetime.date.today().isoformat())
    for file in created:
        print(file)
    pack = path.parent if create is new_rule else path
    _next(
        f"edit {created[-2]}; corrigible pack case RECORDING --rule {created[-2].with_suffix('')}",
        f"corrigible pack lint {pack}; corrigible pack test {pack}",
        f"corrigible proxy --upstream URL --pack {_folder(pack)}",
    )
    return 0


def _next(*steps: str) -> None:
    """Tell what an author does next, where it is not read as the names of files."""
    for number, step in enumerate(steps, start=1):
        print(f"next, {number}: {step}", file=sys.stderr)


def _folder(path: Path) -> str:
    """Return a path that is not taken for the name of a built-in pack."""
    return str(path) if path.is_absolute() or len(path.parts) > 1 else f"./{path}"


def _from_spec(args: argparse.Namespace) -> int:
    from corrigible.adapters.openapi.load import load  # slow to import: only where it is asked for
    from corrigible.proxy.pack_tools.from_spec import pack_from_description

    today, author = datetime.date.today().isoformat(), args.author or getpass.getuser()
    for file in pack_from_description(args.folder, load(args.file), args.file.name, author=author, date=today):
        print(file)
    _next(
        f"read {args.folder / 'errors.md'}; corrigible spec check {args.file} shows what needs no rule",
        f"corrigible pack new {args.folder / 'RULE'}; corrigible pack case RECORDING --rule {args.folder / 'RULE'}",
        f"corrigible pack lint {args.folder}; corrigible pack test {args.folder}",
        f"corrigible proxy --upstream URL --pack {_folder(args.folder)} --spec {args.file}",
    )
    return 0


def _watched(run: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    if not args.watch:
        return run(args)
    packs = [find_pack(name) for name in args.packs] or [*built_in().values()]

    def once() -> int:
        try:
            return run(args)
        except AuthoringError as error:
            print(error, file=sys.stderr)
            return 1

    return watch(once, packs)


def _lint(args: argparse.Namespace) -> int:
    description = described(args.spec) if args.spec is not None else None
    mistakes: list[AuthoringError] = []
    notes: list[AuthoringError] = []
    for name in args.packs or built_in():
        try:
            pack, cases, wrong, unfinished = lint_pack(name, description)
        except AuthoringError as error:
            mistakes += error.all_errors()
            continue
        mistakes += wrong
        notes += unfinished
        if args.format == "text" and not wrong:
            counts = [(len(pack.rules), "rule"), (cases, "case"), (len(pack.tables), "table")]
            rest = f", {counted(len(unfinished), 'note')}" if unfinished else ""
            print(f"{pack.label}: {', '.join(counted(*count) for count in counts)}, no mistakes{rest}")
    if args.format == "sarif":
        print(sarif([*mistakes, *notes], KINDS, version("corrigible"), Path.cwd()), end="")
    for mistake in mistakes if args.format == "text" else ():
        print(mistake, file=sys.stderr)
    for note in notes if args.format == "text" and args.packs else ():
        print(f"note: {note}", file=sys.stderr)
    return 1 if mistakes else 0


def _test(args: argparse.Namespace) -> int:
    failed = unread = 0
    description = described(args.spec) if args.spec is not None else None
    for name in args.packs or built_in():
        result = run_cases(name, description)
        failed += _print(result)
        malformed = len({one.place.path for one in result.problems if one.kind == "invalid"})
        files = "file is malformed, its cases" if malformed == 1 else "files are malformed, their cases"
        rest = f"; {malformed} {files} were not run" if malformed else ""
        print(f"{name}: {result.passed} passed, {len(result.cases) - result.passed} failed{rest}")
        unread += malformed
    return 2 if unread else 1 if failed else 0


def _print(result: PackResult) -> int:
    for case_result in result.cases:
        case = case_result.case
        for failure in case_result.failures:
            print(f'{case.place}: "{case.text.name}": {failure}', file=sys.stderr)
    for problem in result.problems:
        print(problem, file=sys.stderr)
    return len(result.cases) - result.passed + len(result.problems)


def _explain(args: argparse.Namespace) -> int:
    args.explain = True
    corrector = build_corrector([args.pack], mode=args.mode, spec=args.spec)
    return translate.report(corrector, read_recording(args.file), args)


def _docs(args: argparse.Namespace) -> int:
    from corrigible.rules.pack.reference import reference  # what it lists is needed by no other command

    print(reference() if args.reference else page(load_pack(args.pack)), end="")
    return 0


def _schema(args: argparse.Namespace) -> int:
    schema = config_schema() if args.kind == "config" else editor_schemas()[args.kind]
    print(json.dumps(schema, indent=2))
    return 0


def _render(args: argparse.Namespace) -> int:
    for name in args.packs or built_in():
        for document in render(name):
            sys.stdout.write(orjson.dumps(document).decode() + "\n")
    return 0


def watch(run: Callable[[], int], folders: Sequence[Path]) -> int:
    """Run, and run again after each change below the folders, until the user interrupts. Returns the last status."""
    status = 0
    try:
        while True:
            before = _times(folders)
            status = run()
            sys.stdout.flush()  # a pipe gets it now, not when the command ends
            print(f"-- watching {len(before)} files; Ctrl-C ends", file=sys.stderr, flush=True)
            while _times(folders) == before:
                time.sleep(_PAUSE)
    except KeyboardInterrupt:
        return status


def _times(folders: Sequence[Path]) -> dict[Path, int]:
    """Return when each file was changed; a file may go while we look."""
    times = {}
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            try:
                if file.is_file():
                    times[file] = file.stat().st_mtime_ns
            except OSError:
                continue
    return times
