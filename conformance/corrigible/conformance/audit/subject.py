"""The audited subjects: the known fixes, and the texts that must not contain them.

Knows: the shape of feedback, of answers, and of `corrigible pack render`. Does not know: how anything is searched.

Task files: the texts that an agent gets before it starts, and the answers that the author knows.

A file is YAML or JSON: `{tasks: [...]}` or a list. Of a task, and of the file as a whole, this is read:

  prompt, about, description, goal, instructions, hints,
  success, success_criteria, success_criterion   what an agent sees: texts, or lists and maps of them
  name, title    so is the name, where one of those is there; `shown: [members]` says otherwise
  request        what the agent sends, or is given to send: nothing that it holds is an answer
  domain         of the whole file: its tasks are `conformance lift`'s, and this is its pack's name. An agent sees
                 `about` and `prompt`, never `success`; `facts` are what a prompt states since no answer could tell it
  final, fixes, names    answers: the last request, values, texts that only the feedback may name
  paraphrases    other words that give an answer away
  pack, api      whose fixes to look for; default: those of the pack with the domain's or folder's name, else of all;
                 of a domain without a pack there are none but its `paraphrases`

`{name}` in a value stands for something that is only known when a task runs, and is not searched for.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

import jsonpointer
import yaml

from corrigible.conformance.model.outcome import UsageError, usable
from corrigible.conformance.model.yaml_file import load_yaml
from corrigible.conformance.transport.process import completed
from corrigible.schema.document import Leaf, leaves, pointer_parts
from corrigible.schema.exchange import Json

from .text import Fix, KnownValues, Scalar, Text, as_number, distinct, plain, scalars

_ENDS = frozenset({"ESCALATE", "NO_RECOVERY_AVAILABLE"})
"""Actions whose parameters describe the problem and not the next request."""
_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Texts, and the fixes that none of them may contain."""

    texts: tuple[Text, ...]
    fixes: tuple[Fix, ...]


@dataclass(slots=True)
class AuditSubject:
    """One audited thing, as the certificate lists it."""

    kind: str
    name: str
    digest: str
    scopes: list[SearchScope] = field(default_factory=list)
    facts: dict[str, Json] = field(default_factory=dict)
    pool: tuple[Fix, ...] = ()
    """All its fixes; the prompts of tasks are searched for them."""
    tasks: Path | None = None
    """The tasks that ship with a pack."""


def fixes_of(feedback: Mapping[str, Json], request: Mapping[str, Json], source: str, origin: str) -> Iterator[Fix]:
    """Yield the values and names that feedback adds to a request."""
    known_values = KnownValues(request)
    for suggestion in feedback.get("suggestions") or ():
        if not isinstance(suggestion, Mapping):
            continue
        if {suggestion.get("action"), suggestion.get("base_action")} & _ENDS:
            continue
        # Where an action of a pack has a patch, its parameters say what the patch does.
        described_by_patch = suggestion.get("base_action") and suggestion.get("patch")
        parameters = {} if described_by_patch else suggestion.get("parameters") or {}
        beside = frozenset(
            plain(word).removesuffix("s")
            for _, parameter in scalars(suggestion.get("parameters"))
            for word in str(parameter).split()
            if word.isalpha()
        )
        for name, value in scalars(parameters):
            words = frozenset({plain(name).removesuffix("s"), *beside})
            yield Fix(value, source, origin, name, words)
        patch = suggestion.get("patch") or ()
        freed = {str(value) for edit in patch if edit.get("op") == "remove" for value in _there(request, edit["path"])}
        for edit in patch:
            renames = edit.get("op") in ("move", "copy") or str(edit.get("value")) in freed
            yield from _edited(edit, source, origin, known_values, beside, renames=renames)
        yield from _ratios(suggestion.get("patch") or (), source, origin)
        for step in suggestion.get("steps") or ():
            yield from (Fix(value, source, origin, name) for name, value in scalars(step))
        for placeholder in suggestion.get("placeholders") or ():
            choices = (placeholder.get("schema") or {}).get("enum") or ()
            name = str(placeholder.get("pointer", "")).rpartition("/")[2]
            yield from (Fix(value, source, origin, name) for _, value in scalars(list(choices)))
    retry = feedback.get("retry")
    if isinstance(retry, Mapping) and retry.get("after_seconds"):
        words = frozenset({"second", "sec", "s"})
        yield Fix(retry["after_seconds"], source, origin, "after_seconds", words)


