"""`corrigible proxy --grpc-upstream` as a user starts and stops it: TLS, arguments, the journal, the end."""

from __future__ import annotations

import importlib
import json
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.sandbox.server import free_port
from tests._support.rows import rows

grpc: Any = importlib.import_module("grpc")


def credentials(certificates: Any) -> Any:
    return grpc.ssl_server_credentials([(certificates.key.read_bytes(), certificates.certificate.read_bytes())])


def trusting(certificates: Any) -> Any:
    return grpc.ssl_channel_credentials(certificates.authority.read_bytes())


STARTING = "corrigible proxy: starting\n"
DENIED = json.dumps({"code": 7, "message": "not you", "headers": 1}).encode()


class TestTls:
    @pytest.mark.parametrize("scheme", ["https://", "grpcs://", ""])
    def test_of_the_upstream_by_its_ca(self, scheme: str, rpc: Any, probe: Any, certificates: Any) -> None:
        with (
            rpc.served(probe.handlers(), credentials=credentials(certificates)) as port,
            rpc.started(f"{scheme}127.0.0.1:{port}", "--upstream-ca", str(certificates.authority)) as proxy,
            rpc.channel(proxy.port) as channel,
        ):
            seen = rpc.observe(channel, "Echo", b"hello")
            assert (seen.messages, seen.code) == ([b"hello"], "OK")
            assert rpc.observe(channel, "Fail", DENIED).message == "not you"
            assert proxy.line == f"corrigible: 127.0.0.1:{proxy.port} -> grpcs://127.0.0.1:{port} (grpc; reflective)\n"

    def test_of_the_upstream_by_whatever_it_shows(self, rpc: Any, probe: Any, certificates: Any) -> None:
        with (
            rpc.served(probe.handlers(), credentials=credentials(certificates)) as port,
            rpc.started(f"localhost:{port}", "--upstream-insecure") as proxy,
            rpc.channel(proxy.port) as channel,
        ):
            assert rpc.observe(channel, "Echo", b"hello").messages == [b"hello"]
            assert proxy.line.splitlines()[0] == (
                "corrigible proxy: --upstream-insecure: whatever certificate the upstream shows now is taken, "
                "and no other one until the end"
            )

    def test_of_an_upstream_of_another_name(self, rpc: Any, probe: Any, tmp_path: Path) -> None:
        """Its certificate is for a name that it is not called by: still believed where anybody is, else not."""
        certificate, key = named(tmp_path, "*.other.test")
        server = grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
        with rpc.served(probe.handlers(), credentials=server) as port:
            with rpc.started(port, "--upstream-insecure") as proxy, rpc.channel(proxy.port) as channel:
                assert rpc.observe(channel, "Echo", b"hello").messages == [b"hello"]
            with rpc.started(port, "--upstream-ca", str(certificate)) as proxy, rpc.channel(proxy.port) as channel:
                assert rpc.observe(channel, "Echo", b"hello").code == "UNAVAILABLE"

    def test_of_the_upstream_that_nobody_vouches_for(self, rpc: Any, probe: Any, certificates: Any) -> None:
        with (
            rpc.served(probe.handlers(), credentials=credentials(certificates)) as port,
            rpc.started(f"https://127.0.0.1:{port}") as proxy,
            rpc.channel(proxy.port) as channel,
        ):
            assert rpc.observe(channel, "Echo", b"hello").code == "UNAVAILABLE"

    def test_with_a_client_certificate(self, rpc: Any, probe: Any, certificates: Any, tmp_path: Path) -> None:
        certificate, key = named(tmp_path, "client")
        pair = tmp_path / "pair.pem"
        pair.write_bytes(certificate.read_bytes() + key.read_bytes())
        chain = (certificates.key.read_bytes(), certificates.certificate.read_bytes())
        asking = grpc.ssl_server_credentials([chain], certificate.read_bytes(), require_client_auth=True)
        with rpc.served(probe.handlers(), credentials=asking) as port:
            words = ["--upstream-ca", str(certificates.authority)]
            with (
                rpc.started(port, *words, "--upstream-cert", str(pair)) as proxy,
                rpc.channel(proxy.port) as channel,
            ):
                assert rpc.observe(channel, "Echo", b"hello").messages == [b"hello"]
            with rpc.started(port, *words) as proxy, rpc.channel(proxy.port) as channel:
                assert rpc.observe(channel, "Echo", b"hello").code == "UNAVAILABLE"

    def test_of_callers(self, rpc: Any, probe: Any, certificates: Any) -> None:
        words = ["--tls-cert", str(certificates.certificate), "--tls-key", str(certificates.key)]
        with (
            rpc.started(probe.port, *words) as proxy,
            rpc.channel(proxy.port, trusting(certificates)) as channel,
        ):
            assert rpc.observe(channel, "Echo", b"hello").messages == [b"hello"]
            assert rpc.observe(channel, "Fail", DENIED).details is not None


