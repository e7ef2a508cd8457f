"""Requests and exchanges as plain data."""

from __future__ import annotations

from corrigible.schema.error import FeedbackError
from corrigible.schema.exchange import Exchange, Protocol, Request, protocol_of


def test_a_grpc_method_is_a_path() -> None:
    assert [protocol_of(method) for method in ("/a.v1.B/C", "POST", "a/")] == [
        Protocol.GRPC,
        Protocol.HTTP,
        Protocol.HTTP,
    ]
    assert Request("/a.v1.B/C", "").protocol is Protocol.GRPC
    assert Request("/", "").protocol is Protocol.GRPC
    assert Request("GET", "/a").protocol is Protocol.HTTP
    assert (str(Protocol.HTTP), str(Protocol.GRPC)) == ("http", "grpc")


def test_an_exchange_without_a_clock_is_at_the_beginning() -> None:
    exchange = Exchange(Request("GET", "/a"), 400, {}, b"")
    assert (exchange.id, exchange.started, exchange.elapsed, exchange.caller) == ("", 0.0, 0.0, "")
    assert exchange.request.document() == {"method": "GET", "path": "/a", "query": {}, "headers": {}, "body": None}
    assert exchange.request.form is False


def test_an_error_names_all_of_its_problems() -> None:
    error = FeedbackError(["a", "b"])
    assert (str(error), error.problems) == ("a; b", ("a", "b"))


def test_other_content_leaves_the_rest_of_a_request_as_it_is() -> None:
    request = Request("PUT", "/a", {"q": "1"}, {"x-a": "1"}, {"b": 1}, True, frozenset({"c"}))
    other = request.with_content({"x-b": "2"}, {"b": 2})
    assert other == Request("PUT", "/a", {"q": "1"}, {"x-b": "2"}, {"b": 2}, True, frozenset({"c"}))


def test_a_text_is_json_no_longer_than_it_is_the_text_that_was_sent() -> None:
    sent = Request("PUT", "/a", body="x y", is_json_text=True)
    assert sent.with_content({}, sent.body).is_json_text
    assert not sent.with_content({}, "other").is_json_text
    assert not Request("PUT", "/a", body=sent.body).with_content({}, sent.body).is_json_text


def test_how_numbers_were_written_makes_no_other_request() -> None:
    plain, other = Request("PUT", "/a", body=1.5), Request("PUT", "/a", body=1.5, has_other_numbers=True)
    assert plain == other
    assert not plain.has_other_numbers
    assert other.with_content({}, 2.5).has_other_numbers and not plain.with_content({}, 2.5).has_other_numbers
