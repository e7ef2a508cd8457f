"""A YAML file that a person wrote: what it holds, checked against a model, and every mistake with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import re2
import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from corrigible.conformance.model.outcome import UsageError, did_you_mean, usable

_FAST: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """Return what a text holds; what is wrong with it the parser in Python says better. Raises yaml.YAMLError."""
    try:
        return yaml.load(text, Loader=_FAST)
    except yaml.YAMLError:
        return yaml.safe_load(text)


def loaded(path: Path, load: Callable[[str], Any] = load_yaml) -> Any:
    """Return what a file holds. Raises UsageError where it cannot be read."""
    with usable(path):
        text = path.read_text(encoding="utf-8")
    try:
        return load(text)
    except yaml.YAMLError as problem:
        raise UsageError(f"{path}: {problem}") from None


Checked = TypeVar("Checked", bound=BaseModel)


def checked(model: type[Checked], document: object, source: object, *under: str) -> Checked:
    """Return a document as a model. Raises UsageError with the first mistake, its place and the word that was meant."""
    try:
        return model.model_validate(document)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place, said = (*under, *map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            keys = model.model_fields if len(first["loc"]) == 1 else ()
            place, said = place[:-1], f'unknown key "{place[-1]}"{did_you_mean(place[-1], keys)}'
        elif first["type"] in ("enum", "literal_error"):
            words = re.findall(r"'([^']+)'", first["ctx"]["expected"])
            said = f"{first['input']} is none of {', '.join(words)}{did_you_mean(str(first['input']), words)}"
        raise UsageError(": ".join(filter(None, (str(source), ".".join(place), said)))) from None


Model = TypeVar("Model")
Where = tuple[str | int, ...]
"""A place in a document: names of members and positions in lists."""
Mistakes = Callable[[Model], Iterable[tuple[Where, str]]]


def read_yaml(
    path: Path,
    shape: TypeAdapter[Model],
    keys: Callable[[Where], Iterable[str]],
    mistakes: Mistakes[Model] = lambda document: (),
) -> Model:
    """Read a file. Raises UsageError with every mistake, its line, and the word that was probably meant.

    `keys` returns the keys that a mapping may have; `mistakes` yields what the model does not show.
    """
    with usable(path):
        text = path.read_text(encoding="utf-8")
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        document = load_yaml(text)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise UsageError(f"{path}:{line}: no YAML: {problem.problem}") from None
    except yaml.YAMLError as problem:
        raise UsageError(f"{path}: no YAML: {problem}") from None
    if document is None:
        document = [] if shape.core_schema["type"] == "list" else {}
    problems = [(line, f"{word} is given twice") for word, line in _doubles(node)]
    if not problems:
        try:
            model = shape.validate_python(document)
        except ValidationError as problem:
            for error in problem.errors():
                place = tuple(part for part in error["loc"] if part != "[key]")
                problems.append((_line_of(node, place), _sentence(place, error["type"], error["msg"], keys)))
        else:
            problems = [(_line_of(node, path), text) for path, text in mistakes(model)]
    if problems:
        raise UsageError("\n".join(f"{path}:{line}: {text}" for line, text in problems))
    return model


def _sentence(path: Where, kind: str, message: str, keys: Callable[[Where], Iterable[str]]) -> str:
    if kind == "extra_forbidden":
        return f'unknown key "{path[-1]}"{did_you_mean(str(path[-1]), keys(path[:-1]))}'
    if kind == "missing":
        return f'"{path[-1]}" is missing'
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    return f"{'.'.join(map(str, path)) or 'the file'}: {message[:1].lower()}{message[1:]}"


def _line_of(node: yaml.Node | None, path: Where) -> int:
    """Return the line of the deepest part of a place that is in the file."""
    line = 1
    for part in path:
        match node:
            case yaml.MappingNode():
                pair = next((pair for pair in node.value if pair[0].value == part), None)
                if pair is None:
                    break
                line, node = pair[0].start_mark.line + 1, pair[1]
            case yaml.SequenceNode() if isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                line = node.start_mark.line + 1
            case _:
                break
    return line


def _doubles(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    """Yield keys that a mapping has twice: YAML would keep the last one and say nothing."""
    match node:
        case yaml.MappingNode():
            seen = set()
            for key, value in node.value:
                if key.value in seen:
                    yield f'"{key.value}"', key.start_mark.line + 1
                seen.add(key.value)
                yield from _doubles(value)
        case yaml.SequenceNode():
            for value in node.value:
                yield from _doubles(value)


SUITE: Final = Path(__file__).resolve().parent.parent
"""The folder that `{suite}` in a config file stands for."""
VECTORS: Final = SUITE / "vectors"


def path_pattern(template: str) -> Any:
    """Return what the paths of a template match. RE2 needs linear time, however many braces one segment has.

    Raises re2.error for a template that is too long.
    """
    return re2.compile(re.sub(r"\\\{[^{}]*\\\}", "([^/]+)", re.escape(template)))
