"""`corrigible run`: commands as people have them, whose calls of known hosts are corrected."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml

from corrigible.adapters.sandbox.certificate import Files, make_certificate
from corrigible.adapters.sandbox.server import free_port
from corrigible.proxy.cli import main
from corrigible.proxy.client_environment import Kubeconfig, environment
from tests._support.command import run as started
from tests._support.command import start as begun
from tests._support.fastapi_service import app
from tests._support.rows import rows

REFUSED = {"room": "singel", "nights": 1, "arrival": "2026-12-01", "guests": [{"name": "A", "age": 30}]}
CLIENTS = {
    "httpx": "import httpx; print(httpx.post(url, json=body).text)",
    "requests": "import requests; print(requests.post(url, json=body).text)",
    "urllib": """
import urllib.error, urllib.request
request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as refused:
    print(refused.read().decode())
""",
}
"""Programs in Python; curl and Node.js are run as they are."""
PEER = """
import http.client, json, os, ssl, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
connection = http.client.HTTPSConnection(proxy.hostname, proxy.port, context=ssl.create_default_context())
connection.set_tunnel("localhost", int(sys.argv[1]))
connection.connect()
print(dict(one[0] for one in connection.sock.getpeercert()["issuer"]).get("commonName"))
"""


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def port(tls: Files) -> Iterator[int]:
    """The port of a service that refuses by itself."""
    config = uvicorn.Config(app, port=free_port(), log_level="error", ssl_keyfile=tls.key, ssl_certfile=tls.certificate)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield config.port
    server.should_exit = True
    thread.join(60)


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("description") / "openapi.json"
    file.write_text(json.dumps(app.openapi()), "utf-8")
    return file


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def run(home: Path, tls: Files, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {"XDG_DATA_HOME": str(home), "SSL_CERT_FILE": str(tls.authority), "KUBECONFIG": str(home / "none")}
    return started(["corrigible", "run", *words], env={**os.environ, **kept})


def test_clients_that_nobody_changed_get_corrections(home: Path, tls: Files, port: int, description: Path) -> None:
    url = f"https://localhost:{port}/bookings"
    start = f"import json\nurl, body = {url!r}, {REFUSED!r}\n"
    calls = {name: [sys.executable, "-c", start + program] for name, program in CLIENTS.items()}
    calls["curl"] = [
        "curl",
        "--silent",
        url,
        "--header",
        "Content-Type: application/json",
        "--data",
        json.dumps(REFUSED),
    ]
    missed = {}
    for name, call in calls.items():
        done = run(home, tls, "--spec", f"localhost:{port}={description}", "--", *call)
        try:
            patch = json.loads(done.stdout)["recovery_feedback"]["suggestions"][0]["patch"]
        except (ValueError, LookupError):
            missed[name] = (done.stdout, done.stderr)
            continue
        assert patch[-1] == {"op": "replace", "path": "/body/room", "value": "single"}, name
        assert "422 POST /bookings (createBooking) corrected" in done.stderr, name
        assert "corrigible run: 1 request, 1 refusal: 1 corrected" in done.stderr, name
    assert not missed


def issuer(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_host_that_is_not_known_is_tunnelled(home: Path, tls: Files, port: int, description: Path) -> None:
    words = ["--", sys.executable, "-c", PEER, str(port)]
    known = f"localhost:{port}={description}"
    assert issuer(run(home, tls, "--spec", known, *words)) == "Corrigible on this machine"
    other = run(home, tls, "--spec", f"localhost:{port + 1}={description}", *words)
    assert issuer(other) == "Corrigible sandbox CA"
    said = f"corrigible run: no call of localhost:{port + 1} came: is it the host that the command calls?"
    assert other.stderr.splitlines()[-1] == said
    assert issuer(alone := run(home, tls, *words)) == "Corrigible sandbox CA"
    assert "no call" not in alone.stderr  # nobody has named a host


def test_without_mitmproxy_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("corrigible.proxy.command.options.find_spec", lambda name: None)
    for words in (["run", "--", "true"], ["doctor"]):
        assert main(words) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"corrigible {words[0]} needs: ") and line.endswith("[mitmproxy]'")


def test_the_authority_is_kept_and_only_its_owner_reads_the_key(home: Path, tls: Files) -> None:
    run(home, tls, "--", "true")
    key, certificate = home / "corrigible/mitmproxy-ca.pem", home / "corrigible/mitmproxy-ca-cert.pem"
    before = certificate.read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700
    run(home, tls, "--", "true")
    assert certificate.read_bytes() == before


@rows(
    ("words", "status", "says"),
    [
        (["--", "sh", "-c", "exit 7"], 7, ""),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL, ""),
        (["--", "sh", "-c", "kill -TERM $PPID; exec sleep 60"], 128 + signal.SIGTERM, ""),
        (["--", "no-such-command"], 127, "corrigible run: no-such-command: no such command\n"),
        (["--", "/"], 126, "corrigible run: /: permission denied\n"),
        ([], 2, "corrigible run: a command is required: corrigible run -- COMMAND\n"),
        (["--spec", "x.yaml", "--", "true"], 2, "expected HOST=FILE, such as api.example.com=openapi.yaml\n"),
        (["--pack", "http", "--", "true"], 2, "--pack http: it names no hosts; give --pack HOST=http\n"),
        (["--drift", "--pack", "localhost=http", "--", "true"], 2, "give --spec, or --descriptors for gRPC\n"),
        (["--mode", "loud", "--", "true"], 2, "--mode loud: expected none, traditional, verbose, reflective\n"),
    ],
)
def test_the_exit_status_is_that_of_the_command(
    words: list[str], status: int, says: str, home: Path, tls: Files
) -> None:
    done = run(home, tls, *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.endswith(says) if says else done.stderr == ""


def test_what_the_command_trusted_before_it_trusts_now(tmp_path: Path) -> None:
    found = environment(
        {"NO_PROXY": "internal.example, api.example.com", "A": "b"}, "http://p", ["api.example.com"], tmp_path
    )
    assert found["NO_PROXY"] == found["no_proxy"] == "internal.example,localhost,127.0.0.1,::1"
    assert found["A"] == "b"
    assert {found[one] for one in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")} == {"http://p"}
    assert "127.0.0.1" not in environment({}, "http://p", ["127.0.0.1:8000"], tmp_path)["NO_PROXY"].split(",")


def test_clusters_of_a_kubeconfig_are_known(tmp_path: Path, tls: Files) -> None:
    file = tmp_path / "config"
    user: dict[str, Any] = {"client-certificate": str(tls.certificate), "client-key": str(tls.key)}
    cluster = {"server": "https://10.0.0.1:6443", "certificate-authority": str(tls.authority)}
    data: dict[str, Any] = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [
            {"name": "k", "cluster": cluster},
            {"name": "plain", "cluster": {"server": "http://10.0.0.2"}},
            {"name": "unverified", "cluster": {"server": "https://10.0.0.3", "insecure-skip-tls-verify": True}},
            {"name": "behind", "cluster": {"server": "https://10.0.0.4", "proxy-url": "http://proxy.example:3128"}},
        ],
        "users": [{"name": "u", "user": user}],
    }
    file.write_text(yaml.safe_dump(data), "utf-8")
    found = Kubeconfig({"KUBECONFIG": str(file)})
    (known,) = found.clusters
    assert (known.name, known.host) == ("k", "10.0.0.1:6443")
    assert known.authority == tls.authority.read_text("utf-8")
    assert known.credentials == f"{tls.certificate.read_text('utf-8')}\n{tls.key.read_text('utf-8')}"
    copy = yaml.safe_load(found.copy(Path("/ours.pem"), "http://127.0.0.1:4711"))
    ours = {"certificate-authority": "/ours.pem", "proxy-url": "http://127.0.0.1:4711"}
    assert copy["clusters"][0]["cluster"] == {"server": "https://10.0.0.1:6443", **ours}
    assert [one["cluster"] for one in copy["clusters"][1:]] == [one["cluster"] for one in data["clusters"][1:]]
    assert copy["users"] == data["users"]
    assert copy["current-context"] == "c"
    assert not Kubeconfig({"KUBECONFIG": str(tmp_path / "none")}).clusters


def test_apis_of_a_configuration_are_known_by_their_host(
    home: Path, tls: Files, port: int, description: Path, tmp_path: Path
) -> None:
    """A host of its own, else that of the upstream: `prefix` is the proxy's, and means nothing here."""
    config, report = tmp_path / "corrigible.yaml", tmp_path / "report.json"
    api: dict[str, Any] = {"name": "bookings", "upstream": f"https://localhost:{port}", "spec": [str(description)]}
    curl = ["curl", "--silent", f"https://localhost:{port}/bookings?limit=101"]
    for more in ({"prefix": "/bookings"}, {"host": "localhost", "upstream": "https://elsewhere.example"}):
        config.write_text(yaml.safe_dump({"apis": [{**api, **more}]}), "utf-8")
        done = run(home, tls, "--config", str(config), "--report", str(report), "--", *curl)
        assert "recovery_feedback" in json.loads(done.stdout), done.stderr
        (row,) = json.loads(report.read_text("utf-8"))["operations"]
        assert (row["operation"], row["refused"]) == ("bookings: listBookings", 1)
    config.write_text(yaml.safe_dump({"upstream": api["upstream"], "spec": api["spec"]}), "utf-8")
    done = run(home, tls, "--config", str(config), "--", "true")
    assert (done.returncode, "it has no apis" in done.stderr) == (2, True)


def test_each_signal_reaches_the_command_once(home: Path, tls: Files) -> None:
    """Without a terminal whose signals reach the command anyway: what the process is sent, it hands on."""
    program = """
import signal, sys
heard = []
for one in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM):
    signal.signal(one, lambda number, _: (heard.append(number), print(number, flush=True)))
print("ready", flush=True)
while signal.SIGTERM not in heard:
    signal.pause()
"""
    kept = {**os.environ, "XDG_DATA_HOME": str(home), "SSL_CERT_FILE": str(tls.authority), "KUBECONFIG": "/none"}
    words = ["corrigible", "run", "--quiet", "--", sys.executable, "-c", program]
    with begun(words, env=kept, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGTERM):
                process.send_signal(number)
                assert process.stdout.readline() == f"{int(number)}\n"
            assert process.stdout.read() == ""
            assert process.wait(60) == 0
        finally:
            process.kill()
