"""Patterns that select checks: globs over the parts of a path.

`transparency/*`, `**/status-kept`, `grpc:core/message` for one profile, or a requirement's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from corrigible.conformance.model.outcome import PROFILES, ROLES, Role, UsageError, did_you_mean
from corrigible.conformance.model.yaml_file import Where, read_yaml
from corrigible.conformance.suite.requirement import LEVELS
from corrigible.conformance.suite.subject import Check
from corrigible.schema.exchange import Json


def known_failing(argument: str) -> list[KnownFailing]:
    """Read `@FILE`, or `PATTERN=REASON`."""
    if argument.startswith("@"):
        return load_known_failing(Path(argument[1:]))
    pattern, _, reason = (part.strip() for part in argument.partition("="))
    if not pattern or len(reason) < 3:
        raise UsageError(
            f'--known-failing {argument}: say why it fails: "{pattern or "PATTERN"}=REASON", or give @FILE'
        )
    return [KnownFailing(check=pattern, reason=reason)]


def announced(known_failings: Iterable[KnownFailing], check: Check, profile: str) -> KnownFailing | None:
    """Return the first entry that means this check of this profile."""
    return next((entry for entry in known_failings if matches(entry.check, check, profile)), None)


def refuse_unmatched(known_failings: Iterable[KnownFailing], chosen: Sequence[tuple[str, Check]]) -> None:
    """Raise UsageError for entries that mean no check of this run: a list nobody prunes hides regressions."""
    stale = [
        entry for entry in known_failings if not any(matches(entry.check, check, profile) for profile, check in chosen)
    ]
    if stale:
        ids = {check.id for _, check in chosen}
        sentence = 'known-failing "{}" matches no check of this run{}'
        raise UsageError("\n".join(sentence.format(entry.check, did_you_mean(entry.check, ids)) for entry in stale))


def _level(word: str) -> str:
    if word not in LEVELS:
        raise ValueError(f'no level is called "{word}": there are {", ".join(LEVELS)}')
    return word


def _profile(word: str) -> str:
    if word not in PROFILES:
        near = did_you_mean(word, PROFILES) or f": there are {', '.join(PROFILES)}"
        raise ValueError(f'no profile is called "{word}"{near}')
    return word


def _role(word: object) -> object:
    if word is not None and word not in ROLES:
        raise ValueError(f"role: there are {', '.join(ROLES)}")
    return word


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SubjectConfig(_Strict):
    """How one profile of an implementation is reached, or started by the suite."""

    start: str | None = None
    """A command, run in the folder of the config file; {port}, {upstream}, {suite} and {python} are filled in."""
    http2: str | None = None
    """A command as `start`, for one with HTTP/2 to callers: by TLS and ALPN where it names {certificate} (PEM,
    its key in it), else to those who know. {upstream} is https://HOST:PORT with that same certificate."""
    target: str | None = None
    """http://host:port of one that runs already."""
    grpc: str | None = None
    """HOST:PORT of one that runs already."""
    upstream_listen: str | None = None
    """HOST:PORT where a running one expects its upstream. Default: a free port, told to `start`."""
    role: Annotated[Role, BeforeValidator(_role)] | None = None
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
    return read_yaml(path, TypeAdapter(Config), _keys)


def load_known_failing(path: Path) -> list[KnownFailing]:
    """Read a list of announced failures."""
    return read_yaml(path, TypeAdapter(list[KnownFailing]), _keys)


def _keys(path: Where) -> list[str]:
    """Return the keys that a mapping may have: of a subject, of a known failure, or of the file."""
    if path[:1] == ("subjects",):
        return list(SubjectConfig.model_fields)
    if path[:1] == ("known_failing",) or (path and isinstance(path[0], int)):
        return list(KnownFailing.model_fields)
    return list(Config.model_fields)


def matches(pattern: str, check: Check, column: str) -> bool:
    """Whether a pattern means this check of a column: by all of its path, or by a folder above it."""
    profile_name, colon, glob = pattern.partition(":")
    if not colon:
        glob = pattern
    elif not fnmatchcase(column, profile_name):
        return False
    if any(fnmatchcase(clause.lower(), glob.lower()) for clause in check.requirements):
        return True
    parts, pattern_parts = check.id.split("/"), glob.strip("/").split("/")
    return _match(pattern_parts, parts) or any(_match(pattern_parts, parts[:depth]) for depth in range(1, len(parts)))


def _match(pattern_parts: Sequence[str], parts: Sequence[str]) -> bool:
    """`*` stands within one part, `**` for any number of whole parts."""
    if not pattern_parts:
        return not parts
    first, *rest = pattern_parts
    if first == "**":
        return any(_match(rest, parts[skipped:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], first) and _match(rest, parts[1:])
