"""From HTTP bytes to the request document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from corrigible.proxy.http.request_reader import read_request
from corrigible.schema.document import nested, query_pairs
from tests._support.rows import rows

FORM = [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")]


@rows(
    ("text", "body"),
    [
        ("a=1&b=", {"a": "1", "b": ""}),
        ("a=1&a=2", {"a": ["1", "2"]}),
        ("a[b]=1&a[c][d]=2", {"a": {"b": "1", "c": {"d": "2"}}}),
        ("a[]=1&a[]=2", {"a": ["1", "2"]}),
        ("a[0][n]=1&a[1][n]=2", {"a": [{"n": "1"}, {"n": "2"}]}),
        ("a[1]=y&a[0]=x", {"a": ["x", "y"]}),
        ("a[1]=y", {"a": {"1": "y"}}),
        ("a=1&a[b]=2", {"a": "1", "a[b]": "2"}),
        ("a%5Bb%5D=%C3%A9+x&c=%2B", {"a": {"b": "\u00e9 x"}, "c": "+"}),
        ("a", {"a": ""}),
        ("=1", {"": "1"}),
        ("a=b=c", {"a": "b=c"}),
        ("&&", {}),
        ("", {}),
    ],
)
def test_forms(text: str, body: Any) -> None:
    request = read_request("post", "/x", FORM, text.encode())
    assert (request.method, request.form, request.body) == ("POST", True, body)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("a=1&b=", {"a": "1", "b": ""}),
        ("created[gte]=1&created%5Blte%5D=2", {"created[gte]": "1", "created[lte]": "2"}),
        ("expand[]=a&expand[]=b&expand[]=c", {"expand[]": ["a", "b", "c"]}),
        ("q=%C3%A9+x", {"q": "\u00e9 x"}),
        ("", {}),
    ],
)
def test_queries_keep_the_names_as_sent(text: str, query: Any) -> None:
    assert read_request("GET", f"/x?{text}", [], b"").query == query
    assert dict_of(query_pairs(query)) == query


def dict_of(pairs: Iterator[tuple[str, str]]) -> dict[str, Any]:
    return dict(read_request("GET", "/x?" + urlencode(list(pairs)), [], b"").query)


@rows(
    ("data", "body"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b"[1]", [1]),
        (b"0", 0),
        (b"", None),
        (b"{not json", "{not json"),
        (b'{"a": 1}\xff', '{"a": 1}\ufffd'),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_other_bodies(data: bytes, body: Any) -> None:
    assert read_request("POST", "/x", [("Content-Type", "application/json")], data).body == body


@rows(
    ("data", "others"),
    [
        *(
            (text, False)
            for text in ("1", "-1", "0", "1.5", "-0.25", "5.0", "18446744073709551615", '"1.10"', '"\\"1.10"')
        ),
        *((text, True) for text in ("1.10", "1e3", "1E3", "18446744073709551616", "123456789012345678901234", "1.50")),
        *((text, True) for text in ("0.30000000000000000004", "1" * 5000 + ".0", "-9223372036854775809", "1e-7")),
    ],
)
def test_numbers_that_are_read_as_others_are_known(data: str, others: bool) -> None:
    for body in (f'{{"v": {data}}}', f'["1.10", {data}]'):
        read = read_request("POST", "/x", [("Content-Type", "application/json")], body.encode())
        assert read.has_other_numbers is (others and not isinstance(read.body, str))
    assert not read_request("POST", "/x", FORM, f"v={data}".encode()).has_other_numbers


def test_a_form_of_very_many_fields_is_not_taken_for_an_empty_one() -> None:
    many = "&".join(f"f{number}=1" for number in range(2001))
    with pytest.raises(ValueError, match="fields"):
        read_request("POST", "/x", FORM, many.encode())
    with pytest.raises(ValueError, match="fields"):
        read_request("GET", f"/x?{many}", [], b"")


def test_no_nesting_is_too_deep() -> None:
    name = "a" + "[b]" * 500
    assert nested([(name, "1")]) == {name: "1"}


@rows(
    "name",
    ["Authorization", "PROXY-AUTHORIZATION", "cookie", "X-Api-Key", "X-Goog-Api-Key", "Host", "Content-Length", "TE"],
)
def test_credentials_and_framing_stay_out(name: str) -> None:
    assert read_request("GET", "/x", [(name, "secret"), ("X-A", "1")], b"").headers == {"x-a": "1"}


def test_repeated_headers_are_joined() -> None:
    assert read_request("GET", "/x", [("X-A", "1"), ("x-a", "2")], b"").headers == {"x-a": "1, 2"}


def test_the_path_has_no_query() -> None:
    request = read_request("GET", "/v1/a%20b?x=1?y", [], b"")
    assert (request.path, request.query) == ("/v1/a%20b", {"x": "1?y"})