def named(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a certificate for a name that vouches for itself, and its key."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, SHA256())
    )
    paths = folder / "own.crt", folder / "own.key"
    paths[0].write_bytes(made.public_bytes(Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return paths


ONE_OF_TWO = "--upstream-ca and --upstream-insecure: use only one of them"
NOT_WITH = "cannot be used with --grpc-upstream"


@rows(
    ("words", "said"),
    [
        (["nothing"], "--grpc-upstream nothing: not HOST:PORT or https://HOST:PORT"),
        (["a.test:0"], "--grpc-upstream a.test:0: not HOST:PORT or https://HOST:PORT"),
        (["ftp://a.test:1"], "--grpc-upstream ftp://a.test:1: not HOST:PORT or https://HOST:PORT"),
        (["grpcs://a.test"], "--grpc-upstream grpcs://a.test: not HOST:PORT or https://HOST:PORT"),
        (["https://a.test/api"], "--grpc-upstream https://a.test/api: not HOST:PORT or https://HOST:PORT"),
        (["127.0.0.1:8080"], "--grpc-upstream 127.0.0.1:8080: this is the proxy's own address (--listen)"),
        (["a.test:1", "--upstream", "http://b.test"], f"--upstream {NOT_WITH}"),
        (["a.test:1", "--engine-mode", "regular"], f"--engine-mode {NOT_WITH}"),
        (["a.test:1", "--spec", "x.yaml"], f"--spec {NOT_WITH}"),
        (["http://a.test:1", "--upstream-insecure"], f"--upstream-insecure {NOT_WITH} http://a.test:1: it needs TLS"),
        (["a.test:1", "--upstream-ca", "x", "--upstream-insecure"], ONE_OF_TWO),
        (["a.test:1", "--upstream-ca", "no.pem"], "--upstream-ca no.pem: no such file or directory"),
        (["a.test:1", "--upstream-cert", "no.pem"], "--upstream-cert no.pem: no such file or directory"),
        (["a.test:1", "--tls-key", "no.pem"], "--tls-key needs --tls-cert"),
        (["a.test:1", "--tls-cert", "no.pem"], "--tls-cert no.pem: no such file or directory"),
        (["a.test:1", "--time-limit", "-1"], "--time-limit -1: not a number of seconds above 0, at most 3600"),
        (["a.test:1", "--body-limit", "1.5"], "--body-limit 1.5: not a whole number of MiB from 1 to 64"),
        (["a.test:1", "--log", "no/log.jsonl"], "cannot write the log no/log.jsonl: no such file or directory"),
        (["a.test:1", "--descriptors", "no.binpb"], "no.binpb: cannot be read: no such file or directory"),
        (["a.test:1", "--mode", "loud"], "--mode loud: expected none, traditional, verbose, reflective"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)  # fmt: skip
def test_a_wrong_argument_is_one_line_and_2(
    words: list[str], said: str, rpc: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rpc.ended("--grpc-upstream", *words) == 2
    assert capsys.readouterr().err == f"corrigible proxy: {said}\n"


def test_nobody_to_believe_in_is_one_line_and_2(rpc: Any) -> None:
    port = free_port()
    words = ("--grpc-upstream", f"https://127.0.0.1:{port}", "--upstream-insecure")
    said = f"corrigible proxy: --upstream-insecure: 127.0.0.1:{port} shows no certificate: connection refused\n"
    assert rpc.ended_apart(*words) == (2, STARTING + said)


def test_an_upstream_in_the_clear_shows_no_certificate(rpc: Any, probe: Any) -> None:
    status, said = rpc.ended_apart("--grpc-upstream", f"127.0.0.1:{probe.port}", "--upstream-insecure")
    assert status == 2
    line = said.removeprefix(STARTING)
    assert line.startswith(f"corrigible proxy: --upstream-insecure: 127.0.0.1:{probe.port} shows no certificate: ")
    assert line.count("\n") == 1


def test_an_address_that_is_taken_is_1(rpc: Any, probe: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        words = ("--grpc-upstream", f"127.0.0.1:{probe.port}", "--listen", f"127.0.0.1:{port}")
        said = f"corrigible proxy: cannot listen on 127.0.0.1:{port}"
        assert rpc.ended_apart(*words, "--engine", "mitmproxy") == (1, f"{STARTING}{said}\n")
        status, lines = rpc.ended_apart(*words, "--engine", "envoy")
        assert status == 1 and lines.endswith(f"{said}: address already in use\n")


def test_the_journal_has_one_line_for_each_call(rpc: Any, probe: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with rpc.started(probe.port, "--log", str(log)) as proxy, rpc.channel(proxy.port) as channel:
        rpc.observe(channel, "Echo", b"hello", metadata=(("authorization", "Bearer secret"),))
        rpc.observe(channel, "Fail", DENIED)
        rpc.observe(channel, "Fail", DENIED, metadata=(("recovery-feedback", "none"),))
        probe.cancelled.clear()
        probe.begun.clear()
        call = channel.unary_unary("/probe.v1.Probe/Sleep", None, None).future(b"", timeout=rpc.PATIENCE)
        assert probe.begun.wait(rpc.PATIENCE)
        call.cancel()  # at a deadline it is open whether the caller goes first or the upstream says so
        assert probe.cancelled.wait(rpc.PATIENCE)
        assert proxy.stop()[0] == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    said = [(line["method"], line["path"], line["status"], line["outcome"], line["reason"]) for line in lines]
    path = "/probe.v1.Probe"
    assert said == [
        ("GRPC", f"{path}/Echo", 200, "untouched", None),
        ("GRPC", f"{path}/Fail", 403, "annotated", "annotated"),
        ("GRPC", f"{path}/Fail", 403, "untouched", "mode is none"),
        ("GRPC", f"{path}/Sleep", None, "failed", None),
    ]
    assert lines[1]["rules"] == ["grpc.permission-denied"]
    assert lines[3]["error"] == "the caller went away"
    assert "secret" not in log.read_text()


@pytest.mark.parametrize("mode", ["none", "reflective"])
def test_the_mode_is_the_routes_where_a_caller_does_not_ask(mode: str, rpc: Any, probe: Any) -> None:
    with rpc.started(probe.port, "--mode", mode) as proxy, rpc.channel(proxy.port) as channel:
        assert (rpc.observe(channel, "Fail", DENIED).details is not None) is (mode == "reflective")
        for asked in ("none", "reflective"):
            seen = rpc.observe(channel, "Fail", DENIED, metadata=(("recovery-feedback", asked),))
            assert (seen.details is not None) is (asked == "reflective")


def test_of_several_packs_the_one_that_knows_speaks(rpc: Any, probe: Any, write_pack: Any, tmp_path: Path) -> None:
    """A rule of a later pack comes before what an earlier one says of every refusal of that kind."""
    pack = write_pack(
        mine="""
            match: {message: '^not you$'}
            suggest:
              - {action: ESCALATE, actor: somebody_else, message: Ask Ada., parameters: {missing: "'a yes'"}}
            """
    )
    log = tmp_path / "log.jsonl"
    words = ["--pack", "grpc", "--pack", str(pack), "--log", str(log)]
    with rpc.started(probe.port, *words) as proxy, rpc.channel(proxy.port) as channel:
        assert "(grpc, apex; reflective)" in proxy.line
        rpc.observe(channel, "Fail", DENIED)
        rpc.observe(channel, "Fail", json.dumps({"code": 10, "message": "raced"}).encode())
        proxy.stop()
    assert [json.loads(line)["rules"] for line in log.read_text().splitlines()] == [["apex.mine"], ["grpc.aborted"]]


def test_it_finishes_what_is_under_way_and_exits_0(rpc: Any, probe: Any) -> None:
    probe.begun.clear()
    with rpc.started(probe.port) as proxy, rpc.channel(proxy.port) as channel:
        call = channel.unary_unary("/probe.v1.Probe/Sleep", None, None).future(b"1.0", timeout=rpc.PATIENCE)
        assert probe.begun.wait(rpc.PATIENCE)
        proxy.process.send_signal(signal.SIGTERM)
        assert call.result() == b"slept"
        assert proxy.process.wait(rpc.PATIENCE) == 0


def test_told_twice_it_waits_for_nobody(rpc: Any, probe: Any) -> None:
    probe.begun.clear()
    probe.cancelled.clear()
    with rpc.started(probe.port) as proxy, rpc.channel(proxy.port) as channel:
        call = channel.unary_unary("/probe.v1.Probe/Sleep", None, None).future(b"300", timeout=rpc.PATIENCE)
        assert probe.begun.wait(rpc.PATIENCE)
        proxy.process.send_signal(signal.SIGTERM)
        time.sleep(0.05)  # two signals at once may count as one
        proxy.process.send_signal(signal.SIGINT)
        assert proxy.process.wait(rpc.PATIENCE) == 0  # the call itself would take 300 seconds
        assert call.exception(rpc.PATIENCE).code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        assert probe.cancelled.wait(rpc.PATIENCE)


def test_an_upstream_that_is_down_is_unavailable_until_it_is_up(rpc: Any, probe: Any) -> None:
    port = free_port()
    with rpc.channel(port) as direct, rpc.started(port) as proxy, rpc.channel(proxy.port) as channel:
        assert rpc.observe(direct, "Echo", b"").code == "UNAVAILABLE"
        seen = rpc.observe(channel, "Echo", b"", metadata=(("recovery-feedback", "none"),))
        assert (seen.code, seen.messages, seen.details) == ("UNAVAILABLE", [], None)
        with rpc.served(probe.handlers(), port=port):
            deadline = time.monotonic() + rpc.PATIENCE
            while (seen := rpc.observe(channel, "Echo", b"x")).code != "OK":
                assert time.monotonic() < deadline, "it is tried again within a second"
                time.sleep(0.01)
            assert seen.messages == [b"x"]
