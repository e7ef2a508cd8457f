"""Rules of the house that a reader of the code would otherwise have to remember."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE_ROOT = {
    "schema": "protos",
    "rules": "rules",
    "adapters": "adapters",
    "proxy": "proxy",
    "conformance": "conformance",
}
MAY_IMPORT = {
    "schema": set(),
    "rules": {"schema"},
    "adapters": {"schema", "rules"},
    "proxy": {"schema", "rules", "adapters"},
    "conformance": {"schema"},
}
PURE = ["rules", "proxy/core", "proxy/embed", "proxy/http/corrector.py"]
IMPURE = {"asyncio", "grpc", "httpx", "mitmproxy", "time", "random", "os"}
UNPORTABLE = re.compile(rb'/(?:work|root)/|"resolved": *"https?:|index[-]url|registry *= *https?:')


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


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_go_one_way(part: str) -> None:
    allowed = MAY_IMPORT[part] | {part}
    against = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(part)
        for name in imports_of(path, part)
        if name.startswith("corrigible.") and name.split(".")[1] not in allowed
    ]
    assert against == []


@pytest.mark.parametrize("place", PURE)
def test_the_core_has_no_clock_no_dice_and_no_sockets(place: str) -> None:
    part = place.partition("/")[0]
    chosen = ROOT / SOURCE_ROOT[part] / "corrigible" / place
    paths = [path for path in modules(part) if path == chosen or chosen in path.parents]
    assert paths, f"{place} is gone: name its successor here"
    impure = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        for name in imports_of(path, part)
        if name.partition(".")[0] in IMPURE
    ]
    assert impure == []


@pytest.mark.parametrize("part", SOURCE_ROOT)
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
