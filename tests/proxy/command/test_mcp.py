"""`corrigible mcp`: headers of the command line and the environment, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from corrigible.proxy.command import mcp
from corrigible.proxy.command.options import UsageError

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
