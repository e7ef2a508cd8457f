"""`corrigible pack case`: cases from recorded traffic."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from corrigible.proxy.access_log.terminal import counted
from corrigible.proxy.build import described, load_profiles, profile_of
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.pack_tools.lint import failures_of
from corrigible.proxy.pack_tools.made_case import CaseMaker, MadeCase, refusals
from corrigible.proxy.recording.reader import Recording, read_recording
from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.rule import Rule
from corrigible.rules.language.yaml_source import read_source
from corrigible.rules.pack.cases import case_file, load_cases
from corrigible.rules.pack.load import Pack, load_pack
from corrigible.rules.pack.portable import dumped
from corrigible.rules.pack.scaffold import unchanged_members
from corrigible.schema.exchange import Json

from . import translate
from .options import Subparsers, UsageError

_FOLDER: Final = "recorded"


def add(verbs: Subparsers) -> None:
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
