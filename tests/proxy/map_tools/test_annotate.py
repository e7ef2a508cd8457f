"""`corrigible map annotate`: people judge mappings on a page, and nothing that they say is lost or anybody else's."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.mapping.annotation import Verdict, read_annotations
from tests._support import chromium

CLI = [sys.executable, "-c", "import sys; from corrigible.proxy.cli import main; sys.exit(main())"]


def mapping(source: str, target: str, *fields: str, **members: Any) -> Any:
    return {
        "source": {"api": "old", "method": "GET", "path": source},
        "target": {"api": "new", "method": "GET", "path": target},
        "equivalence": "same",
        "score": 0.9,
        "arguments": [{"source": one, "target": one} for one in fields],
        **members,
    }


PROPOSED = [
    mapping("/a", "/x", "/query/limit", "/query/page"),
    mapping("/a", "/y", "/query/limit", score=0.5),
    mapping("/b", "/z"),
]


@pytest.fixture
def map_file(tmp_path: Path) -> Path:
    file = tmp_path / "map.json"
    file.write_text(json.dumps({"method": "by hand", "mappings": PROPOSED}))
    return file


@contextmanager
def served(*words: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run the command; give its port."""
    command = [*CLI, "map", "annotate", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "http://127.0.0.1:" in line, process.stderr.read() if process.stderr else line
            yield int(line.split("http://127.0.0.1:")[1].split()[0]), process
        finally:
            process.kill()


class Client:
    """What a page does, or another program that tries to."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = self.ask("GET", "/")[1].partition('corrigible-token" content="')[2].partition('"')[0]

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            data = json.dumps(body) if body is not None else None
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, data, given)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def state(self, annotator: str) -> Any:
        return json.loads(self.ask("GET", f"/state?annotator={annotator}", x_corrigible_token=self.token)[1])

    def judge(self, annotator: str, number: int, verdict: str, **members: Any) -> tuple[int, Any]:
        key = self.state(annotator)["proposals"][number]["key"]
        body = {"annotator": annotator, "number": number, "key": key, "verdict": verdict, **members}
        headers = {"content_type": "application/json", "x_corrigible_token": self.token}
        status, text = self.ask("POST", "/judgements", body, **headers)
        return status, json.loads(text)


def test_what_two_people_say_is_kept_apart_and_compared(map_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "said.jsonl"
    with served("--map", str(map_file), "--out", str(out)) as (port, _):
        client = Client(port)
        for number, verdict in enumerate(("accept", "reject", "accept")):
            assert client.judge("ann", number, verdict)[0] == 200
        for number, verdict in enumerate(("accept", "accept", "accept")):
            client.judge("bob", number, verdict)
        assert client.judge("bob", 1, "reject", note="second thoughts")[0] == 200
        state = client.state("ann")
        assert [state["said"][number]["verdict"] for number in ("0", "1", "2")] == ["accept", "reject", "accept"]
        assert "second thoughts" not in json.dumps(state)  # what others say would sway a judgement
        agreement = {"one": "ann", "other": "bob", "shared": 3, "same": 3, "kappa": 1.0}
        assert state["agreement"] == [agreement]
        exported = client.ask("GET", "/annotations.jsonl", x_corrigible_token=client.token)[1].splitlines()
        assert len(exported) == 6
    assert len(read_annotations(out)) == 7  # the first thoughts, too


def test_a_correction_is_a_mapping_with_what_is_lost(map_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "said.jsonl"
    with served("--map", str(map_file), "--out", str(out)) as (port, _):
        client = Client(port)
        fields = [{"source": "/query/limit", "target": "/query/size", "conversion": "to integer"}]
        assert client.judge("ann", 0, "correct", arguments=fields, equivalence="weaker")[0] == 200
        wrong = [{"source": "/query/limit", "target": "/query/size", "conversion": "to nothing"}]
        status, told = client.judge("ann", 0, "correct", arguments=wrong)
        assert (status, told["message"].partition(";")[0]) == (422, 'no conversion is called "to nothing"')
    (only,) = read_annotations(out)
    assert (only.verdict, only.proposed.target.path) == (Verdict.CORRECT, "/x")
    assert only.mapping is not None
    assert [one.target for one in only.mapping.arguments] == ["/query/size"]
    assert only.mapping.lost_arguments == ("/query/page",)
    assert only.mapping.equivalence == "weaker"


class TestOthers:
    """Whatever page a browser shows, and whatever name leads here, only the page of this server reads and writes."""

    @pytest.mark.parametrize(
        "headers",
        [
            {"host": "evil.test"},  # a name that was led here
            {"origin": "http://evil.test"},
            {"origin": "null"},
            {"sec_fetch_site": "cross-site"},
            {"sec_fetch_site": "same-site"},
        ],
    )
    def test_requests_of_other_pages_are_refused(self, map_file: Path, tmp_path: Path, headers: Any) -> None:
        out = tmp_path / "said.jsonl"
        with served("--map", str(map_file), "--out", str(out)) as (port, _):
            client = Client(port)
            token = {"x_corrigible_token": client.token}
            assert client.ask("GET", "/", **headers)[0] == 403
            assert client.ask("GET", "/state", **headers, **token)[0] == 403
            answer = client.ask("POST", "/judgements", {}, content_type="application/json", **headers, **token)
            assert answer[0] == 403
        assert out.read_bytes() == b""

    def test_who_has_not_read_the_page_cannot_ask(self, map_file: Path, tmp_path: Path) -> None:
        out = tmp_path / "said.jsonl"
        with served("--map", str(map_file), "--out", str(out)) as (port, _):
            client = Client(port)
            assert client.ask("GET", "/state")[0] == 404
            assert client.ask("GET", "/annotations.jsonl", x_corrigible_token="guess")[0] == 404
            assert client.ask("POST", "/judgements", {}, content_type="application/json")[0] == 404
            form = {"content_type": "text/plain", "x_corrigible_token": client.token}
            assert client.ask("POST", "/judgements", {}, **form)[0] == 404
            assert client.ask("POST", "/judgements", "x" * (2 << 20), x_corrigible_token=client.token)[0] == 413

    def test_a_page_of_an_earlier_run_judges_nothing_else(self, map_file: Path, tmp_path: Path) -> None:
        out = tmp_path / "said.jsonl"
        with served("--map", str(map_file), "--out", str(out)) as (port, _):
            client = Client(port)
            body = {"annotator": "ann", "number": 0, "key": "another", "verdict": "accept"}
            headers = {"content_type": "application/json", "x_corrigible_token": client.token}
            assert client.ask("POST", "/judgements", body, **headers)[0] == 422


class TestCrashes:
    def test_what_was_told_as_kept_is_there_after_a_crash(self, map_file: Path, tmp_path: Path) -> None:
        out = tmp_path / "said.jsonl"
        with served("--map", str(map_file), "--out", str(out)) as (port, process):
            assert Client(port).judge("ann", 0, "accept")[0] == 200
            process.send_signal(signal.SIGKILL)
        with out.open("ab") as file:
            file.write(b'{"format": "corrigible annotation 1", "annot')  # a line that was being written
        with served("--map", str(map_file), "--out", str(out)) as (port, _):
            client = Client(port)
            assert list(client.state("ann")["said"]) == ["0"]
            assert client.judge("ann", 1, "reject")[0] == 200
        assert [one.verdict for one in read_annotations(out)] == ["accept", "reject"]

    def test_two_servers_do_not_write_to_one_file(self, map_file: Path, tmp_path: Path) -> None:
        out = tmp_path / "said.jsonl"
        with served("--map", str(map_file), "--out", str(out)):
            command = [*CLI, "map", "annotate", "--map", str(map_file), "--out", str(out)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert (done.returncode, done.stderr) == (2, f"{out}: another process writes to it\n")

    def test_a_wrong_line_is_told_with_its_place_and_kept(self, map_file: Path, tmp_path: Path) -> None:
        out = tmp_path / "said.jsonl"
        out.write_text("{}\n")
        command = [*CLI, "map", "annotate", "--map", str(map_file), "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2
        assert f"{out}:1: annotator: Field required" in done.stderr
        assert out.read_text() == "{}\n"

    def test_a_full_disk_is_told_and_leaves_no_half_line(self, tmp_path: Path) -> None:
        from corrigible.proxy.map_tools.journal import Journal

        resource = pytest.importorskip("resource", exc_type=ImportError)
        file = tmp_path / "lines"
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            with Journal(file) as journal:
                journal.add("first")
                resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
                with pytest.raises(OSError, match=r"only a part|large"):
                    journal.add("second, which is longer than there is room")
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
                journal.add("third")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        assert file.read_text() == "first\nthird\n"
        assert os.stat(file).st_mode & 0o077 == 0


@pytest.mark.skipif(chromium.program() is None, reason="no Chromium on PATH")
def test_the_page_is_used_by_keyboard_alone(map_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "said.jsonl"
    with served("--map", str(map_file), "--out", str(out)) as (port, _), chromium.browsing(tmp_path / "p") as browser:
        page = browser.page(f"http://127.0.0.1:{port}/")
        page.until("document.getElementById('proposal')?.hidden === false")
        page.press("a")  # nobody said who they are
        assert "Say who you are" in page.until("document.getElementById('status').textContent")
        assert read_annotations(out) == []
        page.run("document.getElementById('annotator').focus()")
        page.write("Ann <b>")
        page.press("Enter")
        page.press("Escape")
        page.until("document.getElementById('status').textContent === ''")

        assert page.run("document.getElementById('target').textContent") == "new: GET /x"
        assert page.run("document.getElementById('candidates').children.length") == 2
        page.press("2")
        assert page.run("document.getElementById('target').textContent") == "new: GET /y"
        page.press("r")
        page.until("document.getElementById('progress').textContent === '1 of 3 judged'")
        page.press("a")
        page.until("document.getElementById('progress').textContent === '2 of 3 judged'")
        page.press("u")
        page.until("document.getElementById('target').textContent === 'new: GET /x'")
        page.press("c")
        page.run("document.querySelector('#fields input[name=target]').select()")
        page.write("/query/size")
        page.press("Enter", ctrl=True)
        page.until("document.getElementById('progress').textContent === '3 of 3 judged'")
        page.press("k")
        page.press("k")
        page.until("document.getElementById('correct').className === 'said'")
        assert page.run("document.querySelector('#fields input[name=target]').value") == "/query/size"
        assert page.run("document.querySelectorAll('b').length") == 0  # names are text
    said = {one.proposed.target.path: one for one in read_annotations(out)}
    assert {path: one.verdict.value for path, one in said.items()} == {"/y": "reject", "/z": "accept", "/x": "correct"}
    right = said["/x"].mapping
    assert right is not None
    assert [(one.source, one.target) for one in right.arguments] == [
        ("/query/limit", "/query/size"),
        ("/query/page", "/query/page"),
    ]
    assert {one.annotator for one in said.values()} == {"Ann <b>"}
