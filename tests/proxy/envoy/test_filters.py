"""What Envoy asks a corrector, and what it does without asking."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

from corrigible.proxy.build import build_corrector, build_loops
from corrigible.proxy.envoy.gateway import RefusingOperation
from tests._support.envoy_proxy import EnvoyBench as Bench
from tests._support.raw_proxy import PATIENT
from tests._support.rows import rows

JSON = b"Content-Type: application/json\r\n"
RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n"
BAD = b'{"error":{"code":"bad","message":"m"}}'
ANSWERS: dict[str, Any] = {
    "/ok": Bench.message(b"200 OK", JSON, b"{}"),
    "/refused": Bench.message(b"400 Bad Request", JSON, b"{}"),
    "/image": Bench.message(b"404 Not Found", b"Content-Type: image/png\r\n", b"\x89PNG"),
    "/long": Bench.message(b"400 Bad Request", JSON, b" " * (2 << 20)),
    "/redirect": Bench.message(b"302 Found", b"", b""),
    "/events": Bench.message(b"400 Bad Request", b"Content-Type: text/event-stream\r\n", b"data: 1\n\n"),
}


@rows("path", ["/ok", "/image", "/long", "/redirect", "/events"])
@rows("method", ["GET", "POST"])
def test_nobody_is_asked_about_what_takes_no_feedback(path: str, method: str) -> None:
    corrector = Bench.Telling()
    with Bench.upstream(ANSWERS) as up, Bench.proxy(corrector, upstream=f"http://127.0.0.1:{up.port}") as proxy:
        body = b"{}" if method == "POST" else b""
        answer = Bench.ask(proxy.port, path, method, body)
        assert Bench.seen(answer) == Bench.seen(ANSWERS[path])
    assert corrector.asked == []


@rows(
    ("prefer", "is_asked"),
    [
        (b"", True),
        (b"Prefer: recovery-feedback=none\r\n", False),
        (b'PREFER: Recovery-Feedback="none"\r\n', False),
        (b"Prefer: respond-async\r\n", True),
        (b"Prefer: recovery-feedback=reflective\r\n", True),
        (b"Prefer: recovery-feedback=verbose\r\nPrefer: recovery-feedback=none\r\n", True),
        (b"Prefer: recovery-feedback=nonesuch\r\n", True),
    ],
)
def test_nobody_is_asked_for_who_wants_nothing(prefer: bytes, is_asked: bool) -> None:
    corrector = Bench.Silent()
    with Bench.upstream(ANSWERS) as up, Bench.proxy(corrector, upstream=f"http://127.0.0.1:{up.port}") as proxy:
        Bench.ask(proxy.port, "/refused", "POST", b"{}", prefer)
    assert corrector.asked == [b"/v1/refusal"] * is_asked


def test_with_the_mode_none_only_who_asks_for_more_reaches_a_corrector() -> None:
    corrector = Bench.Silent()
    with (
        Bench.upstream(ANSWERS) as up,
        Bench.proxy(corrector, upstream=f"http://127.0.0.1:{up.port}", is_none=True) as proxy,
    ):
        Bench.ask(proxy.port, "/refused")
        assert corrector.asked == []
        Bench.ask(proxy.port, "/refused", headers=b"Prefer: recovery-feedback=reflective\r\n")
    assert corrector.asked == [b"/v1/refusal"]


def test_successes_that_may_refuse_are_asked_about_and_no_others() -> None:
    corrector = Bench.Telling()
    refusing = [RefusingOperation("POST", "^/ok/?$")]
    with (
        Bench.upstream(ANSWERS) as up,
        Bench.proxy(corrector, upstream=f"http://127.0.0.1:{up.port}", refusing=refusing) as proxy,
    ):
        assert Bench.ask(proxy.port, "/ok", "GET").endswith(b"\r\n\r\n{}")
        assert Bench.ask(proxy.port, "/redirect", "POST", b"{}").startswith(b"HTTP/1.1 302")
        assert corrector.asked == []
        Bench.ask(proxy.port, "/ok", "POST", b"{}")
    assert corrector.asked == [b"/v1/refusal"]


@pytest.mark.parametrize("body", [b"a\x00\xff" * 5, b"x" * 300_000])
@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_body_is_at_hand_as_it_was_sent(body: bytes, framing: str) -> None:
    corrector = Bench.Silent()
    with Bench.upstream(ANSWERS) as up, Bench.proxy(corrector, upstream=f"http://127.0.0.1:{up.port}") as proxy:
        if framing == "length":
            Bench.ask(proxy.port, "/refused", "POST", body)
        else:
            wire = Bench.Wire(proxy.port)
            wire.send(b"POST /refused HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(body), 7000):
                wire.send(b"%x\r\n%s\r\n" % (len(body[at : at + 7000]), body[at : at + 7000]))
            wire.send(b"0\r\n\r\n")
            wire.rest()
            wire.close()
        assert up.requests[0].partition(b"\r\n\r\n")[2].count(b"\xff") == body.count(b"\xff")
    ((_, seen, _, _),) = corrector.seen
    assert seen == body


def test_an_answer_before_the_end_of_the_request_is_no_refusal_of_all_of_it() -> None:
    answered = threading.Event()

    def early(connection: socket.socket) -> None:
        connection.sendall(ANSWERS["/refused"])

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                while b"\r\n\r\n" not in connection.recv(1 << 16):
                    pass
                early(connection)
                answered.wait(60)

        thread = threading.Thread(target=serve)
        thread.start()
        corrector = Bench.Telling()
        with Bench.proxy(corrector, upstream=f"http://127.0.0.1:{listener.getsockname()[1]}") as proxy:
            wire = Bench.Wire(proxy.port)
            wire.send(b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n")
            got = wire.until(lambda got: got.endswith(b"{}"))
            assert b"X-Added" not in got
            answered.set()
            wire.close()
        thread.join(60)
    assert corrector.seen == []


def test_the_rest_of_a_request_that_is_just_behind_a_refusal_is_awaited() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)  # the head
                connection.sendall(ANSWERS["/refused"][:-2])
                refused.set()
                connection.recv(1 << 16)
                connection.sendall(b"{}")

        refused = threading.Event()
        thread = threading.Thread(target=serve)
        thread.start()
        corrector = Bench.Telling()
        with Bench.proxy(corrector, upstream=f"http://127.0.0.1:{listener.getsockname()[1]}") as proxy:
            wire = Bench.Wire(proxy.port)
            wire.send(b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert refused.wait(60)
            wire.send(b"a\r\n1234567890\r\n0\r\n\r\n")
            assert b"X-Added" in wire.until(lambda got: got.endswith((b" | 0 ", b"{}")))
            wire.close()
        thread.join(60)
    ((_, body, _, _),) = corrector.seen
    assert body == b"1234567890"


def test_a_caller_s_own_forwarding_headers_arrive_and_none_of_envoy_s() -> None:
    with Bench.upstream(ANSWERS) as up, Bench.proxy(Bench.Silent(), upstream=f"http://127.0.0.1:{up.port}") as proxy:
        Bench.ask(proxy.port, "/ok")
        Bench.ask(proxy.port, "/ok", headers=b"X-Forwarded-Proto: https\r\nX-Forwarded-For: 9.9.9.9\r\nVia: 1.1 a\r\n")
        bare, own = ([line.lower() for line in one.split(b"\r\n")] for one in up.requests)
    assert not [line for line in bare if line.startswith((b"x-", b"via", b"forwarded"))]
    assert {b"x-forwarded-proto: https", b"x-forwarded-for: 9.9.9.9", b"via: 1.1 a"} <= set(own)


TOKEN = b"Authorization: Bearer t\r\n"


def refusing(port: int, method: str, path: str, who: bytes = TOKEN) -> Any:
    """Return the feedback of a refusal of one caller."""
    answer = Bench.ask(port, path, method, b'{"a":2}' if method == "POST" else b"", JSON + who)
    return json.loads(answer.partition(b"\r\n\r\n")[2])["recovery_feedback"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_success_ends_the_loop_of_its_caller(write_pack: Any, method: str) -> None:
    answers: dict[str, Any] = {"/x": Bench.message(b"400 No", JSON, BAD)}
    with Bench.upstream(answers) as up:
        corrector = build_corrector([write_pack(x=RULE)], loops=build_loops(), limits=PATIENT)
        with Bench.proxy(corrector, upstream=f"http://127.0.0.1:{up.port}") as proxy:
            assert "loop" not in refusing(proxy.port, method, "/x")
            assert refusing(proxy.port, method, "/x")["loop"]["attempt"] == 2
            answers["/x"] = Bench.message(b"200 OK", JSON, b"{}")
            body = b'{"a":1}' if method == "POST" else b""
            other = b"Authorization: Bearer other\r\n"
            Bench.ask(proxy.port, "/x", method, body, JSON + other)  # of somebody else: ends nothing
            answers["/x"] = Bench.message(b"400 No", JSON, BAD)
            assert refusing(proxy.port, method, "/x")["loop"]["attempt"] == 3
            answers["/x"] = Bench.message(b"200 OK", JSON, b"{}")
            Bench.ask(proxy.port, "/x", method, body, JSON + TOKEN)
            answers["/x"] = Bench.message(b"400 No", JSON, BAD)
            for _ in range(50):  # it is told beside the answer, a moment later
                if "loop" not in refusing(proxy.port, method, "/x"):
                    break
            else:
                pytest.fail("the loop has not ended")


@pytest.mark.parametrize(
    ("who", "other"),
    [
        (b"Prefer: recovery-feedback; caller=a\r\n", b"Recovery-Feedback-Caller: b\r\n"),
        (b"X-Api-Key: t\r\n", b"X-Api-Key: u\r\n"),
        (b"Authorization: Signature a, b\r\n", TOKEN),
        (TOKEN + b"Prefer: caller=a\r\n", TOKEN + b"Prefer: caller=b\r\n"),
    ],
    ids=["a name alone", "a key", "a signature", "a name"],
)
def test_callers_with_loops_are_told_apart(who: bytes, other: bytes, write_pack: Any) -> None:
    answers: dict[str, Any] = {"/x": Bench.message(b"400 No", JSON, BAD)}
    with Bench.upstream(answers) as up:
        corrector = build_corrector([write_pack(x=RULE)], loops=build_loops(), limits=PATIENT)
        with Bench.proxy(corrector, upstream=f"http://127.0.0.1:{up.port}") as proxy:

            def refused() -> Any:
                answers["/x"] = Bench.message(b"400 No", JSON, BAD)
                return refusing(proxy.port, "POST", "/x", who).get("loop", {}).get("attempt")

            def succeeding(caller: bytes) -> None:
                answers["/x"] = Bench.message(b"200 OK", JSON, b"{}")
                Bench.ask(proxy.port, "/x", "POST", b'{"a":1}', JSON + caller)

            assert [refused(), refused()] == [None, 2]
            succeeding(other)
            assert refused() == 3
            succeeding(who)
            assert refused() is None


def test_successes_elsewhere_are_told_once_while_a_loop_lasts(write_pack: Any) -> None:
    answers = {"/x": Bench.message(b"400 No", JSON, BAD), "/ok": ANSWERS["/ok"]}
    with Bench.upstream(answers) as up:
        corrector = build_corrector([write_pack(x=RULE)], loops=build_loops(), limits=PATIENT)
        asked: list[bytes] = []
        corrector.asked = asked  # type: ignore[attr-defined]
        with Bench.proxy(corrector, upstream=f"http://127.0.0.1:{up.port}") as proxy:
            refusing(proxy.port, "POST", "/x")
            for _ in range(5):
                Bench.ask(proxy.port, "/ok?a=1", "POST", b"{}", JSON + b"Authorization: Bearer t\r\n")
            assert asked == [b"/v1/refusal", b"/v1/success"]
            refusing(proxy.port, "POST", "/x")
            Bench.ask(proxy.port, "/ok", "POST", b"{}", JSON + b"Authorization: Bearer t\r\n")
    assert asked == [b"/v1/refusal", b"/v1/success"] * 2
