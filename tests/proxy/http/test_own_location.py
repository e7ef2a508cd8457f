"""References to the API's own address become relative ones, and nothing else changes."""

from __future__ import annotations

from corrigible.proxy.http.own_location import OwnLocation, Rewritten
from tests._support.rows import rows

UP = "http://api.test:8000"


@rows(
    ("upstream", "location", "relative"),
    [
        (UP, b"http://api.test:8000/items/", b"/items/"),
        (UP, b"HTTP://API.test:8000/a%2Fb?q=1#f", b"/a%2Fb?q=1#f"),
        (UP, b"http://api.test:8000", b"/"),
        (UP, b"http://api.test:8000?q=1", b"/?q=1"),
        ("https://api.test", b"https://api.test:443/x", b"/x"),
        ("http://[::1]:8000", b"http://[::1]:8000/x", b"/x"),
    ],
)
def test_the_api_s_own_address_is_left_out(upstream: str, location: bytes, relative: bytes) -> None:
    fields = ((b"A", b"1"), (b"location", location), (b"B", b"2"))
    assert OwnLocation(upstream).rewritten(307, fields) == ((b"A", b"1"), (b"location", relative), (b"B", b"2"))


@rows(
    "location",
    [
        b"/items/",
        b"items/",
        b"//api.test:8000/items/",
        b"http://api.test/items/",
        b"http://api.test:80001/items/",
        b"https://api.test:8000/items/",
        b"http://other.test:8000/items/",
        b"http://user@api.test:8000/items/",
        b"http://api.test:8000@evil.test/",
        b"http://api.test:8000.evil.test/",
        b"http://api.test:8000//evil.test/",
        b"http://api.test:8000/\\evil.test/",
        b"http://api.test:8000\\@evil.test/",
        b"http://login.test/?next=http://api.test:8000/items/",
        b"",
        b"caf\xe9",
    ],
)
def test_another_address_stays(location: bytes) -> None:
    fields = ((b"Location", location),)
    assert OwnLocation(UP).rewritten(301, fields) is fields


@rows("status", [200, 201, 202, 304, 400, 401, 503])
def test_only_redirects_change_unless_all_are_to(status: int) -> None:
    fields = (
        (b"Location", b"http://api.test:8000/1"),
        (b"Content-Location", b"http://api.test:8000/2"),
        (b"Link", b'<http://api.test:8000/3?page=2>; rel="next", <http://other.test/4>; rel="help"'),
        (b"X-Self", b"http://api.test:8000/5"),
    )
    assert OwnLocation(UP).rewritten(status, fields) is fields
    assert OwnLocation(UP, Rewritten.NONE).rewritten(307, fields) is fields
    assert OwnLocation(UP, Rewritten.ALL).rewritten(status, fields) == (
        (b"Location", b"/1"),
        (b"Content-Location", b"/2"),
        (b"Link", b'</3?page=2>; rel="next", <http://other.test/4>; rel="help"'),
        (b"X-Self", b"http://api.test:8000/5"),
    )
