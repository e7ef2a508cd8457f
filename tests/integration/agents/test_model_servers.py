"""Real servers of models, and the SDKs of OpenAI and Anthropic: exceptions, tries and streams stay as they are."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.described.sandboxes import LLAMA
from corrigible.adapters.sandbox.runtimes import venv_python
from corrigible.adapters.sandbox.server import Command, Server
from corrigible.proxy.command.demo import preserves
from tests._support.raw_proxy import PATIENCE, corrected

HERE = Path(__file__).parent
KEY = "sk-3b1c9e7a4d2f4c58a6e0b7d91f20c3aa"
CONFIG = """\
model_list:
  - {model_name: tiny, litellm_params: {model: openai/tiny, api_base: "URL/v1", api_key: k}}
  - {model_name: ant, litellm_params: {model: anthropic/tiny, api_base: URL, api_key: k}}
  - {model_name: slow, litellm_params: {model: openai/tiny, api_base: "URL/v1", api_key: k, rpm: 0}}
router_settings: {num_retries: 0, enable_pre_call_checks: true, disable_cooldowns: true}
litellm_settings: {num_retries: 0, telemetry: false}
general_settings: {master_key: KEY}
"""
RATE = b'{"error": {"message": "Rate limit reached. Please try again in 1s.", "code": "rate_limit_exceeded"}}'
BUSY = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
Calls = Callable[..., Any]

pytestmark = pytest.mark.nightly  # 500 MB of servers and frameworks


class Relay(BaseHTTPRequestHandler):
    """Passes calls on and counts them; what `x-script` says it answers itself: `429 retry-after-ms=5, ok`, `late`."""

    protocol_version = "HTTP/1.1"
    upstream = ""
    count = 0
    turns: dict[str, int]
    goes: threading.Event
    ended: threading.Event

    def do_GET(self) -> None:
        cls = type(self)
        if self.path == "/go":
            cls.goes.set()
        if self.path in ("/go", "/count"):
            return self.answer(200, {"content-type": "application/json"}, json.dumps(cls.count).encode())
        with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
            got = client.get(cls.upstream + self.path, headers=self.passed())
        self.answer(got.status_code, {"content-type": got.headers["content-type"]}, got.content)

    def do_POST(self) -> None:
        cls = type(self)
        cls.count += 1
        body = self.rfile.read(int(self.headers["content-length"]))
        steps = [step for step in self.headers.get("x-script", "").split(", ") if step]
        turn = cls.turns.get(self.headers.get("x-call", ""), 0)
        if steps:
            cls.turns[self.headers["x-call"]] = turn + 1
            step = steps[turn % len(steps)]
            if step == "late":
                cls.ended.wait(PATIENCE)  # longer than the client waits
                return self.answer(503, {}, b"")
            if step != "ok":
                status, *told = step.split(" ")
                head = {"content-type": "application/json", **dict(one.split("=") for one in told)}
                return self.answer(int(status), head, RATE if status == "429" else BUSY)
        self.relayed(body)

    def relayed(self, body: bytes) -> None:
        cls = type(self)
        cls.goes.clear()
        with (
            httpx.Client(trust_env=False, timeout=PATIENCE) as client,
            client.stream("POST", cls.upstream + self.path, content=body, headers=self.passed()) as got,
        ):
            kind = got.headers.get("content-type", "text/plain")
            if "event-stream" not in kind or got.status_code >= 400:
                return self.answer(got.status_code, {"content-type": kind}, got.read())
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            first, *others = b"".join(got.iter_bytes()).split(b"\n\n")
            self.chunk(first + b"\n\n")
            assert cls.goes.wait(PATIENCE), "the first piece did not arrive before the second was sent"
            self.chunk(b"\n\n".join(others))
            self.wfile.write(b"0\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def passed(self) -> dict[str, str]:
        names = ("authorization", "x-api-key", "content-type", "anthropic-version")
        return {name: self.headers[name] for name in names if name in self.headers}

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        with suppress(OSError):  # a client that no longer waits
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def relay_to(upstream: str) -> Iterator[str]:
    ended = threading.Event()
    fresh = {"upstream": upstream, "turns": {}, "goes": threading.Event(), "ended": ended}
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Relayed", (Relay,), fresh)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            ended.set()
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def model_python() -> Path:
    return venv_python("model-servers", HERE / "model_servers.txt")


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    with LLAMA.start() as running:
        yield running.url


@pytest.fixture(scope="module")
def litellm(llama: str, model_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    config = tmp_path_factory.mktemp("litellm") / "config.yaml"
    config.write_text(CONFIG.replace("URL", llama).replace("KEY", KEY), "utf-8")

    def command(port: int) -> Command:
        options = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
        offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_PROXY": "*"}
        return Command([str(model_python.with_name("litellm")), *options], environment=offline)

    with Server("litellm", "LiteLLM", "none", command).start(seconds=240) as running:
        yield running.url


@pytest.fixture
def calls(model_python: Path) -> Calls:
    """Make calls before a server and before the proxy, and return both answers to each."""

    def run(upstream: str, *names: str, key: str = "k") -> dict[str, list[dict[str, Any]]]:
        with relay_to(upstream) as relay, corrected(relay, "models") as proxy:
            settings = json.dumps({"relay": relay, "proxy": proxy, "key": key, "model": "tiny"})
            command = [str(model_python), str(HERE / "with_model_servers.py"), settings, *names]
            done = subprocess.run(command, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
        answers: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
        return answers

    return run


def assert_same(answers: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Check that a caller notices nothing but the feedback, and return the feedback to each call."""
    told = {}
    for call, (direct, corrected_one) in answers.items():
        native, body = direct.pop("body", ""), corrected_one.pop("body", "")
        shown, more = direct.pop("shown", None), corrected_one.pop("shown", None)
        assert corrected_one == direct, call
        assert shown == more or preserves(shown, more), call
        if native != body:
            whole = json.loads(body)
            assert preserves(json.loads(native), whole), call
            told[call] = whole["recovery_feedback"]
    return told


