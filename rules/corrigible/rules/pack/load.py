"""A pack: a folder of rules, tables and cases that knows one API's refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from corrigible.rules.engine.evaluate import RuleIndex
from corrigible.rules.errors import AuthoringError, Place, gather
from corrigible.rules.language.compile import LONGEST_EXPRESSION, TOO_LONG, compile_rule
from corrigible.rules.language.evaluator import PackFunction
from corrigible.rules.language.expression import DEFINITIONS, SCOPE, Functions, environment
from corrigible.rules.language.file_model import checked
from corrigible.rules.language.pack_model import PackText
from corrigible.rules.language.rule import PackSettings, Rule
from corrigible.rules.language.syntax import RESERVED, ExpressionError, signature
from corrigible.rules.language.yaml_source import Source, read_source
from corrigible.rules.wordings import Wordings
from corrigible.rules.wordings.check import check_rows
from corrigible.schema.error import VocabularyError, did_you_mean
from corrigible.schema.exchange import Json
from corrigible.schema.vocabulary import Vocabulary

from .cases import OperationNames, compile_operation, is_path
from .error_mapping import ErrorMapping, compile_error

MANIFEST = "pack.yaml"
CASES = ".cases.yaml"
_POST = "POST "


@dataclass(frozen=True, slots=True)
class Pack:
    name: str
    path: Path
    text: PackText
    rules: tuple[Rule, ...]
    index: RuleIndex
    tables: Mapping[str, Json]
    """Table name to its data, as expressions see it under `tables`."""
    vocabulary: Vocabulary
    settings: PackSettings
    error: ErrorMapping | None = None
    """How the API writes its errors, where the pack says it."""
    operation: OperationNames | None = None
    """Where requests name their operation, besides method and path."""
    wordings: Wordings | None = None
    """Sentences of the API, which are read beside those of `rules/wordings`."""

    @property
    def label(self) -> str:
        return f"{self.name} {self.text.version}"


def built_in() -> dict[str, Path]:
    """Return the packs that ship with this distribution, by name."""
    root = Path(str(files("corrigible.rules").joinpath("packs")))
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{MANIFEST}"))}


def find_pack(name_or_path: str | Path) -> Path:
    """Return the folder of a built-in pack or of any folder. Raises AuthoringError with the likely name."""
    packs = built_in()
    if str(name_or_path) in packs:
        return packs[str(name_or_path)]
    path = Path(name_or_path)
    if (path / MANIFEST).is_file():
        return path
    if path.is_dir():
        raise AuthoringError(Place(path / MANIFEST, 0), "a pack folder needs this file")
    if path.is_file():
        raise AuthoringError(Place(path, 0), f"a pack is a folder: did you mean {path.parent}?")
    names = ", ".join(packs)
    raise AuthoringError(
        Place(path, 0),
        f"no built-in pack and no folder of that name; built in: {names}{did_you_mean(str(name_or_path), packs)}",
    )


def rule_files(path: Path) -> list[Path]:
    """Return the rule files of a pack folder, sorted by name."""
    return sorted(p for p in path.glob("*.yaml") if p.name != MANIFEST and not p.name.endswith(CASES))


def load_pack(
    name_or_path: str | Path, lint: list[AuthoringError] | None = None, mistakes: list[AuthoringError] | None = None
) -> Pack:
    """Load and compile a pack. Raises one AuthoringError that lists every mistake in it, each with file and line.

    What works and should be mended all the same is added to `lint`. With `mistakes`, those are added to that list, and
    the pack has what is right: one mistake does not keep an author from seeing how the other rules do. Then only what
    is wrong with pack.yaml itself is raised.

    A pack in which nothing has changed since it was loaded without a mistake is not compiled again.
    """
    path = find_pack(name_or_path)
    content = None if lint is not None else _content(path)
    if content is None:
        return _compiled(path, lint, mistakes)
    if (known := _KEPT.get(content)) is not None:
        return known
    found: list[AuthoringError] = []
    pack = _compiled(path, None, None if mistakes is None else found)
    if found and mistakes is not None:
        mistakes += found
    elif _content(path) == content:  # else it has changed meanwhile
        if len(_KEPT) >= _MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
        _KEPT[content] = pack
    return pack


_KEPT: Final[dict[bytes, Pack]] = {}
"""What was loaded, by what `_content` says."""
_MOST_KEPT: Final = 16


def _content(path: Path) -> bytes | None:
    """Return what tells a pack from any other one. None where it cannot be read: to compile it says why."""
    digest = sha256(f"{path}\0{path.absolute()}".encode("utf-8", "surrogateescape"))
    try:
        for file in (path / MANIFEST, *rule_files(path), *sorted((path / "tables").glob("*.yaml"))):
            name = file.name.encode("utf-8", "surrogateescape")
            digest.update(sha256(name).digest() + sha256(file.read_bytes()).digest())
    except OSError:
        return None
    return digest.digest()


def _compiled(path: Path, lint: list[AuthoringError] | None, mistakes: list[AuthoringError] | None) -> Pack:
    manifest = read_source(path / MANIFEST)
    text = checked(PackText, manifest)
    vocabulary = _vocabulary(manifest, text)
    lookups = _templates(text, [one for one in text.lookups if not one.startswith(_POST)])
    reading_posts = _templates(text, [one.removeprefix(_POST) for one in text.lookups if one.startswith(_POST)])
    errors = [*mapping_problems(manifest, text), *_open_posts(manifest, text)]
    if lint is not None:
        lint += _trailing_slashes(manifest, text)
    tables: Mapping[str, Json] = {}
    try:
        tables = load_tables(path)
    except AuthoringError as error:
        errors.append(error)
    functions = _functions(manifest, text, errors, [] if lint is None else lint)
    wordings = None
    if text.wordings:
        try:
            wordings = Wordings(check_rows(manifest, ("wordings",), text.wordings, text.name))
        except AuthoringError as error:
            errors.append(error)
    rules: dict[str, Rule] = {}
    major = text.version.partition(".")[0]
    for file in rule_files(path):
        try:
            rule = compile_rule(
                read_source(file),
                pack=text.name,
                major=major,
                vocabulary=vocabulary,
                lookups=lookups,
                reading_posts=reading_posts,
                functions=functions,
                author=text.author,
                lint=lint,
            )
        except AuthoringError as error:
            errors.append(error)
            continue
        rules[rule.id] = rule
    if (found := gather(errors)) is not None:
        if mistakes is None:
            raise found
        mistakes += found.all_errors()
    guidance = PackSettings(
        lookups=lookups,
        reading_posts=reading_posts,
        lookup_headers=tuple((name.lower(), value) for name, value in text.lookup_headers.items()),
        idempotency_header=(text.idempotency_header or "").lower(),
        secrets=frozenset(text.secret_parameters),
        decisive=frozenset(text.decisive),
        tokens=frozenset([*text.tokens, *([text.idempotency_header.lower()] if text.idempotency_header else [])]),
        path_members=frozenset(text.path_members),
    )
    mapping = None if text.error is None else compile_error(text.error)
    names = compile_operation(text.operation, text.operations) if text.operation else None
    every = tuple(rules.values())
    return Pack(text.name, path, text, every, RuleIndex(every), tables, vocabulary, guidance, mapping, names, wordings)


def load_tables(path: Path) -> dict[str, Json]:
    """Read every `tables/*.yaml`; a `-` in the file's name is `_` in expressions."""
    return {file.stem.replace("-", "_"): read_source(file).data for file in sorted((path / "tables").glob("*.yaml"))}


