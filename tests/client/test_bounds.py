"""What an answer or a description can cost a client: memory and steps are bounded inside the computation."""

from __future__ import annotations

import functools
import gzip
import json
import re
import struct
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.client import explanation
from corrigible.client.answer import MOST_BYTES, Answer, feedback_in
from corrigible.client.explanation import changes, explain, pointer
from corrigible.client.httpx import AsyncCorrigibleTransport, CorrigibleTransport, explain_refusal
from corrigible.client.policy import path_values
from corrigible.client.tool_list import tools_of
from corrigible.client.toolset import Toolset
from tests._support.counted import calls_of
from tests._support.rows import rows

SERVER = """
import resource, socket, sys, threading
bomb = open(sys.argv[1], "rb").read()
server = socket.create_server(("127.0.0.1", 0))
def serve():
    while True:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            head = "HTTP/1.1 %s\\r\\nContent-Type: application/json\\r\\nContent-Encoding: gzip\\r\\n"
            head += "Content-Length: %d\\r\\nConnection: close\\r\\n\\r\\n"
            connection.sendall((head % (status, len(bomb))).encode() + bomb)
threading.Thread(target=serve, daemon=True).start()
url = "http://127.0.0.1:%d" % server.getsockname()[1]
"""
CLIENTS = {
    "httpx": """
        import httpx
        from corrigible.client.httpx import CorrigibleTransport
        def call():
            with httpx.Client(transport=CorrigibleTransport()) as client, client.stream("GET", url + "/a") as response:
                return next(response.iter_raw())[:2]
    """,
    "requests": """
        import requests
        from corrigible.client.requests import CorrigibleAdapter
        def call():
            with requests.Session() as session:
                session.trust_env = False
                session.mount("http://", CorrigibleAdapter())
                with session.get(url + "/a", stream=True) as response:
                    return response.raw.read(2)
    """,
    "tools": """
        from corrigible.client.toolset import Toolset
        def call():
            document = {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a"}}}}
            text = Toolset(document, url).call("a", {}).text
            assert len(text) < 21_000, len(text)
            return b"\\x1f\\x8b" if "(cut, more than 1048576 characters)" in text or "was refused" in text else text
    """,
    "mcp": """
        import asyncio, httpx
        from corrigible.client.toolset import Toolset
        from corrigible.proxy.asgi import ReflectiveMiddleware
        from corrigible.proxy.mcp.upstream import Upstream
        app = ReflectiveMiddleware(Upstream(url, httpx.AsyncClient()))
        def call():
            document = {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "a"}}}}
            tools = Toolset(document, url, async_transport=httpx.ASGITransport(app))
            text = asyncio.run(tools.acall("a", {})).text
            assert len(text) < 21_000, len(text)
            return b"\\x1f\\x8b" if "(cut, more than 1048576 characters)" in text or "was refused" in text else text
    """,
}


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 512 MiB of zeros as gzip: one packed block again and again, for to pack all of them takes seconds."""
    zeros = bytes(1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    check = functools.reduce(lambda value, _: zlib.crc32(zeros, value), range(512), 0)
    head, end = gzip.compress(b"")[:10], b"\x03\x00" + struct.pack("<LL", check, 512 << 20)
    path = tmp_path_factory.mktemp("bomb") / "bomb.gz"
    path.write_bytes(head + block * 512 + end)
    assert path.stat().st_size < 600_000
    return path


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_half_a_megabyte_that_unpacks_to_512_takes_no_memory(client: str, bomb: Path) -> None:
    """The child has 160 MB more than it needs to start: unpacked whole, the answer does not fit."""
    program = SERVER + textwrap.dedent(CLIENTS[client])
    program += textwrap.dedent("""
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (160 << 20), resource.RLIM_INFINITY))
        for status in ("422 No", "200 OK"):
            got = call()
            assert got == b"\\x1f\\x8b", (status, got)
    """)
    command = [sys.executable, "-c", program, str(bomb)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


LARGE = [
    (b"x" * (3 * MOST_BYTES), {}),
    (gzip.compress(bytes(8 * MOST_BYTES)), {"content-encoding": "gzip"}),
    (zlib.compress(b"[" * (2 * MOST_BYTES)), {"content-encoding": "deflate"}),
    (b"no gzip at all", {"content-encoding": "gzip"}),
    (b"unknown", {"content-encoding": "exi, gzip"}),
]


def parts_of(body: bytes) -> Iterator[bytes]:
    yield from (body[at : at + 100_000] for at in range(0, len(body), 100_000))


async def parts_later(body: bytes) -> Any:
    for part in parts_of(body):
        yield part


@pytest.mark.parametrize(("body", "headers"), LARGE)
def test_what_is_not_read_passes_as_it_came(body: bytes, headers: dict[str, str]) -> None:
    answer = httpx.MockTransport(lambda _: httpx.Response(422, headers=headers, content=parts_of(body)))
    with (
        httpx.Client(transport=CorrigibleTransport(transport=answer)) as client,
        client.stream("GET", "http://127.0.0.1:1/") as response,
    ):
        assert b"".join(response.iter_raw()) == body


@pytest.mark.parametrize(("body", "headers"), LARGE)
@pytest.mark.anyio
async def test_nor_does_the_asynchronous_one_change_it(body: bytes, headers: dict[str, str]) -> None:
    answer = httpx.MockTransport(lambda _: httpx.Response(422, headers=headers, content=parts_later(body)))
    async with (
        httpx.AsyncClient(transport=AsyncCorrigibleTransport(transport=answer)) as client,
        client.stream("GET", "http://127.0.0.1:1/") as response,
    ):
        assert b"".join([part async for part in response.aiter_raw()]) == body


def test_a_hook_leaves_a_large_refusal_unread() -> None:
    body = b"x" * (3 * MOST_BYTES)
    answer = httpx.MockTransport(lambda _: httpx.Response(422, content=parts_of(body)))
    with httpx.Client(transport=answer, event_hooks={"response": [explain_refusal]}) as client:
        assert client.get("http://127.0.0.1:1/").content == body


def test_a_body_that_breaks_off_breaks_off_for_the_caller() -> None:
    def breaking() -> Iterator[bytes]:
        yield b"beginning"
        raise httpx.ReadError("gone")

    answer = httpx.MockTransport(lambda _: httpx.Response(422, content=breaking()))
    with (
        httpx.Client(transport=CorrigibleTransport(transport=answer)) as client,
        client.stream("GET", "http://127.0.0.1:1/") as response,
    ):
        parts = response.iter_raw()
        assert next(parts) == b"beginning"
        with pytest.raises(httpx.ReadError, match="gone"):
            list(parts)


def refusal(*suggestions: dict[str, Any]) -> Answer:
    feedback = {"type": "recovery_guidance", "message": "No.", "suggestions": list(suggestions)}
    return Answer(422, (), json.dumps({"recovery_feedback": feedback}).encode())


def test_feedback_of_too_many_parts_is_none() -> None:
    edit = {"op": "add", "path": "/body/a", "value": 1}
    one = {"action": "MODIFY_PARAMS", "parameters": {}}
    assert feedback_in(refusal(*[one] * 64)) is not None
    assert feedback_in(refusal(*[one] * 65)) is None
    assert feedback_in(refusal({**one, "patch": [edit] * 1000})) is not None
    assert feedback_in(refusal({**one, "patch": [edit] * 600}, {**one, "patch": [edit] * 600})) is None
    assert feedback_in(refusal({**one, "steps": [{"method": "GET", "path": "/a"}] * 1001})) is None


SEGMENT = st.lists(st.sampled_from(["{a}", "{b}", "x", "y", "-", "xy"]), max_size=5).map("".join)


@given(st.lists(SEGMENT, max_size=3), st.text("xy-z", max_size=8))
def test_a_template_takes_what_a_pattern_of_it_would(template: list[str], path: str) -> None:
    written = "/".join(template)
    pattern = re.sub(r"\\\{.\\\}", "([^/]+)", re.escape(written))
    match = re.fullmatch(pattern, path)
    names = re.findall(r"\{(.)\}", written)
    assert path_values(written, path) == (None if match is None else dict(zip(names, match.groups(), strict=True)))


def test_many_variables_in_one_segment_end() -> None:
    template = "/" + "".join(f"{{v{number}}}a" for number in range(40)) + "b"
    assert path_values(template, "/" + "a" * 50_000) is None
    assert path_values(template, "/" + "a" * 50_000 + "b") is not None


def events_of(work: Callable[[], Any]) -> int:
    """Return how many lines are run, and how long the slices and lists are that tuples are made of: the same."""
    count = 0

    def traced(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        if event == "line":
            count += sum(len(one) for one in frame.f_locals.values() if type(one) is tuple)
        return traced

    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def schema(reference: str) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": {"$ref": reference}}}}}


def chain(number: int) -> dict[str, Any]:
    return {f"s{i}": {"properties": {"x": {"$ref": f"#/components/schemas/s{i + 1}"}}} for i in range(number)}


DESCRIPTIONS: dict[str, Callable[[int], dict[str, Any]]] = {
    "one name": lambda n: {"paths": {f"/a{i}": {"get": {"operationId": "x" * 70}} for i in range(n)}},
    "a chain that all have": lambda n: {
        "components": {"schemas": chain(n)},
        "paths": {f"/a{i}": {"post": schema("#/components/schemas/s0")} for i in range(n)},
    },
    "parameters that all have": lambda n: {
        "x": {"parameters": [{"name": f"p{i}", "in": "query"} for i in range(n)], "get": {}},
        "paths": {f"/a{i}": {"$ref": "#/x"} for i in range(n)},
    },
    "definitions of one name": lambda n: {
        "components": {f"s{i}": {"x": {"type": "string"}} for i in range(n)},
        "paths": {"/a": {"post": {"requestBody": {"content": {"application/json": {"schema": {
            "properties": {f"p{i}": {"$ref": f"#/components/s{i}/x"} for i in range(n)}
        }}}}}}},
    },
    "a long text": lambda n: {"paths": {"/a": {"get": {"description": "a \u200b" * n * 1000, "operationId": "-" * n}}}},
}  # fmt: skip


@pytest.mark.parametrize("kind", DESCRIPTIONS)
def test_tools_cost_what_the_description_is_long(kind: str) -> None:
    small, large = DESCRIPTIONS[kind](100), DESCRIPTIONS[kind](400)
    one, four = (calls_of(partial(Toolset, {"openapi": "3.1.0", **d}, "http://127.0.0.1:1")) for d in (small, large))
    assert four < 6 * one + 2000


def test_texts_of_a_description_are_shown_and_cut() -> None:
    text = "Buy \U000e0049gn\u200bore\u202e it. " + "word " * 1000
    operation = {"description": text, "parameters": [{"name": "q", "in": "query", "description": text}]}
    (tool,) = tools_of({"openapi": "3.1.0", "paths": {"/a": {"get": operation}}})
    for shown in (tool.description, tool.parameters[0].schema["description"]):
        assert shown.startswith("Buy gnore it. word") and shown.endswith(f"... (cut, {len(text)} characters)")
        assert len(shown) < 1100


@rows("method", ["/a.B/C", "CONNECT", "TRACE"])
@rows("where", ["request", "step"])
def test_what_no_library_writes_ends_in_the_api_s_answer(method: str, where: str) -> None:
    edit = {"op": "replace", "path": "/method", "value": method}
    steps = [{"method": method, "path": "/step"}] if where == "step" else []
    suggestion = {
        "action": "MODIFY_PARAMS",
        "parameters": {},
        "patch": [edit] if where == "request" else [{"op": "add", "path": "/query/a", "value": "1"}],
        "steps": steps,
        "applicability": "MACHINE_APPLICABLE",
        "verification": {"status": "verified", "method": "lookup"},
    }
    body = refusal(suggestion).body
    answer = httpx.MockTransport(lambda _: httpx.Response(422, content=body))
    transport = CorrigibleTransport(on_refusal="repair", transport=answer)
    with httpx.Client(transport=transport) as client:
        assert client.get("http://127.0.0.1:1/").content == body


def test_a_step_that_is_not_answered_ends_in_the_api_s_answer() -> None:
    suggestion = {
        "action": "MODIFY_PARAMS",
        "parameters": {},
        "patch": [{"op": "add", "path": "/query/a", "value": "1"}],
        "steps": [{"method": "GET", "path": "/step"}],
        "applicability": "MACHINE_APPLICABLE",
        "verification": {"status": "verified", "method": "lookup"},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/step":
            raise httpx.ReadTimeout("late")
        return httpx.Response(422, content=refusal(suggestion).body)

    transport = CorrigibleTransport(on_refusal="repair", transport=httpx.MockTransport(answer))
    with httpx.Client(transport=transport) as client:
        response = client.post("http://127.0.0.1:1/", json={})
    assert response.status_code == 422
    with pytest.raises(httpx.HTTPStatusError, match="GET /step, which has to come first, was not answered"):
        response.raise_for_status()


EDIT = {"action": "MODIFY_PARAMS", "parameters": {}}


def explaining(*patch: dict[str, Any]) -> Callable[[], Any]:
    return partial(explain, {"type": "recovery_guidance", "message": "m", "suggestions": [{**EDIT, "patch": patch}]})


def test_a_deep_place_costs_what_it_is_long() -> None:
    edits = [{"op": "add", "path": "/body" + "/a" * size, "value": 1} for size in (2_000, 4_000)]
    one, two = (events_of(explaining(edit)) for edit in edits)
    assert two < 3 * one + 2000
    assert (
        feedback_in(refusal({**EDIT, "patch": [{"op": "add", "path": "/body" + "/a" * 127, "value": 1}]})) is not None
    )
    for member in ("path", "from"):
        deep = {"op": "move", "path": "/body/a", "from": "/body/b", member: "/body" + "/a" * 128}
        assert feedback_in(refusal({**EDIT, "patch": [deep]})) is None


def test_many_edits_of_one_large_value_write_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[int]()

    def dumps(value: Any, **options: Any) -> str:
        written.append(len(text := json.dumps(value, **options)))
        return text

    monkeypatch.setattr(explanation, "json", SimpleNamespace(dumps=dumps))
    large = {"op": "test", "path": "/body", "value": ["x" * 10] * 10_000}
    explaining(large, *[{"op": "replace", "path": "/body", "value": 1}] * 500)()
    assert len([size for size in written if size > 100_000]) == 1


def tools_telling(count: int, answer: Any) -> Callable[[], Any]:
    """Return a call of one of `count` tools, that is refused with an answer."""
    paths = {
        f"/r{number}/{{id}}": {
            "post": {
                "operationId": f"op{number}",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
            },
            "get": {"operationId": f"get{number}"},
        }
        for number in range(count)
    }
    body = json.dumps(answer).encode()
    transport = httpx.MockTransport(lambda _: httpx.Response(422, content=body))
    tools = Toolset({"openapi": "3.1.0", "paths": paths}, "http://127.0.0.1:1", transport=transport)
    return partial(tools.call, "op0", {"id": "1", "body": {"a": 1}})


def told(*suggestions: dict[str, Any], **members: Any) -> dict[str, Any]:
    feedback = {"type": "recovery_guidance", "message": "m", "suggestions": [{**EDIT, **one} for one in suggestions]}
    return {**members, "recovery_feedback": feedback}


def asking(pointer: str, *schemas: Any) -> dict[str, Any]:
    places = [{"pointer": pointer.format(at), "ask": "user", "schema": one} for at, one in enumerate(schemas)]
    return {"applicability": "HAS_PLACEHOLDERS", "placeholders": places}


PATHS = [f"/r{number % 300}/{number}" for number in range(4000)]
WORK: dict[str, Callable[[int], Any]] = {
    "paths to choose from": lambda n: told(asking("/path", {"enum": PATHS[: 2 * n]})),
    "places to choose paths for": lambda n: told(asking("/path", *[{"enum": PATHS[:20]}] * (n // 4))),
    "methods to choose from": lambda n: told(asking("/method", {"enum": ["GET"] * 4 * n})),
    "values to choose from": lambda n: told(asking("/body/p", {"enum": [*range(20 * n)]}), p=[*range(50)]),
    "lists in the answer": lambda n: told(
        asking("/body/p{}", *[None] * 60), free={f"m{number}": [1, 2] for number in range(10 * n)}
    ),
    "requests that come first": lambda n: told({"steps": [{"method": "GET", "path": one} for one in PATHS[: n // 2]]}),
    "a long path": lambda n: told({"steps": [{"method": "GET", "path": "/r1/" + "%25" * 100 * n}]}),
    "a long path of slashes": lambda n: told({"steps": [{"method": "GET", "path": "/r1" + "/a" * 100 * n}]}),
}  # fmt: skip


@rows("kind", WORK)
def test_what_an_answer_costs_does_not_grow_with_the_tools(kind: str) -> None:
    answer = WORK[kind](400)
    few, many = (calls_of(tools_telling(count, answer)) for count in (100, 400))
    assert many < 1.3 * few + 1000


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORK)
def test_nor_faster_than_the_answer(kind: str) -> None:
    answers = [WORK[kind](size) for size in (1000, 2000)]
    one, two = (calls_of(tools_telling(300, answer)) for answer in answers)
    assert two < 2.2 * one + 1000
    assert one < 2 * len(json.dumps(answers[0])) + 150_000


MOVES = [{"a": 1, **dict.fromkeys(map(str, range(size)), 1)} for size in (2000, 4000)]


def test_what_was_moved_costs_what_there_is() -> None:
    one, two = (calls_of(partial(changes, {"x": 1, "y": 1}, after, pointer, moves=True)) for after in MOVES)
    assert two < 2.2 * one + 1000
