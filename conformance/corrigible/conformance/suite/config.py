"""The config file: how to reach or start an implementation in each profile, and its known failures.

Knows: YAML and where in the file a mistake is. Does not know: how anything is started.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from corrigible.conformance.model.profile import PROFILES, ROLES, Role
from corrigible.conformance.model.usage_error import did_you_mean
from corrigible.conformance.model.yaml_file import Where, read_yaml
from corrigible.schema.exchange import Json

from .requirement import LEVELS


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
