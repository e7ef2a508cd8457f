"""What is missing is told in one line, as if the packages of an extra were not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from corrigible.schema.extra import MissingExtra, missing_module, needs, require

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
    [("proxy", "rapidfuzz"), ("proxy", "google.protobuf"), ("grpc", "grpc"), ("grpc", "grpc_reflection")],
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


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import corrigible.proxy.asgi", "corrigible.proxy needs: pip install 'corrigible[proxy]'"),
        ("import corrigible.adapters.registry", "corrigible.adapters needs: pip install 'corrigible[proxy]'"),
        ("import corrigible.rules.pack.load", "corrigible.rules needs: pip install 'corrigible[proxy]'"),
        ("import corrigible.proxy.grpc.server", "corrigible.proxy.grpc needs: pip install 'corrigible[grpc]'"),
        ("import corrigible.client.grpc", "corrigible.client.grpc needs: pip install 'corrigible[grpc]'"),
        ("import corrigible.schema.convert", "corrigible.schema.convert needs: pip install 'corrigible[proxy]'"),
        (
            "from corrigible.schema import validate",
            "corrigible.schema.vocabulary needs: pip install 'corrigible[proxy]'",
        ),
    ],
)
def test_an_import_says_what_to_install(code: str, line: str) -> None:
    status, _, err = run(code)
    assert (status, err.splitlines()[-1]) == (1, f"corrigible.schema.extra.MissingExtra: {line}")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["proxy", "--upstream", "x"], "corrigible proxy needs: pip install 'corrigible[mitmproxy]'"),
        (["proxy", "--grpc-upstream=x:1"], "corrigible proxy needs: pip install 'corrigible[grpc]'"),
        (["pack", "test", "stripe"], "corrigible pack needs: pip install 'corrigible[proxy]'"),
        (["completion", "bash"], "corrigible completion needs: pip install 'corrigible[proxy]'"),
        (["mcp", "--upstream", "x"], "corrigible mcp needs: pip install 'corrigible[mcp]'"),
        (["pack", "--help"], "corrigible pack needs: pip install 'corrigible[proxy]'"),
        (["sandbox", "stripe"], "corrigible sandbox needs: pip install 'corrigible[sandboxes]'"),
    ],
)
def test_a_command_says_what_to_install(words: list[str], line: str) -> None:
    assert run(f"from corrigible.proxy.cli import main; sys.exit(main({words!r}))") == (1, "", f"{line}\n")


def test_help_lists_the_commands_that_lack_their_extra() -> None:
    status, out, err = run("from corrigible.proxy.cli import main; main(['--help'])")
    assert (status, err) == (0, "")
    assert "proxy it needs: pip install 'corrigible[mitmproxy]'" in " ".join(out.split())


def test_so_does_the_suite() -> None:
    code = "from corrigible.conformance.cli import main; sys.exit(main(['list']))"
    assert run(code) == (1, "", "conformance list needs: pip install 'corrigible[conformance]'\n")


def test_feedback_that_only_protobuf_can_read_is_missed_with_a_warning() -> None:
    detail = {"@type": "type.googleapis.com/corrigible.schema.v0_1.RecoveryFeedback", "message": "No."}
    code = f"from corrigible.schema import find; print(find({{'code': 3, 'details': [{detail!r}]}}, 400))"
    status, out, err = run(code)
    assert (status, out) == (0, "None\n")
    assert "feedback inside a google.rpc.Status needs: pip install 'corrigible[proxy]'" in err
