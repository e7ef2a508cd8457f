"""`corrigible pack case`: cases from recorded traffic.

`corrigible pack`: the commands for authors of rule packs.
"""

from __future__ import annotations

import argparse
import datetime
import getpass
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import orjson

from corrigible.proxy.access_log.terminal import counted
from corrigible.proxy.build import build_corrector, described, load_profiles, profile_of
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.pack_tools.export import render
from corrigible.proxy.pack_tools.lint import KINDS, PackResult, failures_of, lint_pack, run_cases, sarif
from corrigible.proxy.pack_tools.made_case import CaseMaker, MadeCase, refusals
from corrigible.proxy.recording.reader import Recording, read_recording
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.rule import Rule
from corrigible.rules.language.rule_model import editor_schemas
from corrigible.rules.language.yaml_source import read_source
from corrigible.rules.pack.cases import case_file, load_cases
from corrigible.rules.pack.load import Pack, built_in, find_pack, load_pack
from corrigible.rules.pack.portable import dumped
from corrigible.rules.pack.reference import new_pack, new_rule, page, unchanged_members
from corrigible.schema.exchange import Json

from . import coverage, translate
from .config_file import config_schema
from .options import Subparsers, UsageError

_FOLDER: Final = "recorded"


def _add_case(verbs: Subparsers) -> None:
    parser = verbs.add_parser(
        "case",
        help="make cases from recorded traffic",
        description="Make a case from each refusal of recorded traffic that a rule matches. With --pack print the "
        "cases by rule, with --rule add them to the cases of that rule. Only cases that pass `corrigible pack test` "
        "are written; the reason why one is not is printed, and the exit status is 1. Without both, print drafts for a "
        "rule that is to be written. Credentials are taken out. Names, addresses, ids and other personal data are "
        "replaced by values of the same form. Names that stand in free text only are not found: read what you publish.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help=translate.FILE_HELP)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--pack", metavar="NAME_OR_PATH", help="a built-in pack, or a folder")
    chosen.add_argument("--rule", type=Path, metavar="FOLDER/RULE", help="a rule of a pack, which gets the cases")
    parser.add_argument(
        "--no-match",
        action="store_true",
        help="with --rule: add the refusals that the rule is to leave alone, one of each kind, with no_match: true",
    )
    parser.add_argument(
        "--spec", type=Path, metavar="FILE", help="OpenAPI description, whose operations name the cases"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.no_match and args.rule is None:
        raise UsageError("--no-match needs --rule: the rule that does not match")
    recording = read_recording(args.file)
    description = described(args.spec) if args.spec is not None else None
    if args.rule is None and args.pack is None:
        (profile,) = load_profiles([], args.spec)
        maker, chosen = CaseMaker(profile, recording, args.file.name), list(refusals(profile, recording))
        return _drafted([maker.draft(one) for one in chosen]) if chosen else _nothing(args.file, recording)
    pack = load_pack(args.rule.parent if args.rule is not None else args.pack)
    rule = None if args.rule is None else _rule(pack, args.rule)
    plain, chosen = profile_of(pack), list(refusals(profile_of(pack, description), recording))
    if not chosen:
        return _nothing(args.file, recording)
    # What `pack test` knows comes first: it has a description only if it is given one.
    profiles = [plain] if description is None else [plain, profile_of(pack, description)]
    makers = [CaseMaker(profile, recording, args.file.name, profiles[-1]) for profile in profiles]
    made: list[tuple[ApiProfile, MadeCase]] = []
    for one in chosen:
        tried = [(profile, maker.make(one, rule)) for profile, maker in zip(profiles, makers, strict=True)]
        made.append(next((pair for pair in tried if pair[1].rule), tried[0]))
    wanted = [
        pair for pair in made if bool(pair[1].rule) is not args.no_match or (pair[1].problem and not pair[1].rule)
    ]
    sound = [one for profile, one in wanted if _is_sound(profile, one, rule)]
    if any(profile is not plain and one in sound for profile, one in wanted):
        print(
            f"the cases need the operations of the description: corrigible pack test --spec {args.spec}",
            file=sys.stderr,
        )
    if others := len(made) - len(wanted):
        whose = "no rule of the pack" if rule is None else rule.id
        matches = "matches" if args.no_match or rule is None else "does not match"
        advice = "" if rule is None or args.no_match else "; --no-match adds cases of what the rule is to leave alone"
        print(f"not written: {counted(others, 'refusal')} that {whose} {matches}{advice}", file=sys.stderr)
    if rule is not None and sound:
        _added(case_file(args.rule.parent / f"{rule.id.partition('.')[2]}.yaml"), sound)
    elif sound:
        _printed(plain, sound)
    return 0 if sound and len(sound) == len(wanted) else 1


def _nothing(file: Path, recording: Recording) -> int:
    print(f"{file}: no refusal in {len(recording.exchanges)} exchanges", file=sys.stderr)
    return 1


def _rule(pack: Pack, path: Path) -> Rule:
    name = path.name.removesuffix(".yaml")
    rule = next((one for one in pack.rules if one.id.partition(".")[2] == name), None)
    if rule is None:
        raise UsageError(f"--rule {path}: the pack has no rule {name}: corrigible pack new {path}")
    if unchanged_members(read_source(path.parent / f"{name}.yaml").data):
        raise UsageError(f"--rule {path}: still the template: write it first, cases show what it does")
    return rule


def _is_sound(profile: ApiProfile, made: MadeCase, rule: Rule | None) -> bool:
    """Run a case as it would be written: in a file, read from there. Say why it is not taken."""
    problems = [made.problem] if made.problem else []
    if not problems:
        with TemporaryDirectory() as folder:
            name = (rule.id if rule is not None else made.rule).partition(".")[2]
            file = case_file(Path(folder) / f"{name}.yaml")
            case = _with_body(file, made)
            file.write_text(text(case) * 2, "utf-8")  # what depends on its place in the file would fail at another one
            try:
                problems += [
                    one for read in load_cases(Path(folder) / f"{name}.yaml") for one in failures_of(profile, read)
                ]
            except AuthoringError as error:
                problems.append(error.problem)
    for problem in dict.fromkeys(problems):
        print(f"not written: {made.case['name']}: {problem}", file=sys.stderr)
    return not problems


def _drafted(made: Sequence[MadeCase]) -> int:
    """Print cases of a rule that is to be written. Nothing is claimed but that it matches."""
    for one in made:
        if one.problem:
            print(f"not written: {one.case['name']}: {one.problem}", file=sys.stderr)
    _print_all([one for one in made if not one.problem])
    return 1 if any(one.problem for one in made) else 0


def _printed(profile: ApiProfile, made: Sequence[MadeCase]) -> None:
    """Print the cases by rule."""
    by_rule: dict[str, list[MadeCase]] = {}
    for one in made:
        by_rule.setdefault(one.rule.partition(".")[2], []).append(one)
    for rule, cases in by_rule.items():
        print(f"# {profile.pack.path.name}/{rule}.cases.yaml")
        _print_all(cases)


def _print_all(made: Sequence[MadeCase]) -> None:
    names: set[str] = set()
    for one in {text(one.case): one for one in made}.values():
        case = _named_apart(one.case, names)
        if one.body is not None:
            print(f"{case['name']}: the answer is no JSON: --rule writes it to a file", file=sys.stderr)
        print(text(case), end="")


def _named_apart(case: dict[str, Json], names: set[str]) -> dict[str, Json]:
    """Return the case under a name that none of `names` is, and add that to them."""
    number, name = 1, case["name"]
    while name in names:
        number += 1
        name = f"{case['name']} ({number})"
    names.add(name)
    return {**case, "name": name}


def _kind(case: Mapping[str, Json]) -> tuple[str, str]:
    """Return what is equal for refusals that show the same: the name without its number, and the body of the answer."""
    response = case.get("response") or {}
    body = (response.get("body"), response.get("body_file")) if isinstance(response, dict) else response
    return re.sub(r" \(\d+\)$", "", str(case.get("name"))), json.dumps(body, sort_keys=True, default=str)


def _added(file: Path, made: Sequence[MadeCase]) -> None:
    """Add the cases that a file does not have yet."""
    before = file.read_text("utf-8") if file.exists() else ""
    known = [one for one in (read_source(file).data or []) if isinstance(one, dict)] if before else []
    exchanges = [(one.get("request"), one.get("response")) for one in known]
    unmatched = {_kind(one) for one in known if one.get("no_match")}
    names = {str(one.get("name")) for one in known}
    added: list[str] = []
    for one in made:
        case = _with_body(file, one)
        if case.get("no_match") and _kind(case) in unmatched:
            continue  # one of each kind shows that the rule leaves it alone
        exchange = (case["request"], case["response"])
        if exchange not in exchanges:
            exchanges.append(exchange)
            if case.get("no_match"):
                unmatched.add(_kind(case))
            added.append(text(_named_apart(case, names)))
    if added:
        end = "" if not before or before.endswith("\n") else "\n"
        file.write_text(before + end + "".join(added), "utf-8")
    there = len(made) - len(added)
    print(f"{file}: {counted(len(added), 'case')} added, {there} {'was' if there == 1 else 'were'} there")


def _with_body(file: Path, one: MadeCase) -> dict[str, Json]:
    """Return a case for a file, with the answer beside it where that is no JSON."""
    if one.body is None:
        return one.case
    return {**one.case, "response": {**one.case["response"], "body_file": _body_file(file, one)}}


def _body_file(file: Path, one: MadeCase) -> str:
    """Write the body of an answer beside the cases; return its name as they have it."""
    slug = re.sub("[^a-z0-9]+", "-", str(one.case["name"]).lower()).strip("-")[:60]
    folder = file.parent / _FOLDER
    folder.mkdir(exist_ok=True)
    number = 1
    while (path := folder / f"{slug}{'' if number == 1 else f'-{number}'}.txt").exists():
        if path.read_bytes() == one.body:
            break
        number += 1
    path.write_bytes(one.body or b"")
    return f"{_FOLDER}/{path.name}"


def text(case: Json) -> str:
    """Return a case as YAML, as an element of a list."""
    return dumped([case])


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

    _add_case(verbs)
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
        choices=["cases", "config", "pack", "rule"],  # to make the schemas takes a fifth of a second
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
            if pack.wordings is not None:
                counts.append((len(pack.wordings.compiled), "wording"))
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
