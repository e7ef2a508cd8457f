"""The log of a run: its records, its file, and how two of them are compared. All figures are a pure function of it.

A manifest line says what ran, then one JSON line per episode follows, appended and synced, so that a kill loses at most
one. Members called `seconds` or `at` are times; everything else is the same for two runs with one seed.
Knows: lines, locks. Does not know: how episodes are played.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corrigible.conformance.model.outcome import UsageError, usable
from corrigible.schema.exchange import Json

FORMAT = "corrigible-lift/1"
FAITHFUL = ("informed", "patch-executor")
"""Scripts that follow the contract, the one for headlines first: feedback is to blame for their harm."""
UNOBTAINABLE = frozenset({"impossible", "restraint"})
"""Needs of tasks in which to stop and say so is the solution."""
ADVISED = "by a suggestion that"
"""Part of the text of a harm that followed a suggestion."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Reflection(_Model):
    """What a model made of an error before its next call."""

    form: Literal["free", "structured"]
    text: str
    """Free text, or the correction rule."""
    category: str = ""
    """A name of `agents.reflection.category`; empty: free text, or an answer that could not be read."""
    first: int = 0
    """The call that the first error was made in, counted from 1; 0: not stated."""
    repeated: bool = False
    """The same correction as before, which did not help."""
    lifted: bool = False
    """Free text in place of a structured reflection that had been repeated without success."""
    tokens: int = 0
    """Input and output together, as billed; part of the usage of the move."""


class Turn(_Model):
    """One call and what the agent saw of the response. Ids of the server are `<id:1>`, by appearance."""

    request: dict[str, Any]
    """The request document; credentials are no part of it."""
    step: bool = False
    given: bool = False
    """Made before the agent began, which got the request and what was shown: no attempt."""
    read: bool = False
    """It only reads."""
    astray: bool | None = None
    """A write that the prompt did not ask for; None: it reads, or nobody wrote down what is asked for."""
    status: int
    shown: Any = None
    """The response as the arm showed it, feedback included; null for a success."""
    accepted: bool = False
    offered: int = 0
    """Suggestions in what was shown."""
    applied: tuple[int, ...] | None = None
    """Which of the answer before this one the agent says it applied."""
    followed: bool = False
    """The published reader derives this request from the feedback before it."""
    wait: float = 0.0
    note: str = ""
    lost: int = 0
    """Attempts before this one that could not be read as calls."""
    reflections: tuple[Reflection, ...] = ()
    """Made before this call."""
    seconds: float = 0.0


class Spent(_Model):
    """Tokens as billed, over the episode and by turn."""

    input: int = 0
    output: int = 0
    cached: int = 0
    calls: int = 0
    by_turn: tuple[int, ...] = ()
    """Input and output together, for the call that this turn came from."""


class Episode(_Model):
    """How one (task, arm, agent, seed) went."""

    key: str
    """SHA-256 of all that determines it."""
    task: str
    domain: str
    needs: str
    start: Literal["wish", "refusal"] = "wish"
    arm: str
    agent: str
    kind: Literal["scripted", "model", "external"]
    seed: int
    outcome: Literal["success", "failure", "error"]
    """An error (a crash, a time-out, a failed set-up) is no observation."""
    why: str = ""
    ending: str = ""
    """How the agent ended the episode, if it did."""
    attempts: int = 0
    turns: tuple[Turn, ...] = ()
    spent: Spent | None = None
    harm: tuple[str, ...] = ()
    """Side effects twice, collateral changes, unannounced changes of intent, upstream instructions obeyed."""
    loops: int = 0
    """Responses that the loop breaker changed."""
    strategy: str = ""
    """The reflection strategy of a model agent."""
    closing: tuple[Reflection, ...] = ()
    """Reflections without a call after them."""
    at: float = 0.0
    """Unix seconds when it began."""
    seconds: float = 0.0


