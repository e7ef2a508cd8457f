"""`make mutate`: how many small changes to a module its tests notice.

Of each module in the rooms of `targets.toml` a seeded sample of mutants is made (MUTANTS=20, SEED=1, on JOBS cores). A
process for each room, which has loaded what others wrote and nothing of ours, forks once per mutant. The child imports
the changed module in place of the file, and runs its tests until one fails. Nothing in the checkout is written.

    python -m tests.mutation.run [PART_OF_A_NAME...]
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from tests.mutation.mutant import Module, Mutant

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of plugins that are loaded before the fork
AIM = 0.9


@dataclass(frozen=True)
class Target:
    """A module, and the tests that a change to it must fail."""

    path: Path
    own: Sequence[str]
    """The files that are named after the module: most mutants fail there, and they load fast."""
    room: Sequence[str]

    @property
    def module(self) -> str:
        """Its name when it is imported: the first folder is a source root."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts[1:])


def targets() -> Iterator[Target]:
    rooms = tomllib.loads(Path(__file__).with_name("targets.toml").read_text("utf-8"))["room"]
    for room in rooms:
        paths = [path for path in sorted(ROOT.glob(room["modules"])) if path.name != "__init__.py"]
        assert paths, f"targets.toml: {room['modules']} matches no module"
        for path in paths:
            own = [f"{folder}/test_{path.stem}.py" for folder in room["tests"]]
            yield Target(path, [name for name in own if (ROOT / name).is_file()], room["tests"])


class Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module from a text."""

    def __init__(self, target: Target, source: str) -> None:
        self.target, self.source = target, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.target.module:
            return None
        spec = importlib.util.spec_from_loader(fullname, self, origin=str(self.target.path))
        assert spec is not None
        spec.has_location = True
        return spec

    def get_source(self, fullname: str) -> str:
        return self.source


def tests_pass(tests: Sequence[str], changed: Changed, seconds: float | None, output: int) -> bool | None:
    """Fork, and run tests; None where they take too long."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            for stream in (1, 2):
                os.dup2(output, stream)
            sys.meta_path.insert(0, changed)
            import pytest

            status = int(pytest.main([*OPTIONS, *tests]))
        finally:
            os._exit(status)
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        if end is not None and time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.01)


def seconds_unchanged(target: Target, tests: Sequence[str]) -> float:
    """Return how long tests take that must pass: those of a module that is as it was."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        unchanged = Changed(target, target.path.read_text("utf-8"))
        if tests and not tests_pass(tests, unchanged, None, output.fileno()):
            output.seek(0)
            raise SystemExit(f"{target.module}: tests fail without any change:\n{output.read()[-2000:]}")
    return time.monotonic() - began


def load_others(tests: Sequence[str]) -> None:
    """Import what the tests import, but for what is ours."""
    code = (
        "import sys, pytest; pytest.main(['--collect-only', '-qq', *sys.argv[1:]]);"
        "print(); print('LOADED', *[name for name in sys.modules if name.partition('.')[0] not in"
        " ('corrigible', 'tests', '__main__') and 'conftest' not in name])"
    )
    done = subprocess.run([sys.executable, "-c", code, *tests], cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stdout.rpartition("LOADED ")[2].split()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if (not name.startswith(("grpc", "_pytest", "py.")) and "." in name) or name in ("pytest", "yaml"):
                try:
                    importlib.import_module(name)
                except Exception:
                    continue


@dataclass(frozen=True)
class Score:
    killed: int
    survived: Sequence[Mutant]

    def __str__(self) -> str:
        return f"{self.killed} killed, {len(self.survived)} survived, {self.share:.1%}"

    @property
    def share(self) -> float:
        return self.killed / max(1, self.killed + len(self.survived))


def measure(target: Target, size: int, seed: int, patience: float) -> Score:
    """Return how many of a sample of mutants of a module are noticed: by its own tests, or by those of the room."""
    made = Module(target.path.read_text("utf-8"))
    chosen = sorted(random.Random(f"{seed} {target.module}").sample(made.changes, min(size, len(made.changes))))
    mutants = [made.mutant(index, number) for index, number in chosen]
    limit = patience + 10 * seconds_unchanged(target, target.own)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        survived = [
            mutant
            for mutant in mutants
            if all(
                tests_pass(tests, Changed(target, mutant.source), limit, nowhere.fileno())
                for tests in (target.own, target.room)
                if tests
            )
        ]
    return Score(len(chosen) - len(survived), survived)


def measure_room(room: Sequence[Target], size: int, seed: int) -> None:
    """Print a line of JSON for each module of a room."""
    load_others(room[0].room)
    patience = 10 * seconds_unchanged(room[0], room[0].room) + 10
    for target in room:
        score = measure(target, size, seed, patience)
        survived = [{"line": one.line, "before": one.before, "after": one.after} for one in score.survived]
        print(json.dumps({"module": target.module, "killed": score.killed, "survived": survived}), flush=True)


def measured_apart(room: Sequence[Target]) -> list[Score]:
    """Measure in a process of its own, and report: what forks must have no threads, and nothing of ours loaded."""
    command = [sys.executable, "-m", "tests.mutation.run", "--room", *(target.module for target in room)]
    scores = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for target, line in zip(room, process.stdout, strict=False):
            told = json.loads(line)
            score = Score(told["killed"], [Mutant(**one, source="") for one in told["survived"]])
            scores.append(score)
            lines = [f"{target.module}: {score}"]
            for mutant in score.survived:
                lines += [f"  {target.path.relative_to(ROOT)}:{mutant.line}"]
                lines += [f"    - {mutant.before}", f"    + {mutant.after}"]
            print("\n".join(lines), flush=True)
    return scores


def main(words: Sequence[str]) -> int:
    size, seed = int(os.environ.get("MUTANTS", "20")), int(os.environ.get("SEED", "1"))
    if words[:1] == ["--room"]:
        measure_room([target for target in targets() if target.module in words[1:]], size, seed)
        return 0
    chosen = [target for target in targets() if not words or any(word in target.module for word in words)]
    rooms = [list(room) for _, room in itertools.groupby(chosen, key=lambda target: target.room)]
    with ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        scores = [score for room in pool.map(measured_apart, rooms) for score in room]
    total = Score(sum(score.killed for score in scores), [mutant for score in scores for mutant in score.survived])
    print(f"all, seed {seed}, {len(scores)} of {len(chosen)} modules: {total}")
    return 0 if total.share >= AIM and len(scores) == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
