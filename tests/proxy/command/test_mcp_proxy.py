"""`corrigible mcp-proxy` around a stand-in of a server, which answers as the SDK for Python does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests._support.command import run, start

SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(" this is no message ", flush=True)
    if asked["method"] == "tools/list":
        schema = {"type": "object", "properties": {"limit": {"type": "integer"}}}
        result = {"tools": [{"name": "find", "inputSchema": schema}]}
    elif isinstance(asked["params"]["arguments"]["limit"], int):
        result = {"content": [{"type": "text", "text": "gr\\u00fcn"}]}
    else:
        text = "Error executing tool find: limit: Input should be a valid integer"
        result = {"isError": True, "content": [{"type": "text", "text": text}]}
    print(json.dumps({"id": asked["id"],  "jsonrpc": "2.0", "result": result}, ensure_ascii=False), flush=True)
sys.exit(5)
"""


def asked(number: int, method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    file = tmp_path / "server.py"
    file.write_text(SERVER, "utf-8")
    return [sys.executable, str(file)]


def test_all_messages_pass_but_a_refusal_which_is_corrected(server: list[str]) -> None:
    calls = asked(1, "tools/list") + asked(2, "tools/call", name="find", arguments={"limit": 3})
    refused = asked(3, "tools/call", name="find", arguments={"limit": "3"})
    alone = subprocess.run(server, input=calls + refused, capture_output=True, text=True, check=False)
    through = run(["corrigible", "mcp-proxy", "--", *server], input=calls + refused)
    assert through.returncode == alone.returncode == 5
    before, after = alone.stdout.splitlines(), through.stdout.splitlines()
    assert after[:-1] == before[:-1]
    assert "grün" in through.stdout
    corrected = json.loads(after[-1])
    (suggestion,) = corrected["result"]["_meta"]["corrigible/recovery_feedback"]["suggestions"]
    assert suggestion["patch"][-1] == {"op": "replace", "path": "/body/params/arguments/limit", "value": 3}
    assert "400 CALL find (find) corrected: MODIFY_PARAMS (the description)" in through.stderr
    assert "corrigible mcp-proxy: 1 request, 1 refusal: 1 corrected" in through.stderr


def test_the_end_of_the_proxy_is_that_of_the_server(server: list[str]) -> None:
    with start(["corrigible", "mcp-proxy", "--", *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(asked(1, "tools/list").encode())
        process.stdin.flush()
        process.stdout.readline()
        process.terminate()
        assert process.wait(60) == 128 + 15
        assert process.stdout.read().count(b"\n") <= 1


def test_a_server_that_is_not_there_is_named() -> None:
    done = run(["corrigible", "mcp-proxy", "--", "no-such-server"])
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "corrigible mcp-proxy: no-such-server: no such file or directory\n"
    assert run(["corrigible", "mcp-proxy"]).stderr == "a command is required: corrigible mcp-proxy -- COMMAND\n"
