"""The tasks of Acme billing and of the recipe service, with the reader alone: each is refused, and ends as it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from corrigible.adapters.demo.recipe.tasks import tasks as recipe_tasks
from corrigible.conformance.lift.log import UNOBTAINABLE
from corrigible.conformance.lift.score import value_at
from corrigible.conformance.lift.task import TASKS, Call, Read, Task, fill, read_tasks, unlike
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from tests._support.acme_office import Office
from tests._support.repaired import agrees
from tests._support.rows import rows

ACME = read_tasks(TASKS / "acme.yaml")
RECIPE = read_tasks(TASKS / "recipe.yaml")
ENGINE = build_engine(["acme"])
MOST = 4


class Episode:
    """An account in the state in which a task begins."""

    def __init__(self, task: Task) -> None:
        self.office = Office()
        self.saved: dict[str, Any] = {}
        for setup in task.setup:
            answer = self.send(setup.request.request(self.saved, form=False), setup.caller)
            assert 200 <= answer[0] < 300, answer
            self.saved |= {name: value_at(answer[1], pointer) for name, pointer in setup.save.items()}

    def send(self, request: Request, caller: str = "agent") -> tuple[int, Json]:
        headers = {name: str(value) for name, value in request.headers.items()}
        answer = self.office.call(caller, request.method, request.path, request.body, headers)
        return answer.status_code, answer.json()

    def read(self, read: Call) -> Json:
        status, body = self.send(read.request(self.saved, form=False), "owner")
        assert status == 200, (read.path, body)
        return body

    def holds(self, read: Read) -> bool:
        there = value_at(self.read(read.read), read.at)
        counted = read.count is None or (isinstance(there, list) and len(there) == read.count)
        return counted and (read.has is None or not list(unlike(there, fill(read.has, self.saved))))

    def feedback(self, request: Request, status: int, said: Json) -> Mapping[str, Json]:
        def asked(lookup: Lookup) -> LookupAnswer:
            answer = self.office.call("agent", "GET", lookup.path)
            return LookupAnswer(answer.status_code, answer.content)

        exchange = Exchange(request, status, {"content-type": "application/json"}, orjson.dumps(said), id="x")
        decision = run_with_lookups_sync(ENGINE.decide(exchange), asked)
        assert isinstance(decision, Annotate), (said, decision)
        return decision.feedback


def filled(request: Request, feedback: Mapping[str, Json], facts: Mapping[str, Json]) -> Request:
    """Put what the prompt states where the feedback asks for it, on top of what the reader applies."""
    following = apply(feedback, request, confirm=agrees)
    document = following.request.document() if isinstance(following, Next) else request.document()
    asked = [one for suggestion in parse(feedback).suggestions for one in suggestion.placeholders]
    assert asked, feedback
    for one in asked:
        *way, name = one.pointer.split("/")[1:]
        place = value_at(document, "".join(f"/{part}" for part in way))
        place[name] = facts[name]
        choices = (one.schema_ or {}).get("enum")
        assert choices is None or facts[name] in choices
    return Request(**{name: document[name] for name in ("method", "path", "query", "headers", "body")})


def rounds(task: Task, episode: Episode) -> Iterator[tuple[int, Terminal | NeedsInput | Next | None]]:
    """Yield each answer's status and what the reader makes of it."""
    request = task.request.request(episode.saved, form=False)
    for _ in range(MOST):
        status, said = episode.send(request)
        if status < 300:
            yield status, None
            return
        feedback = episode.feedback(request, status, said)
        following = apply(feedback, request, confirm=agrees)
        yield status, following
        if isinstance(following, Terminal):
            return
        open_ones = any(suggestion.placeholders for suggestion in parse(feedback).suggestions)
        if task.needs == "prompt" and open_ones:
            request = filled(request, feedback, task.facts)
        elif isinstance(following, Next):
            request = following.request
        else:
            return


@rows("task", ACME.tasks, ids=lambda task: task.id)
def test_a_task_is_refused_at_first_and_ends_as_it_says(task: Task) -> None:
    episode = Episode(task)
    before = [episode.read(kept.read) for kept in task.kept]
    assert not all(episode.holds(read) for read in task.success)
    played = list(rounds(task, episode))
    assert played[0][0] >= 400
    last, end = played[-1]
    if task.needs in UNOBTAINABLE:
        assert isinstance(end, Terminal)
        assert not all(episode.holds(read) for read in task.success)
        assert [episode.read(kept.read) for kept in task.kept] == before
    else:
        assert last in (200, 201), played
        assert [read.read.path for read in task.success if not episode.holds(read)] == []
        after = [episode.read(kept.read) for kept in task.kept]
        may = [{pointer.split("/")[1] for pointer in kept.but} for kept in task.kept]
        for was, now, but in zip(before, after, may, strict=True):
            assert {n: v for n, v in was.items() if n not in but} == {n: v for n, v in now.items() if n not in but}


def test_recipe_tasks_are_those_of_the_service() -> None:
    theirs = {task.id: task for task in recipe_tasks()}
    assert [task.id for task in RECIPE.tasks] == list(theirs)
    for task in RECIPE.tasks:
        known = theirs[task.id]
        assert (task.request.path, task.request.body) == (known.path, known.request)
        assert task.needs == ("impossible" if known.ends == "terminal" else "nothing")
        assert known.description in " ".join(task.prompt.split())
        assert task.accepted is not None
        assert task.accepted["query"] == {"validation": None}