class Manifest(_Model):
    """What ran, in enough detail to repeat it."""

    format: str = FORMAT
    plan: dict[str, Any]
    seed: int
    versions: dict[str, str] = Field(default_factory=dict)
    """Of this suite, the proxy, Python, the upstreams."""
    digests: dict[str, str] = Field(default_factory=dict)
    """Of task files and packs."""
    audit: str = ""
    """The digest of `certificate.json` without its date; empty: packs and tasks were not audited."""
    agents: dict[str, dict[str, Any]] = Field(default_factory=dict)
    tasks: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Origin and prompt of each task, by domain/id: for reports."""
    at: float = 0.0


LOG: Final = "log.jsonl"
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class Log:
    """The contents of a log."""

    manifests: tuple[Manifest, ...]
    episodes: tuple[Episode, ...]
    """The last record of every key, in order of first appearance."""
    warnings: tuple[str, ...] = ()

    @property
    def manifest(self) -> Manifest:
        """The one that the last episodes ran under."""
        return self.manifests[-1]


def read(path: Path) -> Log:
    """Read the log of a folder, or a file. A torn last line is dropped and said; any other is an error."""
    file = path / LOG if path.is_dir() else path
    with usable(file, ": no log of `conformance lift run`"):
        content = file.read_bytes()
    whole, _, torn = content.rpartition(b"\n")
    warnings = [f"{file}: the last line is torn and does not count: a run was killed there"] if torn else []
    manifests: list[Manifest] = []
    episodes: dict[str, Episode] = {}
    for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
        try:
            document = json.loads(line)
            if "format" in document:
                if document["format"] != FORMAT:
                    raise UsageError(f"{file}: line {number}: format {document['format']}, and this reads {FORMAT}")
                manifests.append(Manifest.model_validate(document))
            else:
                episode = Episode.model_validate(document)
                episodes[episode.key] = episode
        except (ValueError, TypeError, ValidationError) as problem:
            raise UsageError(f"{file}: line {number} is no line of a log: {str(problem).splitlines()[0]}") from None
    if not manifests:
        raise UsageError(f"{file}: does not say what ran: no log of `conformance lift run`")
    return Log(tuple(manifests), tuple(episodes.values()), tuple(warnings))


class Store:
    """A log that is written. Usable from several threads of one process."""

    def __init__(self, folder: Path, descriptor: int, log: Log | None) -> None:
        self.folder = folder
        self.log = log
        """What was there before."""
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def add(self, entry: Episode | Manifest) -> None:
        """Append one line. When this returns, it is on the disk."""
        # ASCII: half a character, which a model or a server may write, has no UTF-8.
        line = json.dumps(entry.model_dump(mode="json"), separators=(",", ":")).encode() + b"\n"
        with self._lock:
            left = memoryview(line)
            while left:
                left = left[os.write(self._descriptor, left) :]
            os.fsync(self._descriptor)


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """Open the log of a folder for one run. Raises UsageError where another run is writing to it."""
    with usable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            raise UsageError(f"{folder}: another run writes here{f' (process {holder})' if holder else ''}") from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        descriptor = os.open(folder / LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            log = read(folder) if os.fstat(descriptor).st_size else None
            _drop_torn_line(folder / LOG)
            yield Store(folder, descriptor, log)
        finally:
            os.close(descriptor)
    finally:
        os.close(lock)


def _drop_torn_line(path: Path) -> None:
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


_TIMES = frozenset({"at", "seconds"})
_WIDTH = 160


def compare(first: Log, second: Log) -> list[str]:
    """Return where two logs differ, what ran first, then episode by episode."""
    ran = (_timeless(log.manifest.model_dump(mode="json")) for log in (first, second))
    differences = [f"what ran: {line}" for line in differing(*ran)]
    first_episodes, second_episodes = ({name_of_run(one): one for one in log.episodes} for log in (first, second))
    for name in sorted({*first_episodes, *second_episodes}):
        before, now = first_episodes.get(name), second_episodes.get(name)
        if before is None or now is None:
            differences.append(f"{name}: only in the {'second' if before is None else 'first'}")
        else:
            differences += [f"{name}: {line}" for line in _episodes(before, now)]
    return differences


def name_of_run(episode: Episode) -> str:
    """Return the name that an episode has in every run of its plan."""
    parts = [f"{episode.domain}/{episode.task}", episode.arm, episode.agent, f"seed {episode.seed}"]
    if episode.start != "wish":
        parts.append(f"from the {episode.start} on")
    return " ".join([*parts, f"({episode.strategy})"] if episode.strategy else parts)


def _episodes(first: Episode, second: Episode) -> Iterator[str]:
    first_document, second_document = (_timeless(episode.model_dump(mode="json")) for episode in (first, second))
    turns = first_document.pop("turns"), second_document.pop("turns")
    for document in (first_document, second_document):
        document.pop("key")  # it differs where code or tasks do, and that is said of what ran
    yield from differing(first_document, second_document)
    if len(turns[0]) != len(turns[1]):
        yield f"{len(turns[0])} turns, and {len(turns[1])}"
    for number, (first_turn, yours) in enumerate(zip(*turns, strict=False), start=1):
        for line in differing(first_turn, yours):
            yield f"turn {number}: {line}"


def _timeless(value: Json) -> Json:
    match value:
        case Mapping():
            return {name: _timeless(inner) for name, inner in value.items() if name not in _TIMES}
        case list():
            return [_timeless(inner) for inner in value]
        case _:
            return value


def differing(first: Json, second: Json, path: str = "") -> Iterator[str]:
    """Yield each innermost place where two values differ: `/shown/message: "a", and "b"`."""
    match first, second:
        case Mapping(), Mapping():
            for name in dict.fromkeys((*first, *second)):
                if name not in second:
                    yield f"{path}/{name}: {_as_text(first[name])}, and nothing"
                elif name not in first:
                    yield f"{path}/{name}: nothing, and {_as_text(second[name])}"
                else:
                    yield from differing(first[name], second[name], f"{path}/{name}")
        case list(), list() if len(first) == len(second):
            for index, (first_element, yours) in enumerate(zip(first, second, strict=True)):
                yield from differing(first_element, yours, f"{path}/{index}")
        case _ if first != second or type(first) is not type(second):
            yield f"{path}: {_as_text(first)}, and {_as_text(second)}"


def _as_text(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}..."
