"""Three correctors as their command starts them, behind a real Envoy that is configured as the command says."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from corrigible.proxy.cli import main
from tests._support.command import start
from tests._support.envoy_proxy import EnvoyBench as Bench
from tests._support.envoy_proxy import configured_envoy

JSON = b"Content-Type: application/json\r\n"
RULE = "match: {status: 400}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n"
XML = Bench.message(b"400 Bad Request", b"Content-Type: application/xml\r\n", b"<e><code>bad</code></e>")
CALLERS = [f"Authorization: Bearer {name}\r\n".encode() for name in ("one", "two", "three", "four", "five", "six")]


class Placed(NamedTuple):
    port: int
    correctors: list[subprocess.Popen[str]]
    upstream: Any


@contextmanager
def corrector(address: str, words: list[str]) -> Iterator[subprocess.Popen[str]]:
    command = ["corrigible", "corrector", "--listen", address, *words]
    with start(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(f"corrigible corrector: {address} ")
            yield process
        finally:
            process.kill()


@pytest.fixture
def placed(write_pack: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Placed]:
    with ExitStack() as stack:
        upstream = stack.enter_context(Bench.upstream({"/xml": XML}))
        pack = write_pack(x=RULE)
        words = ["--upstream", f"http://127.0.0.1:{upstream.port}", "--pack", str(pack), "--time-limit", "20"]
        addresses = [f"unix:{tmp_path / f'{number}.sock'}" for number in range(3)]
        running = [stack.enter_context(corrector(address, words)) for address in addresses]
        capsys.readouterr()
        named = [word for address in addresses for word in ("--corrector", address)]
        assert main(["envoy", "config", "--listen", "127.0.0.1:0", *named, *words]) == 0
        port = stack.enter_context(configured_envoy(yaml.safe_load(capsys.readouterr().out)))
        yield Placed(port, running, upstream)


def link_of(port: int, own: bytes) -> str:
    head = Bench.ask(port, "/xml", "POST", b'{"a":2}', JSON + own).partition(b"\r\n\r\n")[0]
    link = re.search(rb"(?i)^link: <([^>]+)>", head, re.MULTILINE)
    assert link is not None, head
    return link[1].decode()


def test_documents_are_found_wherever_they_are_by_their_owners_and_while_their_corrector_lives(placed: Placed) -> None:
    port, upstream = placed.port, placed.upstream
    links = {own: link_of(port, own) for own in CALLERS}
    native = Bench.message(b"404 Not Found", b"", b"native")
    upstream.answers.update(dict.fromkeys(links.values(), native))
    # A caller that gives itself a name goes to another corrector, and is the same one by its credentials.
    renamed = [b'Prefer: recovery-feedback=reflective; caller="%d"\r\n' % number for number in range(8)]
    for own, target in links.items():
        for headers in (own, *(own + name for name in renamed)):
            answer = Bench.ask(port, target, headers=headers)
            assert answer.startswith(b"HTTP/1.1 200 "), answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["suggestions"]
        for other in CALLERS:
            if other != own:
                assert Bench.ask(port, target, headers=other).endswith(b"native")
        assert Bench.ask(port, target).endswith(b"native")
    placed.correctors[0].kill()
    placed.correctors[0].wait(60)
    found = []
    for own, target in links.items():
        answer = Bench.ask(port, target, headers=own)
        assert answer.startswith(b"HTTP/1.1 200 ") or answer.endswith(b"native"), answer
        found.append(answer.startswith(b"HTTP/1.1 200 "))
    assert True in found  # six callers are not all of one corrector
    for own in CALLERS:
        answer = Bench.ask(port, "/xml", "POST", b'{"a":2}', JSON + own)
        assert Bench.seen(answer).body == b"<e><code>bad</code></e>"
