"""`corrigible mcp`: headers of the command line and the environment, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from corrigible.adapters.sandbox.server import SandboxError
from corrigible.proxy.command import mcp
from corrigible.proxy.command.options import UsageError
from corrigible.schema.extra import MissingExtra

SPEC = """
openapi: 3.0.0
info: {title: t, version: "1"}
paths:
  /a: {get: {operationId: list, responses: {"200": {description: ok}}}}
"""
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command without the SDK of MCP: nobody is served."""

    async def serve(toolset: object, name: str) -> None: ...

    server = ModuleType("corrigible.proxy.mcp.server")
    vars(server)["serve"] = serve
    monkeypatch.setitem(sys.modules, "corrigible.proxy.mcp.server", server)
    (tmp_path / "spec.yaml").write_text(SPEC, "utf-8")
    parser = argparse.ArgumentParser()
    mcp.add(parser.add_subparsers())
    options = ["mcp", "--upstream", "http://user:hunter2@127.0.0.1:9/", "--spec", str(tmp_path / "spec.yaml")]

    def run(*more: str) -> int:
        args = parser.parse_args([*options, *more])
        status: int = args.run(args)
        return status

    return run


def test_the_value_of_a_header_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cret\n")
    assert mcp._header("Authorization: Bearer $TOKEN") == ("Authorization", "Bearer s3cret")


@pytest.mark.parametrize("token", ["s3cret\nX-Other: 1", "s3cret\u00e9", "s3cret\x1b"])
def test_a_value_that_no_header_can_have_is_refused_and_not_repeated(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", token)
    with pytest.raises(UsageError) as refused:
        mcp._header("Authorization: Bearer $TOKEN")
    assert "s3cret" not in str(refused.value)


def test_a_parameter_of_the_query_does_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "s3cret\n")
    assert mcp._parameter("api_key=$KEY") == ("api_key", "s3cret")
    with pytest.raises(UsageError, match=r"^--query api_key: the environment has no variable OTHER$"):
        mcp._parameter("api_key=$OTHER")
    with pytest.raises(UsageError, match=r"^--query: not of the form NAME=VALUE$"):
        mcp._parameter("s3cret")


def test_a_tool_that_is_misspelt_is_told_apart(run: Run) -> None:
    with pytest.raises(UsageError, match=r'^the description has no operation lisst; did you mean "list"\?$'):
        run("--tool", "lisst")


def test_what_is_wrong_with_a_description_is_a_line(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC.replace(', responses: {"200": {description: ok}}', ""), "utf-8")
    assert run() == 0
    problem, tools = capsys.readouterr().err.splitlines()
    assert problem.startswith("corrigible mcp: ") and problem.endswith(" (the description is used all the same)")
    assert tools == "1 tools of http://127.0.0.1:9/"


def test_the_start_prints_no_credentials(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--tool", "list") == 0
    assert capsys.readouterr().err == "1 tools of http://127.0.0.1:9/\n"


class _Gone(Exception):
    """The process goes on as another one."""


@pytest.fixture
def without_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the command where the SDK cannot be imported."""
    monkeypatch.delitem(sys.modules, "corrigible.proxy.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "mcp.types", raising=False)
    parser = argparse.ArgumentParser()
    mcp.add(parser.add_subparsers())
    words = ["mcp", "--upstream", "http://127.0.0.1:9/", "--spec", str(tmp_path / "spec.yaml")]
    return lambda: int(mcp.run(parser.parse_args(words)))


def test_the_sdk_is_installed_apart_and_the_command_goes_on_with_it(
    without_sdk: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: dict[str, Any] = {}

    def execve(program: str, words: list[str], environment: dict[str, str]) -> None:
        started.update(program=program, words=words, environment=environment)
        raise _Gone

    monkeypatch.setattr("os.execve", execve)
    monkeypatch.setattr("corrigible.adapters.sandbox.runtimes.python_packages", lambda name: tmp_path / name)
    monkeypatch.setattr("sys.argv", ["corrigible", "mcp", "--spec", "x"])
    monkeypatch.setenv("PYTHONPATH", "before")
    with pytest.raises(_Gone):
        without_sdk()
    assert started["program"] == sys.executable
    assert started["words"][-3:] == ["mcp", "--spec", "x"]
    assert started["environment"]["PYTHONPATH"] == f"{tmp_path / 'mcp>=2.3'}:before"
    monkeypatch.setenv("CORRIGIBLE_WITH_SDK", "1")  # it is that process, and still has none
    with pytest.raises(MissingExtra):
        without_sdk()


def test_what_pip_says_is_the_problem(without_sdk: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(name: str) -> Path:
        raise SandboxError(f"installing {name} failed")

    monkeypatch.setattr("corrigible.adapters.sandbox.runtimes.python_packages", failing)
    with pytest.raises(UsageError, match=r"^installing mcp>=2\.3 failed$"):
        without_sdk()
