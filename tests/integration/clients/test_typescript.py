"""The TypeScript package over real connections: its sources, and every night as users install it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.adapters.sandbox.runtimes import find_node, npm_folder
from corrigible.adapters.sandbox.server import Running

PACKAGE = Path(__file__).parents[3] / "protos" / "typescript"
SCHEMA = Path(__file__).parents[3] / "protos" / "corrigible" / "schema" / "feedback.schema.json"
HERE = Path(__file__).parent / "typescript"
POLICIES = Path(__file__).parents[2] / "client" / "policies.json"
"""What each policy sends: the clients in Python and in TypeScript run it."""
Run = Callable[..., str]


@pytest.fixture(scope="module")
def run() -> Run:
    node = find_node()

    def run(*command: str | Path, folder: Path) -> str:
        environment = {**os.environ, "PATH": f"{node.executable.parent}{os.pathsep}{os.environ['PATH']}"}
        words = [str(node.executable), *map(str, command)]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """A copy of the package with what it needs to be built, and its types, which are those of the JSON Schema."""
    folder = tmp_path_factory.mktemp("typescript") / "package"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(npm_folder("test-typescript", PACKAGE) / "node_modules")
    types = "node_modules/json-schema-to-typescript/dist/src/cli.js"
    run(types, "--input", SCHEMA, "--output", "src/contract.ts", "--additionalProperties", folder=folder)
    return folder


@pytest.fixture(scope="module")
def installed(source: Path, run: Run) -> Path:
    """A user's folder in which the packed package is installed."""
    run("node_modules/typescript/bin/tsc", folder=source)
    packed = json.loads(run(find_node().npm, "pack", "--json", "--ignore-scripts", folder=source))[0]
    names = {file["path"] for file in packed["files"]}
    assert {"dist/index.js", "dist/index.d.ts", "package.json", "README.md"} <= names
    assert not [name for name in names if name.startswith(("src/", "node_modules/"))]
    user = source.parent / "user"
    with tarfile.open(source / packed["filename"]) as archive:
        archive.extractall(user / "node_modules", filter="data")
    (user / "node_modules" / "package").rename(user / "node_modules" / "corrigible")
    (user / "node_modules" / "@types").symlink_to(source / "node_modules" / "@types")
    return user


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package has its name, and its sources are run as they are."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "src").symlink_to(PACKAGE / "src")
    named = {"type": "module", "name": "corrigible", "exports": "./src/index.ts"}
    (folder / "package.json").write_text(json.dumps(named), "utf-8")
    return folder


@pytest.mark.nightly
def test_a_user_s_program_is_checked_by_its_types(source: Path, installed: Path, run: Run) -> None:
    shutil.copy(HERE / "fetch.test.ts", installed)
    options = {"strict": True, "noEmit": True, "module": "nodenext", "target": "es2024", "types": ["node"]}
    config = {"compilerOptions": {**options, "lib": ["es2024", "dom"]}, "files": ["fetch.test.ts"]}
    (installed / "tsconfig.json").write_text(json.dumps(config), "utf-8")
    (installed / "package.json").write_text('{"type": "module"}', "utf-8")
    run(source / "node_modules/typescript/bin/tsc", "-p", installed, folder=installed)


def check_fetch_wrapper(folder: Path, run: Run) -> None:
    shutil.copy(HERE / "fetch.test.ts", folder)
    shutil.copy(POLICIES, folder)
    report = run("--test", "--test-reporter=tap", "fetch.test.ts", folder=folder)
    assert "# pass 42\n" in report
    assert "# fail 0\n" in report


def test_the_fetch_wrapper(sources: Path, run: Run) -> None:
    check_fetch_wrapper(sources, run)


@pytest.mark.nightly
def test_the_fetch_wrapper_as_it_is_installed(installed: Path, run: Run) -> None:
    check_fetch_wrapper(installed, run)


EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "refund.mjs"


def test_the_example_of_a_refund_through_the_proxy(sources: Path, run: Run, stripe_proxy: Running) -> None:
    text = EXAMPLE.read_text("utf-8")
    assert text.count("http://127.0.0.1:8080") == 1
    (sources / "refund.mjs").write_text(text.replace("http://127.0.0.1:8080", stripe_proxy.url), "utf-8")
    *shown, amount = run("refund.mjs", folder=sources).splitlines()
    assert amount == "300"
    assert '  /body/amount: "500" -> 300' in shown
