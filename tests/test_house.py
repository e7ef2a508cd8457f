"""Rules of the house that a reader of the code would otherwise have to remember."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests._support.rows import rows
from tests.house import BUDGETS, SOURCE_ROOT, Budget, over_budget, shrunk

ROOT = Path(__file__).resolve().parent.parent
CLOCKS = {"now", "utcnow", "today"}
UNPORTABLE = re.compile(rb'(?<!\w)/(?:work|root)/|"resolved": *"https?:|index[-]url|registry *= *https?:')


def modules(part: str) -> Iterator[Path]:
    folder = ROOT / SOURCE_ROOT[part] / "corrigible" / part
    return (path for path in sorted(folder.rglob("*.py")) if "_pb2" not in path.name)


def imported(source: str, package: str) -> Iterator[str]:
    """Yield the absolute name of everything a module imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(level=0):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            case ast.ImportFrom():
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                prefix = ".".join([*parents, *([node.module] if node.module else [])])
                yield from (f"{prefix}.{alias.name}" for alias in node.names)


def imports_of(path: Path, part: str) -> Iterator[str]:
    folder = path.parent.relative_to(ROOT / SOURCE_ROOT[part])
    return imported(path.read_text(encoding="utf-8"), ".".join(folder.parts))


def test_relative_imports_are_seen_by_the_check() -> None:
    source = "from ..rules import x\nfrom . import y\nfrom .z import w\nimport os.path\n"
    assert list(imported(source, "corrigible.proxy")) == [
        "corrigible.rules.x",
        "corrigible.proxy.y",
        "corrigible.proxy.z.w",
        "os.path",
    ]


@pytest.fixture
def linted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """import-linter configures logging, which disables every logger that there is: later tests would see no line.

    It is imported here: the lowest versions of dependencies run without it, and other tests import this module.
    """
    from importlinter.cli import lint_imports

    monkeypatch.setattr("logging.config.dictConfig", lambda config: None)
    return partial(lint_imports, no_cache=True)


