"""`corrigible sandbox kubernetes` and the demo: what they say, what they leave behind, and what they need."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from corrigible.adapters.apis.kubernetes.sandbox import ADMISSION, ASSETS, apiserver, find_apiserver, find_etcd
from corrigible.adapters.sandbox.certificate import make_certificate
from corrigible.adapters.sandbox.server import SandboxError, free_port
from tests._support.command import run, start

COMMAND = ["corrigible"]
NEEDS_ASSETS = pytest.mark.skipif(not os.environ.get(ASSETS), reason=f"{ASSETS} names no folder with a kube-apiserver")


def below(pid: int) -> set[int]:
    """Return all descendants of a process."""
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return set(children).union(*map(below, children))


@NEEDS_ASSETS
def test_it_says_how_to_get_in_and_leaves_nothing_behind() -> None:
    port = free_port()
    with start(
        [*COMMAND, "sandbox", "kubernetes", "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            said = [process.stdout.readline().rstrip("\n") for _ in range(4)]
            url = f"https://127.0.0.1:{port}"
            assert said[0] == (
                f"kube-apiserver listening on {url}; it has no nodes and no controllers: "
                "pods stay pending, quotas are not counted"
            )
            found = re.fullmatch(r"  kubeconfig  (.+)", said[1])
            assert found is not None
            config = Path(found[1])
            ca = config.with_name("ca.crt")
            assert said[2:] == [
                f"  CA          {ca}",
                "  tokens      admin-token (system:masters), developer-token (developers)",
            ]
            assert (config.stat().st_mode & 0o077, config.parent.stat().st_mode & 0o777) == (0, 0o700)
            assert json.loads(config.read_text())["clusters"][0]["cluster"] == {
                "server": url,
                "certificate-authority": str(ca),
            }
            with httpx.Client(verify=ssl.create_default_context(cafile=ca), base_url=url, timeout=60) as client:

                def status(token: str) -> int:
                    headers = {"authorization": f"Bearer {token}"}
                    return client.get("/api/v1/namespaces", headers=headers).status_code

                assert [status(token) for token in ("admin-token", "developer-token", "no")] == [200, 403, 401]
            started = below(process.pid)  # beside the servers what forks them, in tests
            names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in started]
            assert sorted({"etcd", "kube-apiserver"} & {*names}) == ["etcd", "kube-apiserver"]
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=240)
            assert (process.returncode, out, err) == (0, "", "")
        finally:
            process.kill()
    assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []
    assert not config.parent.exists()


@NEEDS_ASSETS
@pytest.mark.parametrize("by", ["argument", "environment"])
def test_an_unknown_admission_plugin_is_reported_in_the_servers_words(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "environment":
        monkeypatch.setenv(ADMISSION, "NoSuchThing")
    with pytest.raises(SandboxError, match=r'(?s)kube-apiserver ended with status 1:\n.* "NoSuchThing" is unknown'):
        apiserver(["NoSuchThing"] if by == "argument" else []).start()


@NEEDS_ASSETS
def test_the_death_of_one_of_the_two_is_the_end_of_both() -> None:
    with apiserver().start() as running:
        etcd = next(
            pid for pid in below(running.process.pid) if b"--data-dir" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        os.kill(etcd, signal.SIGKILL)
        assert running.process.wait(30) == 1
        assert "etcd ended with status -9" in running.output()


def test_without_a_kube_apiserver_it_says_where_to_get_one(tmp_path: Path) -> None:
    said = (
        "no kube-apiserver: set KUBEBUILDER_ASSETS to a folder that has one, such as `setup-envtest use -p path` "
        "downloads (go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use -p path)"
    )
    for environ in ({}, {ASSETS: ""}, {ASSETS: str(tmp_path)}):
        with pytest.raises(SandboxError) as caught:
            find_apiserver(environ)
        assert str(caught.value) == said
    bare = {name: value for name, value in os.environ.items() if name != ASSETS}
    for command in (["sandbox", "kubernetes"], ["demo", "kubernetes"]):
        done = run([*COMMAND, *command], env=bare)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"corrigible {command[0]}: {said}\n")


def test_the_etcd_beside_the_apiserver_comes_first(tmp_path: Path) -> None:
    assert find_etcd({}).name == "etcd"
    beside = tmp_path / "etcd"
    beside.touch(mode=0o755)
    assert find_etcd({ASSETS: str(tmp_path)}) == beside


def test_a_certificate_is_for_this_machine_only(tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    assert files.key.stat().st_mode & 0o077 == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(files.authority)
    (authority,) = context.get_ca_certs()
    assert authority["subject"] == authority["issuer"]


@NEEDS_ASSETS
def test_the_demo_shows_a_refused_deployment_and_its_correction() -> None:
    done = run([*COMMAND, "demo", "kubernetes"])
    assert (done.returncode, done.stderr) == (0, "")
    out = done.stdout.splitlines()
    statuses = [line.strip().partition(":")[0] for line in out if line.startswith(("   4", "   2"))]
    assert statuses == ["422 Unprocessable Entity", "422 Unprocessable Entity", "201 Created"]
    assert [line.strip() for line in out if " -> " in line] == [
        '/body/spec/template/metadata/labels/app: "store" -> "shop"',
        '/body/spec/template/spec/containers/0/resources/requests/memory: "512Mi" -> "256Mi"',
    ]
    assert len(out) <= 25
    assert max(map(len, out)) <= 88
