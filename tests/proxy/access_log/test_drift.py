"""`--drift`: samples of what passes are judged elsewhere, and whatever becomes of them, traffic does not notice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.drift import Drift, Judged
from corrigible.proxy.access_log import drift as watched
from corrigible.proxy.access_log.drift import LARGEST, CopiedBody, DriftWatch
from corrigible.proxy.access_log.refusal_report import RefusalReport
from corrigible.proxy.access_log.statistics import Drifted, Named, Recorder, Statistics
from corrigible.proxy.admin.prometheus import Metrics, read
from corrigible.proxy.cli import main
from corrigible.proxy.runtime.worker import WorkerLost

FOUND = Drift("type", "answer", "amount", "`amount` of the answer is string, and described as integer")
JSON = b"Content-Type: application/json\r\n"


class Workers:
    """Workers that do the work here."""

    def __init__(self, served: Any, **_: Any) -> None:
        self.served = served

    async def run(self, task: tuple[str, tuple[Any, ...], Any], *_: Any, **__: Any) -> Any:
        await asyncio.sleep(0)
        return self.served[task[0]](*task[1])


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[DriftWatch, Recorder]]:
    monkeypatch.setattr(watched, "ForkServer", lambda served, **_: served)
    monkeypatch.setattr(watched, "Workers", Workers)

    def made(judge: Callable[[Any], Judged], one_in: int = 20) -> tuple[DriftWatch, Recorder]:
        recorder = Recorder()
        return DriftWatch({"correct": judge}, one_in, recorder), recorder

    return made


def test_of_each_kind_the_first_is_taken_and_then_one_in_so_many(watch: Any) -> None:
    made, _ = watch(lambda _: Judged("x", []), 5)
    taken = [made.wants("correct", "GET", f"/pets/{at}", 200) for at in range(11)]
    assert [at for at, one in enumerate(taken) if one] == [0, 5, 10]
    assert made.wants("correct", "GET", "/pets/1", 404)
    assert not made.wants("another API", "GET", "/pets/1", 200)


def test_what_finds_no_room_is_dropped_and_counted(watch: Any) -> None:
    made, recorder = watch(lambda _: Judged("getPet", [FOUND]))

    async def main() -> None:
        for _ in range(40):
            made.offer("correct", "pets", "an exchange")
        made.offer("correct", "pets", None)
        await made.finish()

    asyncio.run(main())
    assert recorder.statistics.judged == {Named("pets", "judged"): 32, Named("pets", "dropped"): 9}
    assert recorder.statistics.drift == {Drifted("pets", "getPet", "type"): 32}
    (row,) = made.rows()
    assert row["operation"] == "pets: getPet" and row["judged"] == 32
    assert row["complaints"] == [{**FOUND._asdict(), "calls": 32}]


def test_a_judge_that_fails_again_and_again_is_given_up(watch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> Judged:
        raise WorkerLost("took over 30000 ms, and the worker was ended")

    made, recorder = watch(fails)
    told: list[str] = []
    monkeypatch.setattr(recorder, "say", told.append)

    async def main() -> None:
        for _ in range(10):
            made.offer("correct", "pets", "an exchange")
        await made.finish()

    asyncio.run(main())
    assert recorder.statistics.judged == {Named("pets", "failed"): 3}
    assert told == ["--drift: no exchange is judged any more: took over 30000 ms, and the worker was ended"]
    assert not made.wants("correct", "GET", "/new", 200)


def test_a_body_passes_its_copy_unchanged_however_long_it_is() -> None:
    short, long = CopiedBody(), CopiedBody()
    assert [short(b"ab"), short(b""), short(b"c")] == [b"ab", b"", b"c"]
    assert bytes(short.body or b"") == b"abc"
    assert long(b"x" * (LARGEST + 1)) == b"x" * (LARGEST + 1)
    assert long.body is None and long(b"y") == b"y"


@pytest.mark.parametrize(
    ("suffix", "said"),
    [
        (".md", "## `amount` of the answer is string, and described as integer in 1 call of pets: getPet\n"),
        (".html", "<li>`amount` of the answer is string, and described as integer: 1 call</li>"),
        (".json", '"kind": "type"'),
    ],
)
def test_the_report_has_what_was_found(suffix: str, said: str, watch: Any, tmp_path: Path) -> None:
    made, _ = watch(lambda _: Judged("getPet", [FOUND]))

    async def main() -> None:
        made.offer("correct", "pets", "an exchange")
        await made.finish()

    asyncio.run(main())
    file = tmp_path / f"report{suffix}"
    RefusalReport(file, made).close()
    assert said in file.read_text("utf-8")


def test_metrics_bring_status_the_counts() -> None:
    statistics = Statistics()
    statistics.count_success("pets", "getPet", 200, 0.1)
    statistics.drift[Drifted("pets", "getPet", "type")] = 2
    statistics.judged |= {Named("pets", "judged"): 3, Named("pets", "dropped"): 1}
    page = Metrics(version="1").render(statistics.copy()).body.decode()
    assert 'corrigible_drift_total{api="pets",kind="type",operation="getPet"} 2.0' in page.splitlines()
    scraped = read(page).statistics
    assert (scraped.drift, scraped.judged) == (statistics.drift, statistics.judged)
    assert [*scraped.summary()][-1] == "drift: 2 x type; 1 dropped, 3 judged"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "envoy", "--spec", "openapi.json"], "--engine envoy: --drift needs mitmproxy"),
        (["--pack", "http"], "--drift judges by the API's description: give --spec"),
        (["--pack", "http", "--grpc-upstream", "127.0.0.1:9"], "or --descriptors for gRPC"),
        (["--spec", "openapi.json", "--drift-sample", "0"], "--drift-sample 0: not a number from 1 on"),
    ],
)
def test_what_it_cannot_judge_is_said_at_the_start(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "openapi.json").write_text('{"openapi": "3.1.0", "paths": {}}', "utf-8")
    monkeypatch.chdir(tmp_path)
    upstream = [] if "--grpc-upstream" in words else ["--upstream", "http://127.0.0.1:9"]
    assert main(["proxy", *upstream, "--drift", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_proxy_judges_what_passes_it_and_changes_nothing(bench: Any, tmp_path: Path) -> None:
    pytest.importorskip("openapi_core")
    schema = {"type": "object", "required": ["total"], "properties": {"items": {"type": "array"}}}
    described = {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}}
    paths = {path: {"get": {"operationId": path[1:], **described}} for path in ("/short", "/chunked", "/long", "/gone")}
    spec = tmp_path / "openapi.json"
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    spec.write_text(json.dumps(document), "utf-8")
    answers = {
        "/short": bench.message(b"200 OK", JSON, b'{"items":3}'),
        "/chunked": bench.chunks(b"200 OK", JSON, b'{"items":[]}'),
        "/long": bench.message(b"200 OK", JSON, b'{"total":"' + b"x" * (LARGEST + 1) + b'"}'),
        "/gone": bench.message(b"404 Not Found", JSON, b'{"error":"there is none"}'),
        "/secret": bench.message(b"200 OK", JSON, b'{"a":"hunter2"}'),
    }
    report = tmp_path / "report.json"
    with bench.upstream(answers) as upstream:
        words = ("--upstream", f"http://127.0.0.1:{upstream.port}", "--spec", str(spec), "--listen", "127.0.0.1:0")
        with bench.start(*words, "--drift", "--drift-sample", "2", "--report", str(report)) as process:
            try:
                port = int(process.stdout.readline().split()[1].rpartition(":")[2])
                for _ in range(2):
                    for path in ("/short", "/chunked", "/long", "/secret"):
                        assert bench.ask(port, path) == answers[path]
                assert b"there is none" in bench.ask(port, "/gone")
                process.terminate()
                told = process.stderr.read()
                assert process.wait(60) == 0, told
            finally:
                process.kill()
    assert "corrigible proxy: drift: " in told and "1 dropped, 4 judged" in told
    rows = {
        row["operation"]: {one["text"] for one in row["complaints"]} for row in json.loads(report.read_text())["drift"]
    }
    missing = "`total` of the answer is missing, and described as required"
    assert rows == {
        "http: short": {missing, "`items` of the answer is integer, and described as array"},
        "http: chunked": {missing},
        "http: gone": {"The answer has the status 404, which is not described"},
        "http: GET 200 /secret": {"The operation is not described, and the API has it"},
    }
    assert "hunter2" not in report.read_text()