@pytest.mark.parametrize("contract", ["parts", "core", "rules", "suite"])
def test_a_contract_that_is_broken_is_found(
    contract: str, linted: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is so now breaks a contract that asks for the contrary: imports across the source roots are seen."""
    text = (ROOT / ".importlinter").read_text("utf-8")
    for now, contrary in (
        ("    corrigible.adapters\n    corrigible.rules\n", "    corrigible.rules\n    corrigible.adapters\n"),
        ("    corrigible.rules.budget -> threading\n", ""),
        ("    engine\n    language\n", "    language\n    engine\n"),
        (
            "forbidden_modules =\n    corrigible.client\n    corrigible.rules\n",
            "forbidden_modules =\n    corrigible.schema\n",
        ),
    ):
        assert now in text
        text = text.replace(now, contrary)
    broken = tmp_path / "contracts"
    broken.write_text(text, "utf-8")
    assert linted(str(broken), limit_to_contracts=(contract,)) != 0
    assert "BROKEN" in capsys.readouterr().out


def test_imports_keep_to_the_contracts(linted: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert linted(str(ROOT / ".importlinter")) == 0, capsys.readouterr().out


def folder_of(part: str) -> Path:
    return ROOT / SOURCE_ROOT[part] / "corrigible" / part


def pure_modules() -> list[Path]:
    """Return the modules that the contract about the core names."""
    listed = (ROOT / ".importlinter").read_text("utf-8").partition("contract:core]")[2]
    paths: list[Path] = []
    for name in re.findall(r"^    corrigible\.(\S+)$", listed.partition("forbidden_modules")[0], re.MULTILINE):
        part, _, inner = name.partition(".")
        pattern = inner.replace(".", "/")
        found = [*folder_of(part).glob(f"{pattern}.py"), *folder_of(part).glob(f"{pattern}/**/*.py".lstrip("/"))]
        assert found, f"{name} is gone: name its successor in .importlinter"
        paths += found
    return paths


def test_the_core_asks_no_clock() -> None:
    """A contract sees imports: calls such as `datetime.now()` are looked for here, and what `urllib` opens."""
    paths = pure_modules()
    assert len(paths) > 120
    for path in paths:
        source = path.read_text("utf-8")
        assert "urllib.request" not in source, path
        if not any(f".{name}(" in source for name in CLOCKS):
            continue
        calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
        assert not [one for one in calls if isinstance(one, ast.Attribute) and one.attr in CLOCKS], path


def public(part: str) -> list[str]:
    """Return what a part lists for others: `__all__`, and `_MODULES` where that has names alone."""
    module = importlib.import_module(f"corrigible.{part}")
    return [*module.__all__, *getattr(module, "_MODULES", ())]


@functools.cache
def used_by_others() -> dict[str, dict[str, str]]:
    """Return what is imported of each part by another one: the name behind the part, and a module that does so."""
    used: dict[str, dict[str, str]] = {part: {} for part in SOURCE_ROOT}
    for part in SOURCE_ROOT:
        for path in modules(part):
            for name in imports_of(path, part):
                root, other, *inner = [*name.split("."), "", ""][:3]
                if root == "corrigible" and other in used and other != part:
                    used[other].setdefault(inner[0], str(path.relative_to(ROOT)))
    return used


def test_parts_use_the_public_face_of_each_other() -> None:
    for part, names in used_by_others().items():
        assert {name: by for name, by in names.items() if name and name not in public(part)} == {}, part


@rows("part", SOURCE_ROOT)
def test_a_public_face_lists_what_there_is(part: str) -> None:
    listed = public(part)
    assert len(listed) == len(set(listed))
    module = importlib.import_module(f"corrigible.{part}")
    folder = folder_of(part)
    there = [name for name in listed if (folder / name).is_dir() or (folder / f"{name}.py").is_file()]
    assert [name for name in listed if name not in there and not hasattr(module, name)] == []
    if part in ("rules", "adapters", "model"):  # nobody but other parts uses them
        assert set(listed) == set(used_by_others()[part]) - {""}


def test_the_house_does_not_grow() -> None:
    assert over_budget() == []


def test_a_raised_budget_says_why() -> None:
    assert [part for part, one in BUDGETS.items() if one.is_raised and not one.reason.strip()] == []


def test_budgets_are_written_down_only() -> None:
    before = {"a": Budget(100, 5, 100, 5), "b": Budget(90, 9, 80, 9, "a new front end"), "c": Budget(10, 1, 10, 1)}
    after = shrunk(before, {"a": (120, 4), "b": (70, 9), "c": (10, 1)})
    assert after["a"] == Budget(100, 4, 100, 4)
    assert after["b"] == Budget(70, 9, 70, 9)
    assert after["c"] == before["c"]
    assert before["b"].is_raised and not after["b"].is_raised


def test_the_architecture_names_what_there_is() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    paths = re.findall(r"`([\w.-]+(?:/[\w.{}-]+)+/?|[\w-]+\.(?:md|toml|py|yaml))`", text)
    assert len(paths) > 25
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert len(text.splitlines()) <= 120


@rows("part", SOURCE_ROOT)
def test_every_part_says_that_it_is_typed(part: str) -> None:
    assert (ROOT / SOURCE_ROOT[part] / "corrigible" / part / "py.typed").is_file()


def committed() -> list[Path]:
    """Return what is committed or about to be: everything git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine_path_or_a_registry() -> None:
    files = committed()
    assert ROOT / "pyproject.toml" in files
    found = [
        f"{path.relative_to(ROOT)}: {match.group().decode()}"
        for path in files
        if (match := UNPORTABLE.search(path.read_bytes()))
    ]
    assert found == []


def test_every_lock_pins_what_it_installs_by_content() -> None:
    locks = [path for path in committed() if path.name == "package-lock.json"]
    assert {path.parent.name for path in locks} >= {"stripe-stateful-mock", "emulate"}
    for lock in locks:
        text = lock.read_text(encoding="utf-8")
        entries = text.count('"node_modules/')
        assert entries == text.count('"integrity": "sha512-') > 0, lock


def test_modules_of_the_typescript_client_import_each_other_in_no_circle() -> None:
    """Types count as well: who reads one module should not have to read all."""
    folder = ROOT / "protos" / "typescript" / "src"
    imports = {file.name: re.findall(r'from "\./(\w+\.ts)"', file.read_text("utf-8")) for file in folder.glob("*.ts")}
    assert set(graphlib.TopologicalSorter(imports).static_order()) >= set(imports)