def _templates(text: PackText, paths: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{base}{path}".strip("/").split("/")) for base in ("", *text.bases) for path in paths)


def _open_posts(manifest: Source, text: PackText) -> Iterator[AuthoringError]:
    """Yield the paths that are read by POST and end in a variable: a value could make them another operation."""
    for index, one in enumerate(text.lookups):
        last = one.rpartition("/")[2]
        if one.startswith(_POST) and ("{" in last or "{+" in one):
            yield manifest.error(("lookups", index), f'"{one}": the last part of a path that is read by POST is fixed')


def _trailing_slashes(manifest: Source, text: PackText) -> Iterator[AuthoringError]:
    """Yield paths and pointers that fit nothing because of the slash at their end."""
    for name, listed, effect in (
        ("lookups", text.lookups, "no look-up fits it"),
        ("bases", text.bases, "no look-up fits it"),
        ("redact", text.redact, "that is a member without a name"),
    ):
        for index, one in enumerate(listed):
            if one.endswith("/") and one != "/":
                yield manifest.error((name, index), f'"{one}" ends with a slash: {effect}', kind="trailing-slash")
    if (text.mirror or "").endswith("/"):
        problem = f'"{text.mirror}" ends with a slash: that is a member without a name'
        yield manifest.error(("mirror",), problem, kind="trailing-slash")


def _functions(manifest: Source, text: PackText, errors: list[AuthoringError], lint: list[AuthoringError]) -> Functions:
    """Return the named expressions of a pack. Each is checked on its own, and may call those before it."""
    functions: dict[str, PackFunction] = {}
    for key, expression in text.functions.items():
        trail = ("functions", key)
        parts = signature(key)
        if parts is None:
            errors.append(manifest.error(trail, f'"{key}" is no signature such as remaining(charge)'))
            continue
        name, parameters = parts
        taken_word = next((word for word in (name, *parameters) if word in RESERVED or word in SCOPE), None)
        if taken_word is not None or name in DEFINITIONS or name in functions:
            errors.append(manifest.error(trail, f'"{taken_word or name}" is a name that every rule has'))
            continue
        try:
            body = environment().compiled(expression, dict(functions), parameters)
        except ExpressionError as problem:
            errors.append(manifest.error(trail, str(problem)))
            continue
        if len(expression) > LONGEST_EXPRESSION:
            lint.append(manifest.error(trail, TOO_LONG.format(length=len(expression)), kind="long-expression"))
        functions[name] = PackFunction(name, parameters, body)
    return functions


def _vocabulary(manifest: Source, text: PackText) -> Vocabulary:
    vocabulary = Vocabulary.base()
    for name, action in text.actions.items():
        trail = ("actions", name)
        if action.base_action not in vocabulary.actions:
            hint = did_you_mean(action.base_action, vocabulary.actions)
            raise manifest.error((*trail, "base_action"), f'"{action.base_action}" is no base action{hint}')
        try:
            vocabulary = vocabulary.register(
                name,
                base_action=action.base_action,
                description=action.description,
                parameters=action.parameters or None,
            )
        except VocabularyError as problem:
            raise manifest.error(trail, str(problem)) from None
    return vocabulary


_CREDENTIALS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key"})
"""Headers that are no part of a request or an answer as rules see them."""


def mapping_problems(manifest: Source, text: PackText) -> Iterator[AuthoringError]:
    for key in text.operations:
        if not is_path(key) and not text.operation:
            yield manifest.error(("operations", key), f'"{key}" is no method and path; a name needs "operation"')
    is_single = isinstance(manifest.data.get("operation"), dict)
    for index, source in enumerate(text.operation):
        trail = ("operation", "header") if is_single else ("operation", index, "header")
        if source.header is not None and source.header.lower() in _CREDENTIALS:
            yield manifest.error(trail, f'"{source.header}" is a credential, which rules never see')
    if text.error is None:
        return
    if text.dialect == "mcp":
        return  # its operations are the tools of a server, which says at run time what they are
    if text.error.refused and text.dialect is not None:
        yield manifest.error(("error", "refused"), f'the dialect "{text.dialect}" says which successes are refusals')
    known = set(text.operations.values())
    for refused in text.error.refused:
        for name in refused.operations:
            if name not in known:
                hint = did_you_mean(name, known)
                yield manifest.error(("error", "refused"), f'"{name}" is none of the operations of pack.yaml{hint}')
