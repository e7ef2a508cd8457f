"""`make mutate`: how many small changes to a module its tests notice.

Of each module in the rooms of `targets.toml` a seeded sample of mutants is made (MUTANTS=20, SEED=1, on JOBS cores). A
process that has loaded what others wrote, and nothing of ours, forks once per mutant. The child imports the changed
module in place of the file, and runs the module's tests until one fails. Nothing in the checkout is written.

    python -m tests.mutation.run [PART_OF_A_NAME...]
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
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


def tests_pass(tests: Sequence[str], changed: Changed | None, seconds: float | None) -> bool | None:
    """Fork, and run tests; None where they take too long."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            if changed is not None:
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


def survives(target: Target, changed: Changed, seconds: float | None) -> bool:
    """Return whether all tests pass: those of the module first, then all of the room."""
    return all(tests_pass(tests, changed, seconds) for tests in (target.own, target.room) if tests)


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


def measure(target: Target, size: int, seed: int) -> Score:
    """Return how many of a sample of mutants of a module are noticed."""
    load_others([*target.own, *target.room])
    source = target.path.read_text("utf-8")
    began = time.monotonic()
    if not survives(target, Changed(target, source), None):
        raise SystemExit(f"{target.module}: its tests fail without any change")
    patience = 10 * (time.monotonic() - began) + 10
    made = Module(source)
    chosen = sorted(random.Random(f"{seed} {target.module}").sample(made.changes, min(size, len(made.changes))))
    mutants = [made.mutant(index, number) for index, number in chosen]
    survived = [mutant for mutant in mutants if survives(target, Changed(target, mutant.source), patience)]
    return Score(len(chosen) - len(survived), survived)


def measured_apart(target: Target) -> Score | None:
    """Measure in a process of its own: what forks must have no threads, and nothing of ours loaded."""
    command = [sys.executable, "-m", "tests.mutation.run", "--one", target.module]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return None
    told = json.loads(done.stdout)
    return Score(told["killed"], [Mutant(**one, source="") for one in told["survived"]])


def main(words: Sequence[str]) -> int:
    size, seed = int(os.environ.get("MUTANTS", "20")), int(os.environ.get("SEED", "1"))
    if words[:1] == ["--one"]:
        score = measure(next(target for target in targets() if target.module == words[1]), size, seed)
        survived = [{"line": one.line, "before": one.before, "after": one.after} for one in score.survived]
        print(json.dumps({"killed": score.killed, "survived": survived}))
        return 0
    chosen = [target for target in targets() if not words or any(word in target.module for word in words)]
    total, failed = Score(0, []), 0
    with ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        for target, result in zip(chosen, pool.map(measured_apart, chosen), strict=True):
            if result is None:
                failed += 1
                continue
            total = Score(total.killed + result.killed, [*total.survived, *result.survived])
            print(f"{target.module}: {result}", flush=True)
            for mutant in result.survived:
                print(f"  {target.path.relative_to(ROOT)}:{mutant.line}", flush=True)
                print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)
    print(f"all, seed {seed}: {total}")
    return 0 if total.share >= AIM and not failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
