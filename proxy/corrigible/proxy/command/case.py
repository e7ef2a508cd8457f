"""`corrigible pack case`: cases from recorded traffic."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from corrigible.proxy.access_log.terminal import counted
from corrigible.proxy.build import described, load_profiles, profile_of
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.pack_tools.made_case import MadeCase, make_case, refusals
from corrigible.proxy.recording.reader import read_recording
from corrigible.rules.language.rule import Rule
from corrigible.rules.language.yaml_source import read_source
from corrigible.rules.pack.cases import case_file
from corrigible.rules.pack.load import load_pack
from corrigible.rules.pack.portable import dumped
from corrigible.rules.pack.scaffold import unchanged_members
from corrigible.schema.exchange import Json

from . import translate
from .usage_error import UsageError

_NO_RULE: Final = "no rule of the pack matches"
_FOLDER: Final = "recorded"


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "case",
        help="make cases from recorded traffic",
        description="Make a case from each refusal of recorded traffic, and print them as YAML: with --pack by the "
        "rule that matches, with what it suggests. With --rule, add them to the cases of that rule. Credentials, and "
        "values that are or look secret, are taken out; personal data is not.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help=translate.FILE_HELP)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--pack", metavar="NAME_OR_PATH", help="a built-in pack, or a folder")
    chosen.add_argument("--rule", type=Path, metavar="FOLDER/RULE", help="a rule of a pack, which gets the cases")
    parser.add_argument("--spec", type=Path, metavar="FILE", help="OpenAPI description of the API")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    recording = read_recording(args.file)
    rule: Rule | None = None
    description = described(args.spec) if args.spec is not None else None
    if args.rule is not None:
        pack = load_pack(args.rule.parent)
        name = args.rule.name.removesuffix(".yaml")
        rule = next((one for one in pack.rules if one.id.partition(".")[2] == name), None)
        if rule is None:
            raise UsageError(f"--rule {args.rule}: the pack has no rule {name}: corrigible pack new {args.rule}")
        if unchanged_members(read_source(args.rule.parent / f"{name}.yaml").data):
            raise UsageError(f"--rule {args.rule}: still the template: write it first, cases show what it does")
        profile = profile_of(pack, description)
    else:
        (profile,) = load_profiles([args.pack] if args.pack else [], args.spec)
    made = [make_case(profile, one, recording, args.file.name, rule) for one in refusals(profile, recording)]
    if not made:
        print(f"{args.file}: no refusal in {len(recording.exchanges)} exchanges", file=sys.stderr)
        return 1
    for one in made:
        for lookup in one.missing:
            print(f'{one.case["name"]}: the recording has no answer to "{lookup}": add it to lookups', file=sys.stderr)
    if rule is not None:
        return _added(case_file(args.rule.parent / f"{rule.id.partition('.')[2]}.yaml"), made)
    _printed(profile, made, judged=args.pack is not None)
    return 0


def _printed(profile: ApiProfile, made: Sequence[MadeCase], *, judged: bool) -> None:
    """Print the cases by rule. Without a pack nothing is claimed but that the rule to be written matches."""
    by_rule: dict[str, list[MadeCase]] = {}
    for one in made:
        rule = (one.rules[0].partition(".")[2] if one.rules else _NO_RULE) if judged else ""
        by_rule.setdefault(rule, []).append(one)
    for rule, cases in by_rule.items():
        if rule:
            print(f"# {rule}" if rule == _NO_RULE else f"# {profile.pack.path.name}/{rule}.cases.yaml")
        distinct = {text(_claimed(one, judged=judged)): one for one in cases}
        names: set[str] = set()
        for one in distinct.values():
            case = _named_apart(_claimed(one, judged=judged), names)
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


def _claimed(one: MadeCase, *, judged: bool) -> dict[str, Json]:
    if judged:
        return one.case
    plain = {name: value for name, value in one.case.items() if name not in ("expect", "after", "no_match", "lookups")}
    return {**plain, "expect": {}}


def _added(file: Path, made: Sequence[MadeCase]) -> int:
    """Add the cases that a file does not have yet."""
    before = file.read_text("utf-8") if file.exists() else ""
    known = [one for one in (read_source(file).data or []) if isinstance(one, dict)] if before else []
    exchanges = [(one.get("request"), one.get("response")) for one in known]
    unmatched = {_kind(one) for one in known if one.get("no_match")}
    names = {str(one.get("name")) for one in known}
    added: list[str] = []
    for one in made:
        if one.body is not None:
            one.case["response"]["body_file"] = _body_file(file, one)
        if one.case.get("no_match") and _kind(one.case) in unmatched:
            continue  # one of each kind shows that the rule leaves it alone
        exchange = (one.case["request"], one.case["response"])
        if exchange not in exchanges:
            exchanges.append(exchange)
            if one.case.get("no_match"):
                unmatched.add(_kind(one.case))
            added.append(text(_named_apart(one.case, names)))
    if added:
        end = "" if not before or before.endswith("\n") else "\n"
        file.write_text(before + end + "".join(added), "utf-8")
    there = len(made) - len(added)
    print(f"{file}: {counted(len(added), 'case')} added, {there} {'was' if there == 1 else 'were'} there")
    return 0


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