def _there(document: Json, pointer: str) -> Iterator[Json]:
    """Yield the value at a pointer, if there is one."""
    with suppress(jsonpointer.JsonPointerException):
        yield jsonpointer.resolve_pointer(document, pointer)


def _edited(
    edit: Mapping[str, Json],
    source: str,
    origin: str,
    known_values: KnownValues,
    beside: frozenset[str],
    *,
    renames: bool,
) -> Iterator[Fix]:
    """Yield the values that an edit inserts. A member's name is a fix only if the edit renames the member.

    Otherwise the name says where something is missing, which a diagnosis may say.
    """
    if edit.get("op") == "test":
        return
    pointer = str(edit.get("path", ""))
    last = (pointer_parts(pointer) or ("",))[-1]
    if renames and last != "-" and not last.isdecimal() and last not in known_values:
        yield Fix(last, source, origin)
    value = edit.get("value")
    words = frozenset({plain(last).removesuffix("s"), *beside})
    for name, inner in scalars(value, last):
        yield Fix(inner, source, origin, name, words)
    if pointer == "/path" and isinstance(value, str):
        yield from (Fix(part, source, origin, "path") for part in value.split("/") if part and part not in known_values)


def _ratios(patch: Sequence[Mapping[str, Json]], source: str, origin: str) -> Iterator[Fix]:
    """Yield the factor by which a number changes: it gives the new number away."""
    before = {edit.get("path"): edit.get("value") for edit in patch if edit.get("op") == "test"}
    for edit in patch:
        old, new = before.get(edit.get("path")), edit.get("value")
        if edit.get("op") != "replace" or isinstance(old, bool) or isinstance(new, bool):
            continue
        if isinstance(old, int | float) and isinstance(new, int | float) and old:
            ratio = new / old
            if ratio * 4 != int(ratio * 4):  # halves and quarters occur everywhere
                yield Fix(round(ratio, 9), "ratio", origin)


def _leaves(document: Json) -> Iterator[Leaf]:
    """Yield every text and number of a document."""
    return (
        leaf
        for leaf in leaves(document)
        if isinstance(leaf.value, str | int | float) and not isinstance(leaf.value, bool)
    )


def answer_texts(
    response: Mapping[str, Json],
    native: Json,
    *,
    channel: str,
    owner: str,
    place: str,
    rule: str,
    known_values: KnownValues,
) -> Iterator[Text]:
    """Yield the texts of one response. Ours are `validation_errors` and what the native response lacks."""
    native_values = set(_leaves(native))
    body = parsed(str(response.get("body") or ""))
    if body is None:
        yield Text(str(response.get("body") or ""), channel, owner, place, rule, known_values)
    native_texts = {str(value) for _, value in native_values}
    for pointer, value in _leaves(body):
        if pointer.startswith("/recovery_feedback"):
            continue
        is_ours = pointer.startswith("/validation_errors/") or (pointer, value) not in native_values
        if pointer.startswith("/validation_errors/") and pointer.endswith("/pointer"):
            # A place is no fix. The name of a member that is missing would be one, if the answer did not have it.
            is_ours = str(value).rpartition("/")[2] not in native_texts
        text_owner = "ours" if is_ours else owner
        yield Text(str(value), channel, text_owner, f"{place} {pointer}", rule, known_values, whole=True)
    for name, value in response.get("headers") or ():
        for part in str(value).split(",") if str(name).lower() in _LISTS else [str(value)]:
            yield Text(part.strip(), f"{channel} header", "upstream", f"{place} {name}", rule, known_values, whole=True)


_LISTS = frozenset({"allow", "accept", "accept-patch", "accept-post", "x-accepted-oauth-scopes", "x-oauth-scopes"})


def parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


# Packs, as `corrigible pack render` prints them.


