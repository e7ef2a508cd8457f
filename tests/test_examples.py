"""The examples of the documentation, each run as its readers run it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from corrigible.adapters.sandbox.server import HOST, Command, Running, Server
from tests._support.command import run

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
ADDRESS = "http://127.0.0.1:8080"
RunExample = Callable[..., str]


@pytest.fixture
def run_example(tmp_path: Path) -> RunExample:
    def run(name: str, address: str, *, typed: str = "") -> str:
        program = tmp_path / name
        text = (EXAMPLES / name).read_text("utf-8")
        assert text.count(ADDRESS) == 1
        program.write_text(text.replace(ADDRESS, address), "utf-8")
        command = [sys.executable, str(program)]
        done = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_refund_with_stripes_sdk(run_example: RunExample, stripe_proxy: Running) -> None:
    shown = run_example("stripe_client.py", stripe_proxy.url, typed="y\n")
    assert "\nTo be sent:\n  POST /v1/refunds\n" in shown
    assert shown.endswith('    /body/amount: "500" -> 300\nSend it? [y/n] 300\n')


def test_tools_of_an_agent_and_a_service_that_corrects_itself(run_example: RunExample, tmp_path: Path) -> None:
    (tmp_path / "fastapi_service.py").write_bytes((EXAMPLES / "fastapi_service.py").read_bytes())

    def command(port: int) -> Command:
        words = ["-m", "uvicorn", "--app-dir", str(tmp_path), "fastapi_service:app", "--port", str(port)]
        return Command([sys.executable, *words, "--log-level", "error"])

    with Server("service", "uvicorn", "none", command).start() as service:
        refused = httpx.post(f"{service.url}/bookings", json={"room": "doubel", "nights": 3})
        assert refused.status_code == 422
        assert refused.json()["recovery_feedback"]["suggestions"][0]["parameters"] == {"room": "double"}
        shown = run_example("agent_tools.py", service.url)
    assert 'Call createBooking with {"body": {"room": "double", "nights": 3}}' in shown
    assert json.loads(shown.splitlines()[-1]) == {"room": "double", "nights": 3}


def test_two_apis_behind_one_proxy(stripe_server: Running, tmp_path: Path) -> None:
    text = (EXAMPLES / "corrigible.yaml").read_text("utf-8")
    changes = {
        "http://127.0.0.1:12111": stripe_server.url,
        "admin: 127.0.0.1:8081\n": "",
        "listen: 127.0.0.1:8080\n": "",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    config = tmp_path / "corrigible.yaml"
    config.write_text(text.replace("./my-shop", str(EXAMPLES / "my-shop")), "utf-8")

    def command(port: int) -> Command:
        code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
        return Command([sys.executable, "-c", code, "proxy", "--config", str(config), "--listen", f"{HOST}:{port}"])

    with Server("proxy", "corrigible proxy", "none", command).start() as proxy:
        plan = {"id": "gold", "amount": "1000", "currency": "usd", "interval": "monthly", "product[name]": "Gold"}
        refused = httpx.post(f"{proxy.url}/billing/v1/plans", data=plan, auth=("sk_test_example", ""))
        suggestions = refused.json()["recovery_feedback"]["suggestions"]
        assert suggestions[0]["parameters"] == {"interval": "month"}
        assert httpx.get(f"{proxy.url}/orders").status_code == 502  # nothing listens there


def test_the_pack() -> None:
    for verb in ("lint", "test"):
        done = run(["corrigible", "pack", verb, str(EXAMPLES / "my-shop")])
        assert done.returncode == 0, done.stdout + done.stderr
