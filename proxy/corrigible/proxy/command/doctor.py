"""`corrigible doctor`: which programs of this machine `corrigible run` works for, each tried with one call.

A server of its own on 127.0.0.1, with a certificate that nobody knows, refuses a call of each client. The client works
if the answer that it prints has a correction: its call came through the proxy, and it trusted the proxy's certificate.
"""

from __future__ import annotations

import argparse
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Final, NamedTuple

from . import options

_PYTHON: Final[Mapping[str, str]] = {
    "urllib": """
import urllib.error, urllib.request
try:
    urllib.request.urlopen(url)
except urllib.error.HTTPError as refused:
    print(refused.read().decode())
""",
    "requests": "import requests\nprint(requests.get(url).text)",
    "httpx": "import httpx\nprint(httpx.get(url).text)",
    "aiohttp": """
import asyncio, aiohttp
async def call():
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(url) as answer:
        print(await answer.text())
asyncio.run(call())
""",
}
_NODE: Final = "fetch(process.argv[1]).then(answer => answer.text()).then(console.log)"
_HINTS: Final[Mapping[str, str]] = {
    "aiohttp": "a session reads the environment only with ClientSession(trust_env=True)",
    "pycurl": "it trusts only what it is told: curl.setopt(pycurl.CAINFO, os.environ['SSL_CERT_FILE'])",
    "stripe": "it trusts only the certificates of its own package: stripe.ca_bundle_path = os.environ['SSL_CERT_FILE']",
}
"""What else a package of Python needs in the program."""
_WGET: Final = 'one with GnuTLS needs --ca-certificate="$SSL_CERT_FILE"'
_GO: Final = "it calls 127.0.0.1 directly; for other hosts it reads HTTPS_PROXY and SSL_CERT_FILE"
_ANSWER: Final = json.dumps({"error": {"field": "limit", "message": "limit must be an integer"}}).encode()
_DESCRIPTION: Final[Mapping[str, Any]] = {
    "openapi": "3.0.3",
    "info": {"title": "Doctor", "version": "1"},
    "paths": {
        "/check": {
            "get": {
                "operationId": "check",
                "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
                "responses": {"400": {"description": "refused"}},
            }
        }
    },
}
_CORRECTION: Final = "recovery_feedback"
_SECONDS: Final = 120
_NO_CERTIFICATE: Final = ("certificate", "CERT_", "SSL")
_CALLS: Final = """
import json, subprocess, sys
printed = []
for words in json.load(open(sys.argv[1])):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=int(sys.argv[2]))
        printed.append((done.stdout, done.stderr))
    except subprocess.TimeoutExpired:
        printed.append(("", "it had no answer in " + sys.argv[2] + " s"))
print(json.dumps(printed))
"""
"""Makes the calls one after the other, so that one proxy does for all."""


class Client(NamedTuple):
    """A client of this machine, and how it is tried."""

    name: str
    words: Sequence[str]
    hint: str = ""


def add(commands: options.Subparsers) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "doctor",
        description="Try `corrigible run` with the HTTP clients of this machine: one call each, to 127.0.0.1.",
    )
    parser.add_argument("--python", metavar="FILE", default=sys.executable, help="the Python whose packages are tried")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Try each client. Exit status: 0 all work, 1 one does not."""
    options.need_mitmproxy("corrigible doctor")
    proxy = next((f"{name}={os.environ[name]}" for name in ("HTTPS_PROXY", "https_proxy") if os.environ.get(name)), "")
    if proxy:
        print(f"note: {proxy} is not used by `corrigible run`: its proxy calls APIs itself")
    failed = 0
    with TemporaryDirectory(prefix="corrigible-") as name, _server(Path(name)) as port:
        found = [*clients(given.python, f"https://localhost:{port}/check?limit=many")]
        printed = iter(_called([one.words for one in found if one.words], port, Path(name)))
        for client in found:
            problem = _problem(*next(printed)) if client.words else ""
            failed += bool(problem)
            said = problem or ("works" if client.words else "not tried")
            print(f"{client.name}: {said}" + (f" ({client.hint})" if client.hint else ""))
    return 1 if failed else 0


def clients(python: str, url: str) -> Iterator[Client]:
    """Yield the clients that are here; those without words cannot be tried."""
    if which("curl"):
        yield Client("curl", ["curl", "--silent", "--show-error", url])
    if which("wget"):
        yield Client("wget", ["wget", "--no-verbose", "--output-document=-", "--content-on-error", url], _WGET)
    for package, program in _PYTHON.items():
        if _has(python, package):
            words = [python, "-c", f"url = {url!r}\n{program}"]
            yield Client(f"Python, {package}", words, _HINTS.get(package, ""))
    yield from (Client(f"Python, {one}", [], _HINTS[one]) for one in ("pycurl", "stripe") if _has(python, one))
    if which("node"):
        yield Client("Node.js, fetch", ["node", "-e", _NODE, url])
    if which("go"):
        yield Client("Go", [], _GO)


def _has(python: str, package: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", code], check=False, capture_output=True).returncode == 0


def _called(calls: Sequence[Sequence[str]], port: int, folder: Path) -> Sequence[tuple[str, str]]:
    """Return what each call printed, and what it said of errors."""
    (folder / "calls.json").write_text(json.dumps(calls), "utf-8")
    own = [sys.executable, "-m", "corrigible.proxy.cli", "run", "--quiet"]
    own += ["--spec", f"localhost:{port}={folder / 'openapi.json'}", "--"]
    done = subprocess.run(
        [*own, sys.executable, "-c", _CALLS, str(folder / "calls.json"), str(_SECONDS)],
        env={**os.environ, "SSL_CERT_FILE": str(folder / "ca.crt")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    printed: Sequence[tuple[str, str]] = json.loads(done.stdout)
    return printed


def _problem(output: str, errors: str) -> str:
    """Return why a client does not work, empty where it does."""
    if _CORRECTION in output:
        return ""
    if _ANSWER.decode() in output:
        return "does not call through the proxy: it reads no HTTPS_PROXY"
    lines = errors.strip().splitlines() or ["it printed nothing"]
    about = [line for line in lines if any(word in line for word in _NO_CERTIFICATE)]
    return f"does not trust the proxy: {about[-1][:200]}" if about else f"fails: {lines[-1][:200]}"


class _Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(_ANSWER)))
        self.end_headers()
        self.wfile.write(_ANSWER)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def _server(folder: Path) -> Iterator[int]:
    """Serve, with a certificate of an authority in the folder; give the port."""
    from corrigible.adapters.sandbox.certificate import make_certificate

    files = make_certificate(folder)
    (folder / "openapi.json").write_text(json.dumps(_DESCRIPTION), "utf-8")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
