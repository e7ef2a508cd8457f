"""One task played to its end by the reader alone: send, read, do what the feedback says, at most five times."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from urllib.parse import parse_qsl, urlsplit

from corrigible.proxy.demo.client import Answer, Sender
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Feedback, parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply

from .task import Task, fill

ATTEMPTS = 5
LONGEST_WAIT = 0.5
"""Seconds. Local servers do not count time, so an episode need not either."""


class Outcome(StrEnum):
    """How an episode ended."""

    RECOVERED = "recovered"
    ASKED = "asked"
    ENDED = "ended"
    GAVE_UP = "gave up"
    SILENT = "no feedback"
    UNREADABLE = "unreadable feedback"
    ACCEPTED = "not refused"
    """The task is broken: its call succeeds as it is."""
    BROKEN = "setup failed"

    @property
    def tells(self) -> bool:
        """The episode says something about the proxy, and not only about the task."""
        return self not in (Outcome.ACCEPTED, Outcome.BROKEN)


@dataclass(frozen=True, slots=True)
class Turn:
    """A call that was made. A step is one that the feedback wanted first."""

    request: Request
    answer: Answer
    step: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """All that happened."""

    outcome: Outcome
    turns: tuple[Turn, ...]
    feedbacks: tuple[Feedback, ...]
    flagged: bool = False
    """An applied suggestion said that it changes what was asked for."""
    detail: str = ""
    saved: Mapping[str, Json] = field(default_factory=dict)
    reads: tuple[tuple[str, Json], ...] = ()
    """What the task's `end` reads found, by path."""

    @property
    def said(self) -> str:
        """All feedback as JSON text, as it came."""
        return json.dumps([turn.answer.feedback for turn in self.turns if turn.answer.feedback])

    @property
    def calls(self) -> tuple[Turn, ...]:
        """The attempts, without the steps between them."""
        return tuple(turn for turn in self.turns if not turn.step)


def play(task: Task, caller: Sender, upstream: Sender, *, form: bool) -> Episode:
    """Play one task: `caller` may go through a proxy, `upstream` sets up and looks afterwards."""
    saved: dict[str, Json] = {}
    for setup in task.setup:
        request = setup.request.request(saved, form=form)
        answer = upstream.send(request)
        if not answer.succeeded:
            detail = f"{request.method} {request.path}: {answer.status}"
            return Episode(Outcome.BROKEN, (), (), detail=detail)
        saved |= {name: _at(answer.body, pointer) for name, pointer in setup.save.items()}
    episode = _attempt(task.request.request(saved, form=form), caller)
    paths = [str(fill(end.get, saved)) for end in task.end]
    return replace(episode, saved=saved, reads=tuple((path, _read(upstream, path)) for path in paths))


def _attempt(request: Request, caller: Sender) -> Episode:
    turns: list[Turn] = []
    feedbacks: list[Feedback] = []
    flagged = False

    def end(outcome: Outcome, detail: str = "") -> Episode:
        return Episode(outcome, tuple(turns), tuple(feedbacks), flagged, detail)

    for attempt in range(ATTEMPTS):
        answer = caller.send(request)
        turns.append(Turn(request, answer))
        if answer.succeeded:
            return end(Outcome.RECOVERED if attempt else Outcome.ACCEPTED)
        if answer.feedback is None:
            return end(Outcome.SILENT, f"status {answer.status}")
        try:
            feedback = parse(answer.feedback)
        except ReaderError as error:
            return end(Outcome.UNREADABLE, str(error))
        feedbacks.append(feedback)
        match apply(feedback, request):
            case Terminal(action=action):
                return end(Outcome.ENDED, action)
            case NeedsInput(reason=reason):
                return end(Outcome.ASKED, reason)
            case Next() as following:
                applied = [feedback.suggestions[index] for index in following.applied]
                flagged = flagged or any(suggestion.changes_intent for suggestion in applied)
                time.sleep(min(following.wait_seconds, LONGEST_WAIT))
                for step in following.steps:
                    turns.append(Turn(step, caller.send(step), step=True))
                request = following.request
    return end(Outcome.GAVE_UP, f"{ATTEMPTS} attempts")


def _read(upstream: Sender, path: str) -> Json:
    parts = urlsplit(path)
    return upstream.send(Request("GET", parts.path, dict(parse_qsl(parts.query)))).body


def _at(document: Json, pointer: str) -> Json:
    for part in pointer.split("/")[1:]:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document
