"""Short forms of values: the endings of files that everybody writes, and no other abbreviations."""

from __future__ import annotations

import pytest

from corrigible.rules.safety.equivalence import is_near_spelling, is_short_value, written_otherwise
from tests._support.rows import rows


@rows(
    ("text", "other", "is_short"),
    [
        ("md", "markdown", True),
        ("markdown", "md", True),
        ("MD", "Markdown", True),
        (".yml", "yaml", True),
        ("jpeg", "JPG", True),
        ("txt", "text", True),
        ("ts", "typescript", True),
        ("htm", "html", True),
        ("js", "javascript", True),
        ("mpg", "mpeg", True),
        ("py", "python", True),
        ("tif", "tiff", True),
        ("md", "md", False),
        ("md", "html", False),
        ("py", "pytorch", False),
        ("js", "json", False),
        ("doc", "document", False),
        ("en", "english", False),
    ],
)
def test_short_forms_of_values(text: str, other: str, *, is_short: bool) -> None:
    assert is_short_value(text, other) is is_short
    if is_short:
        assert is_near_spelling(text, other)


@pytest.mark.parametrize(
    ("text", "values", "meant"),
    [
        ("md", ["html", "markdown"], "markdown"),
        ("markdown", ["html", "md"], "md"),
        ("jpg", ["jpeg", "JPEG"], ""),
        ("md", ["html", "pdf"], ""),
    ],
)
def test_only_one_of_a_list_is_meant(text: str, values: list[str], meant: str) -> None:
    assert written_otherwise(text, values) == meant
