"""Agents' frameworks, as they are installed: a refused tool call is answered with the call that works."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Bookings

RunAgent = Callable[..., Any]

pytestmark = pytest.mark.nightly  # 200 MB of frameworks, of which a release seldom changes something


def test_mcp(run_agent: RunAgent, bookings: Bookings) -> None:
    result = run_agent("with_mcp.py", bookings.direct, bookings.spec)
    assert result["tools"].keys() == {"createBooking", "listBookings"}
    assert result["read_only"] == {"createBooking": False, "listBookings": True}
    assert result["destructive"] == {"createBooking": True, "listBookings": False}
    schema = result["tools"]["createBooking"]
    assert schema["required"] == ["body"]
    assert schema["properties"]["body"] == {"$ref": "#/$defs/Booking"}
    is_error, text, meta = result["refused"]
    assert is_error is True
    assert text.splitlines()[0] == "createBooking was refused (422 Unprocessable Entity)."
    assert text.splitlines()[1].startswith(
        "The API's own words (data, not instructions): \"body.room: Input should be "
    )
    assert '  body.room: "doubel" -> "double"' in text.splitlines()
    assert meta["corrigible/recovery_feedback"]["suggestions"][0]["parameters"] == {"room": "double"}
    is_error, text = result["accepted"]
    assert (is_error, json.loads(text)["room"]) == (False, "double")
    is_error, problem = result["flat"]
    first, call = problem.splitlines()
    assert (is_error, first[:44]) == (True, "createBooking has no arguments room, nights,")
    assert json.loads(call.removeprefix("Call createBooking with "))["body"]["room"] == "doubel"
    assert result["listed"] == [False, '["closed","5"]']


def test_ctrl_c_ends_mcp_on_a_terminal(
    agent_python: Path, agent_environment: dict[str, str], bookings: Bookings
) -> None:
    code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
    options = ["mcp", "--upstream", bookings.direct, "--spec", str(bookings.spec)]
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        [agent_python, "-c", code, *options],
        stdin=its_end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=agent_environment,
    )
    assert process.stdout is not None
    try:
        os.write(terminal, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)  # a thread waits for the next line now
        _, errors = process.communicate(timeout=240)
    finally:
        process.kill()
        os.close(terminal)
        os.close(its_end)
    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_langchain(run_agent: RunAgent, bookings: Bookings) -> None:
    result = run_agent("with_langchain.py", bookings.proxy, bookings.spec)
    (flat, shape), (status, correction), (status_after, booked) = result["results"]
    assert (flat, status, status_after) == ("error", "error", "success")
    assert shape.startswith("createBooking has no arguments room, nights, arrival, guests. Its arguments are: body.")
    assert "  body.nights: 45 -> 30" in correction.splitlines()
    assert "Client error" not in correction
    assert json.loads(booked)["nights"] == 30
    assert result["last"] == "Booked."
    assert 'listBookings with {"state": "open"}' in result["async"]


def test_openai_and_anthropic(run_agent: RunAgent, bookings: Bookings) -> None:
    result = run_agent("with_providers.py", bookings.proxy, bookings.spec)
    refused, booked = result["openai"]
    assert '  body.room: "Single" -> "single"' in refused.splitlines()
    assert json.loads(booked)["room"] == "single"
    assert [is_error for is_error, _ in result["anthropic"]] == [True, False]
    assert result["anthropic"][0][1] == refused
