"""Descriptions as users give them to the proxy: from a URL, several, below another path; and what it tells of them."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests._support.command import run, start


def described(path: str, colour: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"colour": {"enum": [colour, "none"]}}}
    body = {"content": {"application/json": {"schema": schema}}}
    answers = {"default": {"description": "any"}}
    paths = {path: {"post": {"operationId": f"make{colour}", "requestBody": body, "responses": answers}}}
    return {"openapi": "3.0.3", "info": {"title": colour, "version": "1"}, "paths": paths}


class Api(BaseHTTPRequestHandler):
    """Serves its description and refuses everything else."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = {"/openapi.json": described("/flowers", "red")}.get(self.path)
        self._answer(404 if found is None else 200, found or {"message": "no"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer(422, {"message": "colour is invalid"})

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing on the console."""


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def proxied(api: str, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = ["corrigible", "proxy", "--upstream", api, "--listen", "127.0.0.1:0", *options]
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[1], process
        finally:
            process.terminate()


def colour_after(url: str) -> Any:
    answer = httpx.post(url, json={"colour": "RED"}, timeout=60).json()
    return answer.get("recovery_feedback", {}).get("suggestions", [{}])[0].get("parameters", {}).get("colour")


def test_a_url_is_fetched_and_told(api: str) -> None:
    with proxied(api, "--spec", f"{api}/openapi.json") as (url, process):
        assert colour_after(f"{url}/flowers") == "red"
        process.terminate()
        assert process.stderr is not None
        assert f"corrigible proxy: {api}/openapi.json: 1 operation\n" in process.stderr.read()


def test_a_url_that_gives_nothing(api: str) -> None:
    done = run(["corrigible", "proxy", "--upstream", api, "--spec", f"{api}/none.json"])
    assert done.returncode == 2
    assert f"--spec {api}/none.json: the server answers 404" in done.stderr


def test_credentials_of_a_url_are_told_to_nobody(api: str) -> None:
    secret = api.replace("http://", "http://me:s3cret@")
    done = run(
        ["corrigible", "proxy", "--upstream", api, "--spec", f"{secret}/none.json?key=s3cret"],
    )
    assert done.returncode == 2
    assert f"--spec {api}/none.json?...: the server answers 404" in done.stderr
    assert "s3cret" not in done.stdout + done.stderr


def test_several_descriptions(api: str, tmp_path: Path) -> None:
    specs = []
    for path, colour in (("/flowers", "red"), ("/cars", "Red")):
        file = tmp_path / f"{path[1:]}.json"
        file.write_text(json.dumps(described(path, colour)), "utf-8")
        specs += ["--spec", str(file)]
    with proxied(api, *specs) as (url, _):
        assert [colour_after(f"{url}/flowers"), colour_after(f"{url}/cars")] == ["red", "Red"]


@pytest.mark.parametrize("base", ["/garden", "/api"])
def test_a_base_path_that_is_missing_is_told_and_taken(api: str, tmp_path: Path, base: str) -> None:
    file = tmp_path / "flowers.json"
    file.write_text(json.dumps(described("/flowers", "red")), "utf-8")
    with proxied(api, "--spec", str(file)) as (url, process):
        for _ in range(2):
            colour_after(f"{url}{base}/flowers")
        process.terminate()
        assert process.stderr is not None
        hint = f"the description has /flowers, requests come to {base}/flowers: start with --base {base}?\n"
        assert process.stderr.read().count(hint) == 1
    with proxied(api, "--spec", str(file), "--base", f"{base}/") as (url, _):
        assert [colour_after(f"{url}{base}/flowers"), colour_after(f"{url}/flowers")] == ["red", "red"]


@pytest.mark.parametrize("base", ["api", "/a?b", "/{x}"])
def test_a_base_that_is_no_path(api: str, base: str) -> None:
    done = run(
        ["corrigible", "proxy", "--upstream", api, "--spec", "x.json", "--base", base],
    )
    assert (done.returncode, done.stderr) == (2, f"corrigible proxy: --base {base}: not a path such as /api\n")