def command(command_line: str | None = None) -> list[str]:
    """Return the command line of `corrigible`. Raises UsageError if it is not installed."""
    if command_line:
        return command_line.split()
    sibling = Path(sys.executable).with_name("corrigible")
    path = str(sibling) if sibling.exists() else shutil.which("corrigible")
    if path is None:
        raise UsageError("there is no `corrigible` command here: install it, or name it with --corrigible")
    return [path]


def rendered(pack: str | None, corrigible: Sequence[str]) -> list[dict[str, Json]]:
    """Return what `pack render` prints of one pack, or of all that ship. Raises UsageError with its complaint."""
    command_line = [*corrigible, "pack", "render", *([pack] if pack is not None else [])]
    try:
        ran = completed(command_line, _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise UsageError(f"{' '.join(command_line)}: {problem}") from None
    if ran.returncode != 0:
        raise UsageError(ran.stderr.strip() or f"{' '.join(command_line)}: exit {ran.returncode}")
    return [json.loads(line) for line in ran.stdout.splitlines() if line.strip()]


def packs(documents: Sequence[dict[str, Json]]) -> list[AuditSubject]:
    """Return each pack that was rendered, ready to be searched."""
    documents_by_pack: list[list[dict[str, Json]]] = []
    for document in documents:
        if document["kind"] == "pack":
            documents_by_pack.append([])
        documents_by_pack[-1].append(document)
    return [_pack(pack_documents[0], pack_documents[1:]) for pack_documents in documents_by_pack]


def _pack(pack: Mapping[str, Json], rest: Sequence[dict[str, Json]]) -> AuditSubject:
    rules = [document for document in rest if document["kind"] == "rule"]
    cases = [document for document in rest if document["kind"] == "case"]
    beside = str(Path(pack["path"]).parent) + "/"
    for document in (*rules, *cases):  # named from the pack's folder on: a certificate is read elsewhere
        document.update({key: document[key].removeprefix(beside) for key in ("file", "place") if key in document})
    fixes_by_place = {case["place"]: tuple(_of_case(case)) for case in cases}
    ordinary = KnownValues(*(case["request"] for case in cases))
    columns = _columns(
        pack["tables"], {plain(str(fix.value)) for fixes in fixes_by_place.values() for fix in fixes}, ordinary
    )
    phrases = tuple(
        Fix(phrase, "paraphrase", f"{pack['pack']}: {value}")
        for value, several in pack["paraphrases"].items()
        for phrase in several
    )
    subject = AuditSubject("pack", f"{pack['pack']} {pack['version']}", digest(Path(pack["path"])))
    subject.tasks = Path(pack["tasks"]) if pack.get("tasks") else None
    pool: list[Fix] = list(phrases)
    for rule in rules:
        name = rule["rule"]
        own = [Fix(value, source, name) for source in ("literal", "let") for value in rule[f"{source}s"]]
        tables = [
            fix
            for table, fixes in columns.items()
            if rule["tables"] is None or table in rule["tables"]
            for fix in fixes
        ]
        own_cases = [case for case in cases if name in case["spoke"]]
        known_fixes = [fix for case in own_cases for fix in (*fixes_by_place[case["place"]], *_looked_up(case))]
        texts = (Text(rule["diagnosis"], "diagnosis", "ours", rule["file"], name),)
        subject.scopes.append(SearchScope(texts, distinct([*known_fixes, *own, *tables, *phrases])))
        code = Text(rule["code"], "code", "ours", rule["file"], name)
        subject.scopes.append(SearchScope((code,), distinct(known_fixes)))
        pool += own
    for case in cases:
        subject.scopes.extend(_case(case, fixes_by_place[case["place"]], phrases))
    pool += [fix for fixes in columns.values() for fix in fixes]
    pool += [fix for fixes in fixes_by_place.values() for fix in fixes if fix.value not in ordinary]
    subject.pool = distinct(pool)
    subject.facts = {"rules": len(rules), "cases": len(cases), "fixes": len(subject.pool)}
    return subject


def _of_case(case: Mapping[str, Json]) -> Iterator[Fix]:
    """Yield the fixes of a case's feedback that its request does not hold."""
    if case["feedback"] is None:
        return
    known_values = KnownValues(case["request"])
    origin = ", ".join(case["spoke"])
    native = KnownValues(parsed(case["answers"]["none"]["body"]), case["answers"]["none"]["headers"])
    for fix in fixes_of(case["feedback"], case["request"], "feedback", origin):
        mirrored = fix.name == "after_seconds" and fix.value in native  # a Retry-After that is only passed on
        if fix.value not in known_values and not mirrored:
            yield fix


def _looked_up(case: Mapping[str, Json]) -> Iterator[Fix]:
    known_values = KnownValues(case["request"])
    for lookup, response in case["lookups"].items():
        for name, value in scalars(response):
            if value not in known_values:
                yield Fix(value, "look-up", f"{case['rule']}: {lookup}", name)


def _case(case: Mapping[str, Json], fixes: tuple[Fix, ...], phrases: tuple[Fix, ...]) -> Iterator[SearchScope]:
    known_values = KnownValues(case["request"])
    native = parsed(case["answers"]["none"]["body"])
    is_grpc = case["transport"] == "grpc"
    returned_values = tuple(_returned_values(case))
    texts: list[Text] = []
    for mode in ("traditional", "verbose"):
        # Over gRPC there is neither: the native status is all that there is in both.
        owner = "ours" if mode == "traditional" and not is_grpc else "upstream"
        texts += answer_texts(
            case["answers"][mode],
            native,
            channel=f"{'gRPC status, ' if is_grpc else ''}{mode}",
            owner=owner,
            place=f'{case["place"]} "{case["case"]}"',
            rule=", ".join(case["spoke"]) or case["rule"],
            known_values=known_values,
        )
    yield SearchScope(tuple(texts), distinct([*fixes, *returned_values]))
    own_texts = tuple(text for text in texts if text.owner == "ours" and text.channel == "verbose")
    yield SearchScope(own_texts, distinct([*phrases, *_looked_up(case)]))


def _returned_values(case: Mapping[str, Json]) -> Iterator[Fix]:
    """Yield the fixes that the request holds elsewhere: they leak only as the value of their own member."""
    if case["feedback"] is not None:
        known_values = KnownValues(case["request"])
        origin = ", ".join(case["spoke"])
        for fix in fixes_of(case["feedback"], case["request"], "feedback", origin):
            if fix.value in known_values and fix.name and not _unchanged(case["request"], fix):
                yield fix


def _unchanged(request: Json, fix: Fix) -> bool:
    return any(name == fix.name and str(value) == str(fix.value) for name, value in scalars(request))


def _columns(tables: Mapping[str, Json], fixes: set[str], ordinary: KnownValues) -> dict[str, list[Fix]]:
    """Return the columns of each table that hold fixes: their values occur in feedback more often than in requests."""
    out: dict[str, list[Fix]] = {}
    for table, data in tables.items():
        by_column: dict[str, list[Scalar]] = {}
        for column, value in _cells(data, ""):
            by_column.setdefault(column, []).append(value)
        out[table] = [
            Fix(value, "table", f"{table}{column}", column.rpartition("/")[2].strip("*"))
            for column, values in by_column.items()
            if sum(plain(str(value)) in fixes for value in values) > sum(value in ordinary for value in values)
            for value in values
        ]
    return out


_ROWS = 4


def _cells(data: Json, column: str) -> Iterator[tuple[str, Scalar]]:
    match data:
        case Mapping():
            # A map of alike values has rows; a record has columns.
            rows = len(data) >= _ROWS and len({type(inner) for inner in data.values()}) == 1
            for name, inner in data.items():
                yield from _cells(inner, f"{column}/{'*' if rows else name}")
        case list():
            for inner in data:
                yield from _cells(inner, f"{column}/*")
        case bool() | None:
            return
        case str() | int() | float():
            yield column, data


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of a folder: of the names and contents of all files in it."""
    total = sha256()
    if path.is_file():
        total.update(path.read_bytes())
    for file in sorted(path.rglob("*")) if path.is_dir() else ():
        if file.is_file() and "__pycache__" not in file.parts:
            total.update(f"{file.relative_to(path).as_posix()}\0".encode() + sha256(file.read_bytes()).digest())
    return total.hexdigest()


TOLD: Final = (
    *("prompt", "about", "description", "goal", "instructions", "hints"),
    *("success", "success_criteria", "success_criterion"),
)
NAMES: Final = ("name", "title")
_LIFT: Final = ("about", "prompt")
_SAVED = re.compile(r"\{[\w.]+\}")


def task_file(path: Path, packs: Sequence[AuditSubject]) -> AuditSubject:
    """Read a file of tasks. Raises UsageError where it is none."""
    try:
        with usable(path):
            document = load_yaml(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as problem:
        raise UsageError(f"{path}: no YAML: {problem}") from None
    file_members = document if isinstance(document, Mapping) else {}
    tasks = file_members.get("tasks") if isinstance(document, Mapping) else document
    if not isinstance(tasks, list) or not all(isinstance(task, Mapping) for task in tasks):
        raise UsageError(f"{path}: no tasks: expected a list of maps, or one under `tasks`")
    subject = AuditSubject("tasks", f"{path.absolute().parent.name}/{path.name}", digest(path))
    pool = _pool(file_members, path, packs)
    visible = 0
    for number, task in enumerate(tasks):
        name = str(task.get("id") or task.get("name") or number)
        known_values = KnownValues(
            task.get("request"), file_members.get("headers"), task.get("facts") if "domain" in file_members else None
        )
        texts = tuple(_texts_of_task(file_members, task, f"{subject.name} {name}", known_values))
        visible += bool(texts)
        own_fixes = (
            *_answers(file_members, subject.name, KnownValues()),
            *_answers(task, f"{subject.name} {name}", known_values),
        )
        # Of numbers that some case of a pack needed only those that its rules and tables hold are answers elsewhere.
        subject.scopes.append(SearchScope(texts, distinct([*own_fixes, *pool])))
    subject.facts = {"tasks": len(tasks), "with a text that an agent sees": visible}
    return subject


def _pool(whole: Mapping[str, Json], path: Path, packs: Sequence[AuditSubject]) -> tuple[Fix, ...]:
    api = str(whole.get("pack") or whole.get("api") or whole.get("domain") or path.absolute().parent.name)
    candidates = [pack for pack in packs if pack.name.partition(" ")[0] == api]
    if not candidates and "domain" not in whole:  # of a domain without a pack nothing is known but its paraphrases
        candidates = list(packs)
    return tuple(
        fix
        for pack in candidates
        for fix in pack.pool
        if fix.source not in ("feedback", "ratio") or as_number(fix.value) is None
    )


def _texts_of_task(
    whole: Mapping[str, Json], task: Mapping[str, Json], place: str, known_values: KnownValues
) -> Iterator[Text]:
    members = task.get("shown") or whole.get("shown") or (list(_LIFT) if "domain" in whole else None)
    visible = tuple(map(str, members)) if isinstance(members, list) else TOLD
    if not isinstance(members, list) and any(member in task for member in TOLD):
        visible = (*NAMES, *TOLD)
    for source in (whole, task):
        for member in visible:
            if source is whole and (member in NAMES or member == "description"):
                continue  # of the file, for its readers
            for pointer, value in _leaves(source.get(member)):
                yield Text(str(value), _channel(member), "ours", f"{place} /{member}{pointer}", "", known_values)


def _channel(member: str) -> str:
    return "success criteria" if member.startswith("success") else "prompt"


def _answers(task: Mapping[str, Json], place: str, known_values: KnownValues) -> Iterator[Fix]:
    for member in ("final", "fixes", "names"):
        for name, value in scalars(task.get(member), "" if member != "final" else member):
            plain = _SAVED.sub("", str(value)).strip()
            if plain and plain == str(value) and value not in known_values:
                yield Fix(value, "task", place, name, frozenset({name.lower().removesuffix("s")}))
    for _, phrase in scalars(task.get("paraphrases")):
        yield Fix(phrase, "paraphrase", place)
