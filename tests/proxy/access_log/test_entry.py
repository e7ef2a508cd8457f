"""The journal: what a line says, and what never gets into it."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.access_log.entry import AccessLog, Entry, LogFile, redact, redact_target
from tests._support.rows import rows

ENTRY = Entry(
    time=1_700_000_000.25,
    id="x1",
    method="POST",
    path="/v1/refunds?limit=3",
    status=400,
    outcome="annotated",
    milliseconds=1.23456,
    operation="PostRefunds",
    rules=("stripe.refund-exceeds-remaining",),
    lookups=1,
    feedback={"recovery": "correctable", "suggestions": [{"action": "MODIFY_PARAMS", "parameters": {"a": "b"}}]},
)


def test_a_line_is_one_json_document_with_a_fixed_order(tmp_path: Path) -> None:
    journal = AccessLog(tmp_path / "log.jsonl")
    journal.write(ENTRY)
    journal.close()
    assert (tmp_path / "log.jsonl").read_text() == (
        '{"time":"2023-11-14T22:13:20.250+00:00","id":"x1","method":"POST","path":"/v1/refunds?limit=3",'
        '"operation":"PostRefunds","status":400,"outcome":"annotated",'
        '"rules":["stripe.refund-exceeds-remaining"],"reason":null,"error":null,"lookups":1,"ms":1.235,'
        '"recovery":"correctable","actions":["MODIFY_PARAMS"]}\n'
    )


def test_two_journals_append_to_one_file(tmp_path: Path) -> None:
    for _ in range(2):
        journal = AccessLog(tmp_path / "log.jsonl")
        journal.write(ENTRY)
        journal.close()
    assert [json.loads(line)["id"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == ["x1", "x1"]


def test_a_log_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    AccessLog(tmp_path / "log.jsonl").close()
    assert (tmp_path / "log.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        AccessLog(tmp_path / "no" / "such" / "folder.jsonl")


def test_a_line_that_cannot_be_written_is_dropped_and_counted(tmp_path: Path) -> None:
    full = AccessLog("/dev/full")
    full.write(ENTRY)
    full.write(ENTRY)
    full.close()
    closed = AccessLog(tmp_path / "log.jsonl")
    closed.close()
    closed.write(ENTRY)
    assert (full.dropped, closed.dropped) == (2, 1)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_file_that_was_moved_away_is_opened_anew(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    journal = AccessLog(log)
    for name in ("a", "b"):
        journal.write(replace(ENTRY, id=name))
    log.rename(tmp_path / "old")
    journal.reopen()
    journal.write(replace(ENTRY, id="c"))
    journal.close()
    assert [one["id"] for one in lines(tmp_path / "old")] == ["a", "b"]
    assert [one["id"] for one in lines(log)] == ["c"]


def test_what_cannot_be_opened_anew_goes_on_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "folder" / "log.jsonl"
    log.parent.mkdir()
    journal = AccessLog(log)
    log.parent.rename(tmp_path / "old")
    with pytest.raises(OSError):
        journal.reopen()
    journal.write(ENTRY)
    journal.close()
    assert len(lines(tmp_path / "old" / "log.jsonl")) == 1


def test_a_pipe_that_nobody_reads_stops_nobody_and_what_is_missing_is_said(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    file = LogFile(pipe, lambda count: b"lost %d\n" % count, most=200_000)
    written = 0
    while file.dropped < 10:  # would never end if it waited
        file.write(b"x" * 1000 + b"\n")
        written += 1
    os.set_blocking(reader, True)
    said: list[str] = []
    with os.fdopen(reader) as stream:
        while not any(line.startswith("lost") for line in said):
            said.append(stream.readline())
            file.write(b"y\n")
            written += 1
        closing = threading.Thread(target=file.close)
        closing.start()
        said += stream
        closing.join()
    assert sum(int(line.split()[1]) for line in said if line.startswith("lost")) == file.dropped
    assert sum(line[0] in "xy" for line in said) == written - file.dropped


@rows("room", range(1, 33))
def test_a_line_begins_where_a_line_ended_however_much_of_the_last_one_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """The disk has room for so many bytes, then for none, and then for all again."""
    real, left = os.write, [room, 0]

    file = LogFile(tmp_path / "log", lambda count: b'{"dropped":%d}\n' % count)

    def write(descriptor: int, data: Any) -> int:
        if not left or descriptor != file._descriptor:
            return real(descriptor, data)
        if (most := left.pop(0)) == 0:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:most])

    with monkeypatch.context() as patch:
        patch.setattr("corrigible.proxy.access_log.entry.os.write", write)
        for number in range(1, 5):
            file.write(b'{"id":%d}\n' % number)
        while left:
            time.sleep(0.001)
        file.write(b'{"id":5}\n')
        file.close()
    said = (tmp_path / "log").read_bytes().splitlines()
    whole = [json.loads(line) for line in said if line.endswith(b"}")]
    missing = sum(one.get("dropped", 0) for one in whole)
    assert missing == file.dropped
    assert sum("id" in one for one in whole) + missing == 5
    assert {"id": 5} in whole
    assert b"" not in said


def test_a_pipe_that_nobody_reads_holds_up_no_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    file = LogFile(pipe, lambda count: b"lost\n")
    for _ in range(100):
        file.write(b"x" * 10_000)
    file.close(0.1)
    assert 80 < file.dropped <= 100
    file.write(b"x")
    assert file.dropped <= 101
    os.close(reader)


@rows(
    ("text", "clean"),
    [
        ("no key: sk_test_4eC39HqLyjWDarjtT1zdp7dc", "no key: [redacted]"),
        ("tok_1abc", "[redacted]"),
        ("Bearer abc.def-ghi", "[redacted]"),
        ("basic c2tfdGVzdDo=", "[redacted]"),
        ("pi_3Mt_secret_Yr9", "[redacted]"),
        ("at ghp_16C7e42F292c6912E7710c838347Ae178B4a", "at [redacted]"),
        ("eyJhbGciOi.eyJzdWIi.sig", "[redacted]"),
        ("card 4242424242424242", "card [redacted]"),
        ("card 4242 4242 4242 4242!", "card [redacted]!"),
        ("card 4000-0566-5566-5556", "card [redacted]"),
        ("order 4242424242424243", "order 4242424242424243"),  # no Luhn number
        ("ch_1NirD82eZvKYlo2CIvbtLWuY", "ch_1NirD82eZvKYlo2CIvbtLWuY"),
        ("task_force_list", "task_force_list"),
        ("a basic plan", "a [redacted]"),  # rather once too often
    ],
)
def test_secrets_are_taken_out_of_text(text: str, clean: str) -> None:
    assert redact(text) == clean


@rows(
    ("target", "clean"),
    [
        ("/v1/charges?limit=3&expand[]=data", "/v1/charges?limit=3&expand[]=data"),
        ("/v1/tokens/tok_visa", "/v1/tokens/[redacted]"),
        ("/x?api_key=abc&b=1", "/x?api_key=[redacted]&b=1"),
        ("/x?client_secret=pi_1_secret_2", "/x?client_secret=[redacted]"),
        ("/x?card%5Bnumber%5D=1&card[cvc]=2", "/x?card%5Bnumber%5D=[redacted]&card[cvc]=[redacted]"),
        ("/x?access_token=&b", "/x?access_token=&b"),
        ("/x?page_number=2&zip=1&card_number=3", "/x?page_number=2&zip=1&card_number=[redacted]"),
        ("/x?q=4242%204242%204242%204242", "/x?q=[redacted]"),
        ("/x?q=bearer+abc", "/x?q=[redacted]"),
        ("/x?code=", "/x?code="),
        ("/x?bank%5bpin%5d=1234&b=2", "/x?bank%5bpin%5d=[redacted]&b=2"),
        ("/x?to%6ben=abc", "/x?to%6ben=[redacted]"),
        ("/x?to%256ben=abc", "/x?to%256ben=[redacted]"),
        ("/x?%70assword=hunter2", "/x?%70assword=[redacted]"),
        ("/x?card+number=1&card%20number=2", "/x?card+number=1&card%20number=2"),
        ("/x?a=1;token=abc;b", "/x?a=1;token=[redacted]"),
        ("/x?token=a;b=c&d=1", "/x?token=[redacted]&d=1"),
        ("/x?q=tok%5Fvisa&r=a%2Fb", "/x?q=[redacted]&r=a%2Fb"),
        ("/login/;token=abc", "/login/;token=[redacted]"),
        ("/login;jsessionid=abc;v=1/x;v=2", "/login;jsessionid=[redacted];v=1/x;v=2"),
        ("/login;%73ession=a;b/x", "/login;%73ession=[redacted]/x"),
        ("/login;token=abc?x=1", "/login;token=[redacted]?x=1"),
        ("/matrix;a=1;b=2/c%20d", "/matrix;a=1;b=2/c%20d"),
        ("/v1/tokens/tok%5fvisa/use", "/v1/tokens/[redacted]/use"),
        ("/a/Bearer%20abc/def", "/a/[redacted]"),
        ("/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/send", "/bot110201543:[redacted]/send"),
        ("/services/T00000000/B00000000/Xw3Xv8Xn1XkXpXqXrXsXtXuX", "/services/T00000000/B00000000/[redacted]"),
        ("/api/webhooks/1234/aB3-_dEfGhIjKlMnOpQrStUvWxYz012345?wait=1", "/api/webhooks/1234/[redacted]?wait=1"),
        ("/v1/charges/ch_1NirD82eZvKYlo2CIvbtLWuY", "/v1/charges/ch_1NirD82eZvKYlo2CIvbtLWuY"),
        ("/x/6f1ed002ab5595859014ebf0951522d9f5b4a1c2", "/x/6f1ed002ab5595859014ebf0951522d9f5b4a1c2"),
        ("/x/0B9A8D2E-7f3c-4d61-9b0a-5c2d1e3f4a5b.json", "/x/0B9A8D2E-7f3c-4d61-9b0a-5c2d1e3f4a5b.json"),
        (
            "/v1/compute/instanceGroupManagers/listManagedInstances",
            "/v1/compute/instanceGroupManagers/listManagedInstances",
        ),
    ],
)
def test_secrets_are_taken_out_of_targets(target: str, clean: str) -> None:
    assert redact_target(target) == clean


def test_reason_and_error_are_redacted_and_feedback_values_left_out(tmp_path: Path) -> None:
    entry = Entry(
        time=0.0,
        id="x",
        method="GET",
        path="/?key=k1",
        status=None,
        outcome="failed",
        milliseconds=0,
        reason="bad sk_live_abcdef",
        error="bearer zzz",
        feedback={"recovery": "terminal", "suggestions": [{"action": "ESCALATE", "parameters": {"secret": "s3"}}]},
    )
    line = json.dumps(entry.document())
    assert entry.document()["reason"] == "bad [redacted]"
    assert [secret for secret in ("k1", "sk_live", "zzz", "s3") if secret in line] == []


@rows("part", ["x", "_secret_", "1 ", "bearer ", "sk-", "eyJa.", "key=&", "x-", ";", ";a=", "%3b", "aA1", "a:"])
def test_long_texts_are_cut(part: str) -> None:
    for cut in (redact(part * 100_000), redact_target(f"/{part * 100_000}"), redact_target(f"/?a={part * 100_000}")):
        assert cut.endswith("...")
        assert len(cut) < 10_000


def test_what_is_cut_is_the_end() -> None:
    assert redact_target("/" + "x" * 5000) == "/" + "x" * 2047 + "..."
    assert redact_target("/?key=" + "x" * 5000) == "/?key=[redacted]..."


def test_the_name_of_a_kept_document_is_not_written() -> None:
    clean = "/.well-known/recovery-feedback/[redacted]"
    assert redact_target("/.well-known/recovery-feedback/6qbsg5rTBL7is-mzy9SNz1MOIqXSCzFj") == clean
    assert redact_target("/.well-known/recovery-feedback/6qbsg5rTBL7is-mzy9SNz1MOIqXSCzFj?x=1") == clean
