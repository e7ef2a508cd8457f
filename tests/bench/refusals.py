"""Refusals of which no two are alike: another message, members, path, caller and form of answer each time.

What is kept of each would grow with their number: see `soak`, and `tests/proxy/core/test_kept.py`.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import string
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from .storm import Upstream

Json = Any
SENTENCES: Final = (
    "{name} must be one of {value}, {other}, {third}",
    "Invalid value for {name}: {value}",
    "{name} is required",
    "Member {name} must not be longer than {number} characters",
    "Unknown field '{name}'. Did you mean '{other}'?",
    "The {name} {value} does not exist",
    "You do not have permission to {name} {other}",
    "value {value} of `{name}` should be between {number} and 5000",
    "json: cannot unmarshal string into Go struct field {name}.{other} of type int",
    "Input should be a valid integer, unable to parse string as an integer: {value}",
    "{name}: {value} is not a valid date, expected YYYY-MM-DD",
    "Conflict: {name} was changed by another request, version {number}",
    "expected {name} to be {other}, got {value} instead; see https://{third}.example.com/{name}",
    "rate limit of {number} per minute exceeded, try again in 30 seconds",
    'duplicate key value violates unique constraint "{name}_key" Key ({name})=({value}) already exists',
    "either {name} or {other} must be given",
    "it does not match the pattern ^[a-z]{{1,{number}}}-{name}$",
    "{value} {other} {third} {name}",
)
WORDS: Final = (
    *("customer", "currency", "channel", "lines", "sku", "quantity", "amount", "order", "gift", "email", "name"),
    *("items", "price", "count", "status", "limit", "cursor", "filter", "sort", "page", "date", "kind", "mode"),
)
TARGETS: Final = (
    *(("POST", "/v1/orders"), ("POST", "/v1/refunds"), ("GET", "/v1/orders"), ("GET", "/v1/orders/{name}")),
    *(("POST", "/v1/orders/{name}/cancel"), ("PUT", "/v1/{name}"), ("DELETE", "/v1/items/{name}")),
)
STATUSES: Final = (400, 400, 400, 422, 422, 404, 409, 403, 429, 412, 500, 405, 415)
ORDER: Final = {"customer": "cus_ada", "currency": "eur", "channel": "web"}


class Asked(NamedTuple):
    """One request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Answered(NamedTuple):
    """How it is refused."""

    status: int
    body: bytes


class Refusals:
    """Makes them, the same ones from the same seed."""

    def __init__(self, seed: int = 1, *, longest: int = 14) -> None:
        """`longest`: letters of a made name; of a tenth of them twenty times as many."""
        self._dice = random.Random(seed)
        self._longest = longest

    def asked(self) -> Asked:
        dice = self._dice
        method, target = dice.choice(TARGETS)
        target = target.format(name=quote(self._name(), safe=""))
        if dice.random() < 0.3:
            target += f"?{quote(self._name())}={quote(self._name())}&limit={dice.randrange(999)}"
        caller = f"caller {dice.getrandbits(40)}" if dice.random() < 0.8 else "everybody"
        headers = {"Authorization": f"Bearer {caller}", f"X-{dice.choice(WORDS)}-{dice.randrange(999)}": "1"}
        body = {self._name(): self._value() for _ in range(dice.randint(0, 6))}
        if dice.random() < 0.3:
            body |= {**ORDER, "lines": [{"sku": self._name(), "quantity": dice.randrange(9)}]}
        if method not in ("POST", "PUT"):
            return Asked(method, target, headers, b"")
        return Asked(method, target, {**headers, "Content-Type": "application/json"}, json.dumps(body).encode())

    def answered(self) -> Answered:
        dice = self._dice
        status, said, name = dice.choice(STATUSES), self._message(), self._name()
        causes = [{"reason": "FieldValueRequired", "field": f"spec.{name}", "message": said}]
        error = {"type": "invalid_request_error", "code": self._name(), "message": said, "param": name}
        document: Json = dice.choice(
            [
                {"message": said},
                {"error": said},
                {"error": error},
                {"errors": [{"message": self._message(), "field": self._name()} for _ in range(dice.randint(1, 4))]},
                {"detail": [{"loc": ["body", name], "msg": said, "type": self._name()}]},
                {"kind": "Status", "status": "Failure", "code": status, "message": said, "details": {"causes": causes}},
                {"type": "about:blank", "title": name, "status": status, "detail": said, "errors": {name: [said]}},
                [{"code": name, "message": said}],
            ]
        )
        return Answered(status, json.dumps(document).encode())

    def _name(self) -> str:
        dice = self._dice
        match dice.randrange(10):
            case 0 | 1 | 2:
                return dice.choice(WORDS)
            case 3 | 4:
                return f"{dice.choice(WORDS)}_{dice.choice(WORDS)}"
            case 5:
                return "".join(dice.choices("_é\U0001f600[]/~.ab", k=dice.randint(1, 20 * self._longest)))
        return "".join(dice.choices(string.ascii_lowercase, k=dice.randint(2, self._longest)))

    def _value(self, depth: int = 0) -> Json:
        dice = self._dice
        match dice.randrange(8 if depth < 3 else 6):
            case 0 | 1 | 2:
                return "".join(dice.choices(string.ascii_letters + string.digits + " -_.:/@", k=dice.randint(1, 40)))
            case 3:
                return dice.randint(-(10**6), 10**9)
            case 4:
                return dice.choice([True, False, None, 1.5])
            case 6:
                return {self._name(): self._value(depth + 1) for _ in range(dice.randint(0, 5))}
            case 7:
                return [self._value(depth + 1) for _ in range(dice.randint(0, 4))]
        return self._name()

    def _message(self) -> str:
        dice = self._dice
        said = " ".join(dice.choice(SENTENCES) for _ in range(dice.choice([1, 1, 1, 2, 3])))
        words = {"name": self._name(), "other": self._name(), "third": self._name(), "value": self._value(3)}
        return said.format(**words, number=dice.randrange(1, 999))


class Refusing(Upstream):
    """A server that refuses everything."""

    refusals = Refusals(2)

    def answer(self, head: bytes) -> tuple[bytes, bytes]:
        status, body = self.refusals.answered()
        return b"%d Refused" % status, body


@contextmanager
def refusing() -> Iterator[int]:
    """Run such a server in a thread. Yields its port."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(Refusing, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()


def callers(port: int, over: Callable[[], bool], note: Callable[[bool], None], seed: int) -> None:
    """Be refused over one connection until it is over. `note` takes whether it was explained."""
    refusals = Refusals(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while not over():
        method, target, headers, body = refusals.asked()
        connection.request(method, target, body, {**headers, "Prefer": "recovery-feedback=reflective"})
        answer = connection.getresponse()
        said = answer.read()
        note(b'"recovery_feedback"' in said or answer.getheader("Link") is not None)
    connection.close()
