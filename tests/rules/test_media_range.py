"""`Accept`, read in one way: ranges, weights, what decides."""

from __future__ import annotations

from corrigible.rules.lookup_headers import MediaRange, accepts, media_ranges
from tests._support.rows import rows


def test_ranges_have_their_parameters_and_weights() -> None:
    assert media_ranges("Text/HTML;level=1; q=0.5, */* ;Q=0,, application/json;q=0.123;v=2") == [
        MediaRange("text/html", ("level=1",), 0.5),
        MediaRange("*/*", (), 0.0),
        MediaRange("application/json", ("v=2",), 0.123),
    ]
    assert media_ranges("application/json;v=2;q=0.1")[0].written == "application/json;v=2"
    assert [one.weight for one in media_ranges("a/b;q=2, a/c;q=x, a/d;q=1.000")] == [1.0, 1.0, 1.0]
    assert (media_ranges(""), len(media_ranges("a/b," * 1000))) == ([], 64)


@rows(
    ("accept", "is_taken"),
    [
        ("text/html", True),
        ("TEXT/*", True),
        ("*/*;q=0.1", True),
        ("application/json", False),
        ("text/html;q=0", False),
        ("text/html;q=0.000, */*", False),  # the most specific range decides
        ("text/html;q=0, text/html;level=1", True),
        ("text/*;q=0, text/html", True),
        ("", False),
    ],
)
def test_the_most_specific_range_decides(accept: str, is_taken: bool) -> None:
    assert accepts(accept, "text/html") is is_taken
