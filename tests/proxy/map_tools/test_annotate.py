"""`corrigible map annotate`: people judge mappings on a page, and nothing that they say is lost or anybody else's."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.mapping.annotation import Verdict, read_annotations
from corrigible.proxy.cli import main
from tests._support import chromium
from tests._support.command import run, start


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
    pipe = subprocess.PIPE
    with start(["corrigible", "map", "annotate", *words], stdout=pipe, stderr=pipe, text=True) as process:
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
            done = run(["corrigible", "map", "annotate", "--map", str(map_file), "--out", str(out)])
            assert (done.returncode, done.stderr) == (2, f"{out}: another process writes to it\n")

    def test_a_wrong_line_is_told_with_its_place_and_kept(self, map_file: Path, tmp_path: Path) -> None:
        out = tmp_path / "said.jsonl"
        out.write_text("{}\n")
        done = run(["corrigible", "map", "annotate", "--map", str(map_file), "--out", str(out)])
        assert done.returncode == 2
        assert f"{out}:1: annotator: Field required" in done.stderr
        assert out.read_text() == "{}\n"

    def test_a_full_disk_is_told_and_leaves_no_half_line(self, tmp_path: Path) -> None:
        from corrigible.proxy.map_tools.annotate import Journal

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


def description(title: str, words: str, variable: str) -> str:
    """Return a description of two operations; both APIs have one of each, in other words."""

    def operation(summary: str) -> dict[str, Any]:
        return {"summary": summary, "responses": {"200": {"description": ""}}}

    path = {"in": "path", "name": variable, "required": True, "schema": {"type": "string"}}
    paths = {
        f"/{words}": {"get": operation(f"List {words}")},
        f"/{words}/{{{variable}}}/refund": {"parameters": [path], "post": operation("Refund a charge")},
    }
    return json.dumps({"openapi": "3.0.3", "info": {"title": title, "version": "1"}, "paths": paths})


@pytest.fixture
def index(tmp_path: Path) -> Path:
    (tmp_path / "one.json").write_text(description("One", "charges", "charge"))
    (tmp_path / "two.json").write_text(description("Two", "charges", "id"))
    words = [f"one={tmp_path / 'one.json'}", f"two={tmp_path / 'two.json'}"]
    assert main(["map", "index", *words, "--out", str(tmp_path / "x.index")]) == 0
    return tmp_path / "x.index"


class TestIndex:
    """Candidates come from an index: what an utterance finds, and mappings between that."""

    def test_what_an_utterance_finds_is_judged_and_built(
        self, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "wishes.txt").write_text("give a customer the refund of a charge\n\n")
        out = tmp_path / "said.jsonl"
        words = ["--index", str(index), "--utterances", str(tmp_path / "wishes.txt"), "--out", str(out)]
        with served(*words) as (port, _):
            client = Client(port)
            proposals = client.state("ann")["proposals"]
            assert {one["utterance"] for one in proposals} == {"give a customer the refund of a charge"}
            first = proposals[0]
            assert (first["mapping"]["source"]["path"], first["source_text"]) == (
                "/charges/{charge}/refund",
                "Refund a charge",
            )
            assert first["mapping"]["target"]["path"] == "/charges/{id}/refund"
            (field,) = first["mapping"]["arguments"]
            assert (field["source"], field["target"]) == ("/path/charge", "/path/id")
            assert client.judge("ann", 0, "reject")[0] == 200
        built = ["map", "build", "--index", str(index), "--from", "one", "--to", "two"]
        targets = []
        for more in ([], ["--annotations", str(out)]):
            assert main([*built, "--out", str(tmp_path / "map.json"), *more]) == 0
            mappings = json.loads((tmp_path / "map.json").read_text())["mappings"]
            targets.append([one["target"]["path"] for one in mappings])
        assert targets == [["/charges", "/charges/{id}/refund"], ["/charges"]]

    def test_without_utterances_every_operation_is_judged(self, index: Path, tmp_path: Path) -> None:
        with served("--index", str(index), "--out", str(tmp_path / "said.jsonl")) as (port, _):
            proposals = Client(port).state("ann")["proposals"]
        sources = [(one["mapping"]["source"]["api"], one["mapping"]["source"]["path"]) for one in proposals]
        assert {api for api, _ in sources} == {"one", "two"}
        assert len(set(sources)) == 4
        at = [sources.index(one) for one in dict.fromkeys(sources)]
        # The candidates of one source stand together, what `map build` takes before what is only near.
        assert [proposals[number]["mapping"]["equivalence"] for number in at] == ["same", "same with conversion"] * 2

    def test_a_map_is_shown_with_what_its_operations_say(self, index: Path, tmp_path: Path) -> None:
        file = tmp_path / "map.json"
        assert main(["map", "build", "--index", str(index), "--out", str(file)]) == 0
        with served("--map", str(file), "--index", str(index), "--out", str(tmp_path / "said.jsonl")) as (port, _):
            proposals = Client(port).state("ann")["proposals"]
        assert {(one["source_text"], one["target_text"]) for one in proposals} == {
            ("List charges", "List charges"),
            ("Refund a charge", "Refund a charge"),
        }

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ([], "nothing to judge"),
            (["--utterances", "{wishes}"], "--utterances belongs to --index"),
            (["--index", "{index}", "--map", "{map}", "--utterances", "{wishes}"], "--utterances belongs to --index"),
            (["--index", "{index}", "--utterances", "{empty}"], "no utterance"),
        ],
    )
    def test_bad_arguments_are_told(
        self, index: Path, map_file: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
    ) -> None:
        (index.parent / "wishes.txt").write_text("a refund")
        (index.parent / "empty.txt").write_text("")
        names = {
            "index": index,
            "map": map_file,
            "wishes": index.parent / "wishes.txt",
            "empty": index.parent / "empty.txt",
        }
        out = ["--out", str(index.parent / "said.jsonl")]
        assert main(["map", "annotate", *(word.format(**names) for word in words), *out]) == 2
        assert told in capsys.readouterr().err


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
