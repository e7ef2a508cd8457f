"""Members of which a text says that they cannot be combined, without their names."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.not_combined import not_combined

SORTS = [("sort", "/query/sort"), ("sort_key", "/query/sort_key"), ("limit", "/query/limit")]
TOLD = " old and new sorting syntax cannot be combined "


@pytest.mark.parametrize(
    ("text", "named", "places"),
    [
        (TOLD, SORTS, ["/query/sort", "/query/sort_key"]),
        (" pages may not be mixed ", [("page", "/query/page"), ("page_token", "/query/page_token")], 2),
        (" pages may not be mixed in one request ", [("page", "/query/page"), ("pageSize", "/query/pageSize")], 2),
        (TOLD, SORTS[:1], []),
        (TOLD, [("sort", "/query/sort"), ("sort_key", "/body/sort_key")], []),
        (" sorting and paging cannot be combined ", [*SORTS, ("paging", "/query/paging")], []),
        (" sorting is not supported ", SORTS, []),
        (" the values cannot be combined ", [("value_a", "/query/value_a"), ("value_b", "/query/value_b")], []),
    ],
)
def test_the_places(text: str, named: list[tuple[str, str]], places: list[str] | int) -> None:
    found = not_combined(text, named)
    assert (len(found) if isinstance(places, int) else found) == places
