"""What is missing is told in one line, as if the packages of an extra were not installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corrigible.schema.extra import MissingExtra, install_line, missing_module, needs, require
from tests._support.rows import rows

ENGINE = [
    *("google.protobuf", "grpc", "jsonschema", "jsonschema_rs", "mitmproxy", "orjson", "rapidfuzz"),
    *("re2", "rich", "yaml"),
]
BARE = f"import sys; sys.modules.update(dict.fromkeys({ENGINE!r})); "
"""The modules that only extras bring, hidden."""


def run(code: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", BARE + code], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_what_is_installed_is_not_missed() -> None:
    require("this", "proxy")


@pytest.mark.parametrize(
    ("extra", "module"),
    [("proxy", "google.protobuf"), ("conformance", "rapidfuzz"), ("grpc", "grpc"), ("grpc", "grpc_reflection")],
)
def test_one_missing_package_is_enough(extra: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    missing_module.cache_clear()
    try:
        with pytest.raises(MissingExtra) as info:
            require("this", extra)
    finally:
        missing_module.cache_clear()
    assert (str(info.value), info.value.name) == (needs("this", extra), module)


def test_readers_and_clients_do_without_all_extras() -> None:
    code = (
        "from corrigible.schema import Next, Request, apply; import corrigible.client.httpx, corrigible.schema.stdio; "
        "out = apply({'suggestions': [{'action': 'A', 'parameters': {'a': 1}}]}, Request('POST', '/x')); "
        "print(out.request.body, corrigible.client.explain({'message': 'No.', 'suggestions': []}))"
    )
    assert run(code) == (0, "{'a': 1} No.\n", "")


@rows(
    ("code", "line"),
    [
        ("import corrigible.proxy.asgi", needs("corrigible.proxy", "proxy")),
        ("import corrigible.adapters.registry", needs("corrigible.adapters", "proxy")),
        ("import corrigible.rules.pack.load", needs("corrigible.rules", "proxy")),
        ("import corrigible.proxy.grpc.server", needs("corrigible.proxy.grpc", "grpc")),
        ("import corrigible.client.grpc", needs("corrigible.client.grpc", "grpc")),
        ("import corrigible.schema.convert", needs("corrigible.schema.convert", "proxy")),
        (
            "from corrigible.schema import validate",
            needs("corrigible.schema.vocabulary", "proxy"),
        ),
    ],
)
def test_an_import_says_what_to_install(code: str, line: str) -> None:
    status, _, err = run(code)
    assert (status, err.splitlines()[-1]) == (1, f"corrigible.schema.extra.MissingExtra: {line}")


@rows(
    ("words", "line"),
    [
        (["proxy", "--upstream", "x"], needs("corrigible proxy", "mitmproxy")),
        (["proxy", "--grpc-upstream=x:1"], needs("corrigible proxy", "grpc")),
        (["pack", "test", "stripe"], needs("corrigible pack", "proxy")),
        (["mcp", "--upstream", "x"], needs("corrigible mcp", "mcp")),
        (["pack", "--help"], needs("corrigible pack", "proxy")),
        (["sandbox", "stripe"], needs("corrigible sandbox", "sandboxes")),
    ],
)
def test_a_command_says_what_to_install(words: list[str], line: str) -> None:
    assert run(f"from corrigible.proxy.cli import main; sys.exit(main({words!r}))") == (1, "", f"{line}\n")


def test_help_lists_the_commands_that_lack_their_extra() -> None:
    status, out, err = run("from corrigible.proxy.cli import main; main(['--help'])")
    assert (status, err) == (0, "")
    assert f"proxy {needs('it', 'mitmproxy')}".replace(" ", "") in "".join(out.split())  # a long path is broken


def test_so_does_the_suite() -> None:
    code = "from corrigible.conformance.cli import main; sys.exit(main(['list']))"
    assert run(code) == (1, "", needs("conformance list", "conformance") + "\n")


def test_feedback_that_only_protobuf_can_read_is_missed_with_a_warning() -> None:
    detail = {"@type": "type.googleapis.com/corrigible.schema.v0_1.RecoveryFeedback", "message": "No."}
    code = f"from corrigible.schema import find; print(find({{'code': 3, 'details': [{detail!r}]}}, 400))"
    status, out, err = run(code)
    assert (status, out) == (0, "None\n")
    assert needs("feedback inside a google.rpc.Status", "proxy") in err


@rows(
    ("origin", "line"),
    [
        (None, "pip install 'corrigible[mcp]'"),  # from an index, which has it
        ({"url": "file://{here}", "dir_info": {}}, "pip install '{here}[mcp]'"),
        ({"url": "file://{here}", "dir_info": {"editable": True}}, "pip install --editable '{here}[mcp]'"),
        ({"url": "file://{here}/a%20wheel.whl", "archive_info": {}}, "pip install '{here}/a wheel.whl[mcp]'"),
        (
            {"url": "https://h.test/c.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'corrigible[mcp] @ git+https://h.test/c.git@abc'",
        ),
        (
            {"url": "https://h.test/c.whl", "archive_info": {}},
            "pip install 'corrigible[mcp] @ https://h.test/c.whl'",
        ),
        (
            {"url": "file://{here}/gone.whl", "archive_info": {}},
            "pip install 'PLACE[mcp]', where PLACE is a checkout or a wheel of Corrigible",
        ),
    ],
)
def test_a_hint_names_what_exists(
    origin: dict[str, Any] | None, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "a wheel.whl").touch()
    text = None if origin is None else json.dumps(origin).replace("{here}", str(tmp_path))
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: SimpleNamespace(read_text=lambda file: text))
    install_line.cache_clear()
    try:
        assert install_line("mcp") == line.replace("{here}", str(tmp_path))
    finally:
        install_line.cache_clear()


def test_no_module_writes_a_hint_of_its_own() -> None:
    roots = [Path(__file__).parents[2] / root for root in ("proxy", "rules", "protos", "adapters", "conformance")]
    files = (path for root in roots for path in root.rglob("*.py") if path.name != "extra.py")
    assert [
        str(path) for path in files if re.search(r"pip install '?corrigible|corrigible\[[a-z,]+\]", path.read_text())
    ] == []
