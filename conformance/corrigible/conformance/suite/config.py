"""The config file: how each profile of an implementation is reached or started, and what is expected of it.

Knows: YAML and where in the file a mistake is. Does not know: how anything is started.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from corrigible.conformance.model.profile import PROFILES, ROLES, Role
from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.conformance.model.yaml_line import line_of
from corrigible.schema.exchange import Json

from .requirement import LEVELS

Model = TypeVar("Model")


def _level(word: str) -> str:
    if word not in LEVELS:
        raise ValueError(f'no level is called "{word}": there are {", ".join(LEVELS)}')
    return word


def _profile(word: str) -> str:
    if word not in PROFILES:
        near = did_you_mean(word, PROFILES) or f": there are {', '.join(PROFILES)}"
        raise ValueError(f'no profile is called "{word}"{near}')
    return word


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SubjectConfig(_Strict):
    """How one profile of an implementation is reached, or started by the suite."""

    start: str | None = None
    """A command, run in the folder of the config file; {port}, {upstream}, {suite} and {python} are filled in."""
    http2: str | None = None
    """A command as `start`, for one that speaks HTTP/2 to callers: by TLS and ALPN where it names {certificate} (PEM,
    its key in it), else to those who know. {upstream} is https://HOST:PORT with that same certificate."""
    target: str | None = None
    """http://host:port of one that runs already."""
    grpc: str | None = None
    """HOST:PORT of one that runs already."""
    upstream_listen: str | None = None
    """HOST:PORT where a running one expects its upstream. Default: a free port, told to `start`."""
    role: Role | None = None
    wait: float = Field(default=30.0, gt=0)
    """Seconds in which a started one must accept connections."""
    env: dict[str, str] = {}
    pack: str | None = None
    """For the role pack: its folder or its name. For others: the rule pack whose digest the record names."""
    spec: str | None = None
    """The API's own OpenAPI description: answers are judged by it, and a producer by requests made from it."""
    consumer: str | None = None
    """For the role consumer: the command that reads questions on stdin."""
    settings: dict[str, Json] = {}
    """Handed to checks as they are."""


class KnownFailing(_Strict):
    """A check that must fail for now, and why."""

    check: str = Field(min_length=1)
    """A pattern, as for --only."""
    reason: str = Field(min_length=3)
    issue: str | None = None


class Config(_Strict):
    """One file."""

    subject: str | None = None
    """Who is judged, for reports. {version} is filled in."""
    version: str | None = None
    """A command that prints the subject's version."""
    level: Annotated[str, AfterValidator(_level)] | None = None
    seed: int | None = None
    subjects: dict[Annotated[str, AfterValidator(_profile)], SubjectConfig] = {}
    consumer: str | None = None
    packs: list[str] = []
    """Rule packs, by folder: their digests are written into the record."""
    known_failing: list[KnownFailing] = []
    settings: dict[str, Json] = {}
    """Handed to every check, under what a subject's own settings say."""


def load(path: Path) -> Config:
    """Read a config file. Raises UsageError with every mistake, its line, and the word that was meant."""
    return _read(path, TypeAdapter(Config))


def load_known_failing(path: Path) -> list[KnownFailing]:
    """Read a list of announced failures."""
    return _read(path, TypeAdapter(list[KnownFailing]))


def _read(path: Path, shape: TypeAdapter[Model]) -> Model:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path}: no UTF-8 text: {problem.reason}") from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        document = yaml.safe_load(text)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise UsageError(f"{path}:{line}: no YAML: {problem.problem}") from None
    except yaml.YAMLError as problem:
        raise UsageError(f"{path}: no YAML: {problem}") from None
    if document is None:
        document = [] if shape.core_schema["type"] == "list" else {}
    twice = [f"{path}:{line}: {word} is given twice" for word, line in _doubles(node)]
    if twice:
        raise UsageError("\n".join(twice))
    try:
        return shape.validate_python(document)
    except ValidationError as problem:
        said = []
        for error in problem.errors():
            where = tuple(part for part in error["loc"] if part != "[key]")
            said.append(f"{path}:{line_of(node, where)}: {_sentence(where, error['type'], error['msg'])}")
        raise UsageError("\n".join(said)) from None


def _sentence(where: tuple[str | int, ...], kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return f'unknown key "{where[-1]}"{did_you_mean(str(where[-1]), _keys(where[:-1]))}'
    if kind == "missing":
        return f'"{where[-1]}" is missing'
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind == "literal_error" and where[-1] == "role":
        return f"role: there are {', '.join(ROLES)}"
    return f"{'.'.join(map(str, where)) or 'the file'}: {message[:1].lower()}{message[1:]}"


def _keys(where: tuple[str | int, ...]) -> list[str]:
    """The keys that may stand at a place: a mapping of subjects and lists of entries are all there is to walk."""
    if where[:1] == ("subjects",):
        return list(SubjectConfig.model_fields)
    if where[:1] == ("known_failing",) or (where and isinstance(where[0], int)):
        return list(KnownFailing.model_fields)
    return list(Config.model_fields)


def _doubles(node: yaml.Node | None) -> list[tuple[str, int]]:
    """Keys that stand twice in one mapping: YAML would keep the last and say nothing."""
    found: list[tuple[str, int]] = []
    match node:
        case yaml.MappingNode():
            seen = set()
            for key, value in node.value:
                if key.value in seen:
                    found.append((f'"{key.value}"', key.start_mark.line + 1))
                seen.add(key.value)
                found += _doubles(value)
        case yaml.SequenceNode():
            for value in node.value:
                found += _doubles(value)
    return found
