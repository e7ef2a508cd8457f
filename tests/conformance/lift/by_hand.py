"""Plays `endings/by-hand.yaml` once more as it was played by hand: with curl, through `conformance lift serve`.

    python -m tests.conformance.lift.by_hand [DOMAIN ...]

The agent knows the prompt, what it is told of the API and the answers, and nothing else. Of the two episodes of a task
the first is played right and the second wrong.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from corrigible.conformance.lift.environment import environments
from corrigible.conformance.lift.log import UNOBTAINABLE
from corrigible.conformance.lift.resolved_plan import task_files
from corrigible.conformance.lift.score import value_at
from corrigible.conformance.lift.task import Ending, EndingCall, Played, Task, TaskFile, read_played
from corrigible.schema.document import form_pairs, query_pairs
from corrigible.schema.exchange import Json
from tests._support.command import start as started


class Row(NamedTuple):
    """One episode, and how it was scored."""

    domain: str
    task: str
    start: str
    arm: str
    played: str
    scored: str
    as_it_must: bool


def curl(method: str, url: str, headers: Mapping[str, str], body: str | None) -> tuple[int, Any]:
    """Call, and return the status and the body."""
    words = ["curl", "-sS", "-X", method, url, "-w", "\n%{http_code}"]
    for name, value in headers.items():
        words += ["-H", f"{name}: {value}"]
    if body is not None:
        words += ["--data-binary", body]
    text = subprocess.run(words, capture_output=True, check=True, text=True).stdout
    content, _, status = text.rpartition("\n")
    try:
        return int(status), json.loads(content)
    except ValueError:
        return int(status), content


def called(call: EndingCall, task: Task, names: Mapping[str, Json], base: str, *, form: bool, grpc: bool) -> bool:
    """Make one call as it was made by hand, keep what is to be kept of the answer, and return whether it succeeded."""
    request = call.request(task, names, form=form)
    method, path = ("POST", request.method) if grpc else (request.method, request.path)
    query = f"?{urlencode(list(query_pairs(request.query)))}" if request.query else ""
    headers = {name: str(value) for name, value in request.headers.items()}
    body = None
    if request.body is not None and form:
        headers["content-type"] = "application/x-www-form-urlencoded"
        body = urlencode(list(form_pairs(request.body)))
    elif request.body is not None:
        headers.setdefault("content-type", "application/json")
        body = json.dumps(request.body)
    status, answer = curl(method, f"{base}{quote(path, safe='/:%')}{query}", headers, body)
    assert isinstance(names, dict)
    names.update({name: value_at(answer, pointer) for name, pointer in call.save.items()})
    return status < 300 and not (isinstance(answer, dict) and answer.get("success") is False)


@contextmanager
def served(domain: str, tasks: list[str], start: str, out: Path) -> Iterator[str]:
    """Run `conformance lift serve` and lend the address of its desk."""
    words = ["conformance", "lift", "serve", "--domain", domain, "--start", start, "--arm", "verbose,reflective"]
    words += [word for task in tasks for word in ("--task", task)]
    with started([*words, "--out", str(out)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.match(r"listening on (\S+):", process.stdout.readline())
            assert found is not None
            yield found[1]
        finally:
            process.terminate()


def play(ending: Ending, task: Task, file: TaskFile, names: dict[str, Json], base: str, *, grpc: bool) -> str:
    """Make the calls of one episode, and return what the agent says at the end."""
    for call in ending.calls:
        succeeded = called(call, task, names, base, form=file.form, grpc=grpc)
        assert succeeded is not call.refused, (task.id, call)
    return ending.says or ("impossible" if task.needs in UNOBTAINABLE else "done")


def rows(file: TaskFile, played: Mapping[str, Played], start: str) -> Iterator[Row]:
    """Play both episodes of these tasks, and read how they were scored."""
    tasks = {task.id: task for task in file.tasks if task.id in played}
    grpc = environments()[file.domain].grpc
    done: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        with served(file.domain, list(tasks), start, out) as desk:
            for _ in range(2 * len(tasks)):
                status, offered = curl("POST", f"{desk}/episodes", {}, "")
                assert status == 201, offered
                name = _named(offered["prompt"], tasks)
                how = "right" if (name, "right") not in done else "wrong"
                done.append((name, how))
                text = f"{offered['prompt']}\n{offered['about']}"
                names: dict[str, Json] = {}
                for key, pattern in played[name].take.items():
                    found = re.search(pattern, text)
                    assert found is not None, (name, key, text)
                    names[key] = found[1]
                ending = played[name].right if how == "right" else played[name].wrong
                says = play(ending, tasks[name], file, names, offered["base_url"], grpc=grpc)
                curl("POST", f"{desk}/episodes/{offered['id']}/finish", {}, json.dumps({"outcome": says}))
            while curl("GET", f"{desk}/status", {}, None)[1]["running"]:
                pass
        lines = [json.loads(line) for line in (out / "log.jsonl").read_text("utf-8").splitlines()]
    # Episodes of one task ended in the order in which they were played.
    ended = [one for one in lines if "outcome" in one]
    for name in tasks:
        mine = [one for one in ended if one["task"] == name]
        for how, one in zip(("right", "wrong"), mine, strict=True):
            clean = one["outcome"] == "success" and not one["harm"]
            scored = one["outcome"] + (f", harm: {one['harm'][0]}" if one["harm"] else "")
            yield Row(file.domain, name, start, one["arm"], how, scored, clean is (how == "right"))


def _named(prompt: str, tasks: Mapping[str, Task]) -> str:
    """Return which of the tasks has this prompt, with its names filled in."""
    for name, task in tasks.items():
        pattern = "".join(
            ".+?" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", task.prompt)
        )
        if re.fullmatch(pattern, prompt):
            return name
    raise AssertionError(prompt)


def main(domains: list[str]) -> int:
    """Print the table. Exit status: 0 all are scored as they must be, 1 one is not."""
    files = task_files()
    wrong = 0
    print("| domain | task | start | arm | played | scored | |\n|---|---|---|---|---|---|---|")
    for domain in domains or files:
        everything = read_played(domain)
        for start in ("wish", "refusal"):
            chosen = {name: one for name, one in everything.items() if one.start == start}
            for row in rows(files[domain], chosen, start) if chosen else ():
                wrong += not row.as_it_must
                print(f"| {' | '.join(map(str, row[:-1]))} | {'' if row.as_it_must else 'NO'} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