def test_successes_and_streams_are_the_same(calls: Calls, llama: str) -> None:
    answers = calls(llama, "chat", "tools", "stream", "messages", "messages stream")
    assert answers["chat"][0] == {"said": "I am a tiny model, and I", "tries": 1}
    assert len(answers["stream"][1]["pieces"]) > 5 < len(answers["messages stream"][1]["pieces"])
    assert assert_same(answers) == {}


def test_refusals_of_llama_cpp_are_the_same_exceptions(calls: Calls, llama: str) -> None:
    refused = ("text for a number", "flat tools", "context", "context in a stream", "image", "embeddings", "responses")
    others = ("messages text for a number", "messages context", "messages image")
    answers = calls(llama, *refused, *others)
    assert {name: (one[1]["raised"], one[1]["tries"]) for name, one in answers.items()} == {
        **dict.fromkeys(("text for a number", "context", "context in a stream", "responses"), ("BadRequestError", 1)),
        **dict.fromkeys(("flat tools", "image", "embeddings", "messages image"), ("InternalServerError", 3)),
        **dict.fromkeys(("messages text for a number", "messages context"), ("BadRequestError", 1)),
    }
    assert assert_same(answers).keys() == answers.keys()


def test_refusals_of_litellm_are_the_same_exceptions(calls: Calls, litellm: str) -> None:
    names = (
        "chat",
        "stream",
        "model",
        "penalty",
        "slow",
        "text for a number",
        "messages model",
        "messages context",
        "bad key",
    )
    answers = calls(litellm, *names, key=KEY)
    told = assert_same(answers)
    assert told.keys() == {*names} - {"chat", "stream"}
    assert told["model"]["suggestions"][0]["patch"][-1]["value"] == "tiny"
    assert {name: one[1]["tries"] for name, one in answers.items()} == {**dict.fromkeys(names, 1), "slow": 3}


def test_sdks_try_again_as_often_as_before(calls: Calls, llama: str) -> None:
    scripts = {
        "429 retry-after-ms=5": 3,
        "429 retry-after=1": 3,
        "429 retry-after-ms=5, ok": 2,
        "503 retry-after-ms=5, 500 retry-after-ms=5, ok": 3,
        "500 retry-after-ms=5": 3,
        "529 retry-after-ms=5": 3,
        "408 retry-after-ms=5": 3,
        "409 retry-after-ms=5": 3,
        "429 x-should-retry=false": 1,
        "400 x-should-retry=true retry-after-ms=5": 3,
        "late": 3,
    }
    names = [f"{name} | {script}" for name in ("chat", "messages") for script in scripts]
    answers = calls(llama, *names)
    assert {name: one[1]["tries"] for name, one in answers.items()} == {
        name: scripts[name.partition(" | ")[2]] for name in names
    }
    assert_same(answers)
