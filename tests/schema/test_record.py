"""Records are dataclasses in all but the guard."""

from __future__ import annotations

import pickle
from dataclasses import replace

from corrigible.schema.exchange import Exchange, Request, record


@record
class Point:
    x: int
    y: int = 0


def test_a_record_is_compared_hashed_and_replaced_by_its_members() -> None:
    assert Point(1) == Point(1, 0) != Point(1, 1)
    assert len({Point(1), Point(1, 0)}) == 1
    assert replace(Point(1), y=2) == Point(1, 2)
    assert not hasattr(Point(1), "__dict__")


def test_an_exchange_goes_to_a_worker_and_comes_back() -> None:
    exchange = Exchange(Request("POST", "/x", {"a": "1"}, {}, {"b": [1.0]}), 400, {}, b"{}", "id")
    assert pickle.loads(pickle.dumps(exchange)) == exchange
