"""What is audited: the fixes that are known, and the texts in which they must not stand.

Knows: the shape of feedback, of answers, and of `corrigible pack render`. Does not know: how anything is searched.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import jsonpointer

from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.exchange import Json

from .text import Text
from .value import Fix, Held, Scalar, distinct, plain, scalars

_ENDS = frozenset({"ESCALATE", "NO_RECOVERY_AVAILABLE"})
"""Their parameters say what is missing, not what to send."""
_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Matter:
    """A few texts, and the fixes that none of them may hold."""

    texts: tuple[Text, ...]
    fixes: tuple[Fix, ...]


@dataclass(slots=True)
class Subject:
    """One thing that is audited, as the certificate names it."""

    kind: str
    name: str
    digest: str
    matters: list[Matter] = field(default_factory=list)
    facts: dict[str, Json] = field(default_factory=dict)
    pool: tuple[Fix, ...] = ()
    """Every fix that it knows: what prompts are searched for."""
    tasks: Path | None = None
    """The tasks that ship with a pack."""


def fixes_of(feedback: Mapping[str, Json], request: Mapping[str, Json], source: str, origin: str) -> Iterator[Fix]:
    """Yield the values and names that feedback adds to a request."""
    held = Held(request)
    for suggestion in feedback.get("suggestions") or ():
        if not isinstance(suggestion, Mapping):
            continue
        if {suggestion.get("action"), suggestion.get("base_action")} & _ENDS:
            continue
        # Where an action of a pack has a patch, its parameters say what the patch does.
        told = suggestion.get("base_action") and suggestion.get("patch")
        given = {} if told else suggestion.get("parameters") or {}
        beside = frozenset(
            plain(word).removesuffix("s")
            for _, said in scalars(suggestion.get("parameters"))
            for word in str(said).split()
            if word.isalpha()
        )
        for name, value in scalars(given):
            words = frozenset({plain(name).removesuffix("s"), *beside})
            yield Fix(value, source, origin, name, words)
        patch = suggestion.get("patch") or ()
        freed = {str(value) for edit in patch if edit.get("op") == "remove" for value in _there(request, edit["path"])}
        for edit in patch:
            renames = edit.get("op") in ("move", "copy") or str(edit.get("value")) in freed
            yield from _edited(edit, source, origin, held, beside, renames=renames)
        yield from _ratios(suggestion.get("patch") or (), source, origin)
        for step in suggestion.get("steps") or ():
            yield from (Fix(value, source, origin, name) for name, value in scalars(step))
        for asked in suggestion.get("placeholders") or ():
            choices = (asked.get("schema") or {}).get("enum") or ()
            name = str(asked.get("pointer", "")).rpartition("/")[2]
            yield from (Fix(value, source, origin, name) for _, value in scalars(list(choices)))
    retry = feedback.get("retry")
    if isinstance(retry, Mapping) and retry.get("after_seconds"):
        words = frozenset({"second", "sec", "s"})
        yield Fix(retry["after_seconds"], source, origin, "after_seconds", words)


def _there(document: Json, pointer: str) -> Iterator[Json]:
    """Yield what stands at a pointer, if anything does."""
    with suppress(jsonpointer.JsonPointerException):
        yield jsonpointer.resolve_pointer(document, pointer)


def _edited(
    edit: Mapping[str, Json], source: str, origin: str, held: Held, beside: frozenset[str], *, renames: bool
) -> Iterator[Fix]:
    """Yield what an edit puts in. The name of a member is a fix where the member is only renamed.

    (Otherwise it says where something is missing, as a diagnosis may.)
    """
    if edit.get("op") == "test":
        return
    pointer = str(edit.get("path", ""))
    last = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    if renames and last != "-" and not last.isdecimal() and last not in held:
        yield Fix(last, source, origin)
    value = edit.get("value")
    words = frozenset({plain(last).removesuffix("s"), *beside})
    for name, inner in scalars(value, last):
        yield Fix(inner, source, origin, name, words)
    if pointer == "/path" and isinstance(value, str):
        yield from (Fix(part, source, origin, "path") for part in value.split("/") if part and part not in held)


def _ratios(patch: Sequence[Mapping[str, Json]], source: str, origin: str) -> Iterator[Fix]:
    """Yield by how much a number changes: who knows 1.625 knows the answer."""
    before = {edit.get("path"): edit.get("value") for edit in patch if edit.get("op") == "test"}
    for edit in patch:
        old, new = before.get(edit.get("path")), edit.get("value")
        if edit.get("op") != "replace" or isinstance(old, bool) or isinstance(new, bool):
            continue
        if isinstance(old, int | float) and isinstance(new, int | float) and old:
            ratio = new / old
            if ratio * 4 != int(ratio * 4):  # a half and a quarter are everywhere
                yield Fix(round(ratio, 9), "ratio", origin)


def new(fixes: Iterator[Fix], held: Held, *, keep_held: bool = True) -> tuple[Fix, ...]:
    """Drop what a request holds under the very name: repeated, it is no fix."""
    return distinct(fix for fix in fixes if keep_held or fix.value not in held)


def leaves(document: Json, pointer: str = "") -> Iterator[tuple[str, Scalar]]:
    """Yield every text and number of a document with its JSON Pointer."""
    match document:
        case Mapping():
            for name, inner in document.items():
                yield from leaves(inner, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")
        case list():
            for index, inner in enumerate(document):
                yield from leaves(inner, f"{pointer}/{index}")
        case bool() | None:
            return
        case str() | int() | float():
            yield pointer, document


def answer_texts(
    answer: Mapping[str, Json],
    native: Json,
    *,
    channel: str,
    owner: str,
    where: str,
    rule: str,
    held: Held,
) -> Iterator[Text]:
    """Yield the texts of one answer. What the native answer does not hold, and `validation_errors`, is ours."""
    mine = set(leaves(native))
    body = parsed(str(answer.get("body") or ""))
    if body is None:
        yield Text(str(answer.get("body") or ""), channel, owner, where, rule, held)
    for pointer, said in leaves(body):
        if pointer.startswith("/recovery_feedback"):
            continue
        whose = "ours" if pointer.startswith("/validation_errors/") or (pointer, said) not in mine else owner
        yield Text(str(said), channel, whose, f"{where} {pointer}", rule, held, whole=True)
    for name, value in answer.get("headers") or ():
        for part in str(value).split(",") if str(name).lower() in _LISTS else [str(value)]:
            yield Text(part.strip(), f"{channel} header", "upstream", f"{where} {name}", rule, held, whole=True)


_LISTS = frozenset({"allow", "accept", "accept-patch", "accept-post", "x-accepted-oauth-scopes", "x-oauth-scopes"})


def parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


# Packs, as `corrigible pack render` prints them.


def command(given: str | None = None) -> list[str]:
    """Return how `corrigible` is started here. Raises UsageError where it is not installed."""
    if given:
        return given.split()
    beside = Path(sys.executable).with_name("corrigible")
    found = str(beside) if beside.exists() else shutil.which("corrigible")
    if found is None:
        raise UsageError("there is no `corrigible` command here: install it, or name it with --corrigible")
    return [found]


def rendered(pack: str | None, corrigible: Sequence[str]) -> list[dict[str, Json]]:
    """Return what `pack render` prints of one pack, or of all that ship. Raises UsageError with its complaint."""
    words = [*corrigible, "pack", "render", *([pack] if pack is not None else [])]
    try:
        done = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise UsageError(f"{' '.join(words)}: {problem}") from None
    if done.returncode != 0:
        raise UsageError(done.stderr.decode("utf-8", "replace").strip() or f"{' '.join(words)}: exit {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]


def packs(documents: Sequence[dict[str, Json]]) -> list[Subject]:
    """Return each pack that was rendered, ready to be searched."""
    found: list[list[dict[str, Json]]] = []
    for document in documents:
        if document["kind"] == "pack":
            found.append([])
        found[-1].append(document)
    return [_pack(one[0], one[1:]) for one in found]


def _pack(pack: Mapping[str, Json], rest: Sequence[dict[str, Json]]) -> Subject:
    rules = [one for one in rest if one["kind"] == "rule"]
    cases = [one for one in rest if one["kind"] == "case"]
    beside = str(Path(pack["path"]).parent) + "/"
    for one in (*rules, *cases):  # named from the pack's folder on: a certificate is read elsewhere
        one.update({key: one[key].removeprefix(beside) for key in ("file", "place") if key in one})
    told = {case["place"]: tuple(_of_case(case)) for case in cases}
    ordinary = Held(*(case["request"] for case in cases))
    columns = _columns(pack["tables"], {plain(str(fix.value)) for fixes in told.values() for fix in fixes}, ordinary)
    phrases = tuple(
        Fix(phrase, "paraphrase", f"{pack['pack']}: {value}")
        for value, several in pack["paraphrases"].items()
        for phrase in several
    )
    subject = Subject("pack", f"{pack['pack']} {pack['version']}", digest(Path(pack["path"])))
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
        mine = [case for case in cases if name in case["spoke"]]
        seen = [fix for case in mine for fix in (*told[case["place"]], *_looked_up(case))]
        texts = (Text(rule["diagnosis"], "diagnosis", "ours", rule["file"], name),)
        subject.matters.append(Matter(texts, distinct([*seen, *own, *tables, *phrases])))
        code = Text(rule["code"], "code", "ours", rule["file"], name)
        subject.matters.append(Matter((code,), distinct(seen)))
        pool += own
    for case in cases:
        subject.matters.extend(_case(case, told[case["place"]], phrases))
    pool += [fix for fixes in columns.values() for fix in fixes]
    pool += [fix for fixes in told.values() for fix in fixes if fix.value not in ordinary]
    subject.pool = distinct(pool)
    subject.facts = {"rules": len(rules), "cases": len(cases), "fixes": len(subject.pool)}
    return subject


def _of_case(case: Mapping[str, Json]) -> Iterator[Fix]:
    """Yield what the feedback of a case gives beyond its request."""
    if case["feedback"] is None:
        return
    held = Held(case["request"])
    origin = ", ".join(case["spoke"])
    native = Held(parsed(case["answers"]["none"]["body"]), case["answers"]["none"]["headers"])
    for fix in fixes_of(case["feedback"], case["request"], "feedback", origin):
        mirrored = fix.name == "after_seconds" and fix.value in native  # a Retry-After that is only passed on
        if fix.value not in held and not mirrored:
            yield fix


def _looked_up(case: Mapping[str, Json]) -> Iterator[Fix]:
    held = Held(case["request"])
    for asked, answer in case["lookups"].items():
        for name, value in scalars(answer):
            if value not in held:
                yield Fix(value, "look-up", f"{case['rule']}: {asked}", name)


def _case(case: Mapping[str, Json], fixes: tuple[Fix, ...], phrases: tuple[Fix, ...]) -> Iterator[Matter]:
    held = Held(case["request"])
    native = parsed(case["answers"]["none"]["body"])
    rpc = case["transport"] == "grpc"
    kept = tuple(_kept(case))
    texts: list[Text] = []
    for mode in ("traditional", "verbose"):
        # Over gRPC there is neither: the native status is all that there is in both.
        owner = "ours" if mode == "traditional" and not rpc else "upstream"
        texts += answer_texts(
            case["answers"][mode],
            native,
            channel=f"{'gRPC status, ' if rpc else ''}{mode}",
            owner=owner,
            where=f'{case["place"]} "{case["case"]}"',
            rule=", ".join(case["spoke"]) or case["rule"],
            held=held,
        )
    yield Matter(tuple(texts), distinct([*fixes, *kept]))
    mine = tuple(text for text in texts if text.owner == "ours" and text.channel == "verbose")
    yield Matter(mine, distinct([*phrases, *_looked_up(case)]))


def _kept(case: Mapping[str, Json]) -> Iterator[Fix]:
    """Yield what the feedback gives although the request holds it: only as the value of its own member does it tell."""
    if case["feedback"] is not None:
        held = Held(case["request"])
        origin = ", ".join(case["spoke"])
        for fix in fixes_of(case["feedback"], case["request"], "feedback", origin):
            if fix.value in held and fix.name and not _unchanged(case["request"], fix):
                yield fix


def _unchanged(request: Json, fix: Fix) -> bool:
    return any(name == fix.name and str(value) == str(fix.value) for name, value in scalars(request))


def _columns(tables: Mapping[str, Json], fixes: set[str], ordinary: Held) -> dict[str, list[Fix]]:
    """Return the answers of each table: the columns whose values are seen in feedback more than in requests."""
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
            # A map of like things has rows for members; a record has columns.
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
    summed = sha256()
    if path.is_file():
        summed.update(path.read_bytes())
    for file in sorted(path.rglob("*")) if path.is_dir() else ():
        if file.is_file() and "__pycache__" not in file.parts:
            summed.update(f"{file.relative_to(path).as_posix()}\0".encode() + sha256(file.read_bytes()).digest())
    return summed.hexdigest()
