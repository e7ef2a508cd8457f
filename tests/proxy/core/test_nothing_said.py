"""Which messages say no more than the status of their answer."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.request_at_fault import says_no_path, says_no_route, says_nothing
from tests._support.rows import rows


@rows(
    "message",
    [
        "",
        "Not found",
        "not found.",
        "NOT_FOUND",
        "not_found",
        "notfound",
        "Resource not found",
        "The requested resource was not found",
        "Page not found",
        "404 page not found",
        "404",
        "404 Not Found",
        "Error 404: Not found",
        "HTTP Error 404: Not Found",
        "HTTP 404",
        "Gone",
        "The requested URL was not found on the server. If you entered it, check your spelling.",
        "Nothing here",
    ],
)
def test_no_more_than_that_something_is_absent(message: str) -> None:
    assert says_nothing(message, 404)
    assert says_nothing(message, 410)
    assert says_no_path(message)


@rows(
    "message",
    [
        "Endpoint not found",
        "Route not found",
        "route GET:/x not found",
        "Cannot GET /x",
        "No such route",
        "Unknown endpoint",
        "The requested endpoint could not be found",
        "POST /trees not found",
        "DELETE /trees/7 was not found",
        "Router not found for request GET /trees/7",
        "Route not found for 'GET /trees/7'",
        "Handler not found at /trees/7.",
    ],
)
def test_that_the_path_leads_nowhere_is_more(message: str) -> None:
    assert not says_nothing(message, 404)
    assert says_no_path(message)


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported request method",
        "Method PATCH not allowed",
        "HTTP method 'PUT' is not supported",
    ],
)
def test_that_there_is_no_such_method(message: str) -> None:
    assert says_no_route(message)


@pytest.mark.parametrize("message", ["Router not found for request GET /trees/7", "Route not found for: /trees/7"])
def test_that_no_route_was_found_for_a_request(message: str) -> None:
    assert says_no_route(message)


@pytest.mark.parametrize("message", ["Invalid payment method", "Bad method: card"])
def test_a_method_that_is_none_of_http(message: str) -> None:
    assert not says_no_route(message)


@pytest.mark.parametrize("message", ["Order not found", "Order 7 not found", "File not found: a", "not found: 7", "x"])
def test_a_thing_that_is_named(message: str) -> None:
    assert not says_nothing(message, 404)
    assert not says_no_path(message)


@rows(
    ("message", "says"),
    [
        ("", False),
        ("Bad Request", False),
        ("400 Bad Request", False),
        ("HTTP error 422: Unprocessable Entity", False),
        ("Unprocessable Content", False),
        ("Validation failed", False),
        ("Invalid input", False),
        ("Request error.", False),
        ("Not found", True),
        ("name is invalid", True),
        ("Validation failed: name", True),
    ],
)
def test_other_statuses(message: str, says: bool) -> None:
    assert says_nothing(message, 400) is not says
    assert says_nothing(message, 422) is not says
