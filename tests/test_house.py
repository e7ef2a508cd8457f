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
    "client": "protos",
    "model": "protos",
    "rules": "rules",
    "adapters": "adapters",
    "proxy": "proxy",
    "conformance": "conformance",
}
MAY_IMPORT = {
    "schema": set(),
    "client": {"schema"},
    "model": {"schema"},
    "rules": {"schema"},
    "adapters": {"schema", "rules"},
    "proxy": {"schema", "client", "model", "rules", "adapters"},
    "conformance": {"schema", "model"},
}
PURE = [
    *(
        ("client", f"{name}.py")
        for name in ("guard", "explanation", "difference", "form_edit", "answer", "policy", "decision")
    ),
    ("client", "sent_request.py"),
    *(("client", f"{name}.py") for name in ("path_template", "credentials", "native_message")),
    *(("client", f"{name}.py") for name in ("tool", "tool_list", "argument_repair", "tool_words")),
    ("client", "correction.py"),
    ("rules", "**/*.py"),
    ("proxy", "core/**/*.py"),
    ("proxy", "embed/**/*.py"),
    ("proxy", "http/corrector.py"),
    ("proxy", "grpc/corrector.py"),
    ("proxy", "envoy/refusal_message.py"),
    ("adapters", "bodies/**/*.py"),
    ("adapters", "formats/**/*.py"),
    ("adapters", "mapping/operation.py"),
    ("adapters", "mapping/mapping.py"),
    ("adapters", "mapping/words.py"),
    ("adapters", "mapping/conversion.py"),
    ("adapters", "mapping/build/**/*.py"),
    *(("adapters", f"mapping/{name}.py") for name in ("map_index", "reading_sibling", "rewriting")),
    ("adapters", "apis/**/*format.py"),
    ("adapters", "apis/**/*errors.py"),
    ("adapters", "demo/*/format.py"),
]
IMPURE = {
    *("asyncio", "grpc", "httpx", "mitmproxy", "os", "random", "secrets", "socket", "subprocess", "threading", "time"),
    *("urllib.request", "uuid"),
}
CLOCKS = {"now", "utcnow", "today"}
EXEMPT = {
    "client/sent_request.py": {"uuid"},  # uuid5 of the old key and the content: no chance in it
    "rules/budget.py": {"threading"},  # a thread-local: CEL calls our functions without room for an argument
    "rules/language/cel_release.py": {"threading"},  # the same
    "rules/language/expression.py": {"threading"},  # the same
    "rules/functions/builtin.py": {"uuid"},  # uuid5 of a seed: no chance in it
}
ORDER = {
    "client": [
        *("path_template", "credential_name", "guard", "credentials", "native_message", "explanation", "form_edit"),
        *("sent_request", "difference", "answer", "policy", "called_operation", "decision", "correction", "driver"),
        *("httpx", "requests", "stripe", "github", "grpc"),
        *("tool", "tool_list", "argument_repair", "tool_words", "toolset"),
        *("provider_object", "openai", "anthropic", "langchain"),
    ],
    "model": [
        *("usage", "conversation", "rate_limiter", "provider_client", "address"),
        *("openai", "openai_chat", "openai_responses", "anthropic", "provider"),
    ],
    "rules": [
        *(
            "errors",
            "budget",
            "pattern",
            "violation",
            "pointer",
            "lookup",
            "media_range",
            "lookup_headers",
            "functions",
            "safety",
            "repair_functions",
            "language",
        ),
        *("engine", "schema_repair", "pack"),
    ],
    "adapters": [
        *(
            "operation",
            "vocabulary",
            "base",
            "cache",
            "bodies",
            "sandbox",
            "protobuf",
            "openapi",
            "mapping",
            "formats",
            "apis",
            "demo",
            "described",
            "registry",
        ),
    ],
    "proxy": [
        *("core", "runtime", "embed", "tls_files", "http", "access_log", "admin", "build", "asgi", "recording"),
        *("pack_tools", "map_tools", "mitm", "grpc", "envoy", "mcp", "demo", "command", "cli"),
    ],
    "conformance": [
        *("model", "transport", "validators", "reference", "suite", "report", "audit", "checks", "lift", "command"),
        "cli",
    ],
}
"""Folders and modules of each part: one imports only what stands before it."""
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


def folder_of(part: str) -> Path:
    return ROOT / SOURCE_ROOT[part] / "corrigible" / part


@pytest.mark.parametrize("part", ORDER)
def test_folders_are_imported_in_one_order(part: str) -> None:
    order, folder = ORDER[part], folder_of(part)
    known = {path.stem for path in [*folder.glob("*.py"), *(inner.parent for inner in folder.glob("*/*.py"))]}
    assert known - {"__init__"} == set(order), "ORDER names every folder and module of a part"
    backward = set()
    for path in modules(part):
        relative = path.relative_to(folder)
        here = relative.parts[0].removesuffix(".py")
        if here == "__init__":
            continue
        for name in imports_of(path, part):
            parts = name.split(".")
            if parts[:2] == ["corrigible", part] and parts[2] in order and order.index(parts[2]) > order.index(here):
                backward.add((f"{part}/{relative}", parts[2]))
    assert backward == set()


@pytest.mark.parametrize(("part", "pattern"), PURE)
def test_the_core_has_no_clock_no_dice_and_no_sockets(part: str, pattern: str) -> None:
    paths = [path for path in modules(part) if path in set(folder_of(part).glob(pattern))]
    assert paths, f"{part}/{pattern} is gone: name its successor here"
    for path in paths:
        name = f"{part}/{path.relative_to(folder_of(part))}"
        imports = {one for one in imports_of(path, part) for bad in IMPURE if f"{one}.".startswith(f"{bad}.")}
        allowed = EXEMPT.get(name, set())
        assert {one.partition(".")[0] for one in imports} == allowed, name
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        assert not [one for one in calls if isinstance(one, ast.Attribute) and one.attr in CLOCKS], name


def test_what_is_exempt_exists() -> None:
    assert [name for name in EXEMPT if not (folder_of(name.partition("/")[0]) / name.partition("/")[2]).is_file()] == []


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
