from __future__ import annotations

from typing import Any

from corrigible.rules.functions.builtin import quantity, quantity_text
from tests._support.rows import rows


@rows(
    ("text", "number"),
    [
        ("600m", 0.6),
        ("1Gi", 2.0**30),
        ("2e3", 2000.0),
        ("1.5", 1.5),
        (2, 2.0),
        ("1 GB", None),
        ("", None),
        (True, None),
        (None, None),
        *((f"1{suffix}", 1024.0**power) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)),
        *((f"1{suffix}", 1000.0**power) for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"), 1)),
        ("1u", 1e-6),
        ("1n", 1e-9),
        ("2e-3", 0.002),
        ("2E3", 2000.0),
        (" .5 ", 0.5),
        ("+1.", 1.0),
        ("-1", -1.0),
        ("1e100", None),
        ("1K", None),
        ("1" * 30, float("1" * 30)),
        ("1" * 31, None),
        ([], None),
    ],
)
def test_quantity(text: Any, number: float | None) -> None:
    assert quantity(text) == number


@rows(
    ("number", "like", "text"),
    [
        (0.5, "600m", "500m"),
        (1.0 - 0.9, "1", "100m"),
        (2.0, "600m", "2"),
        (1.5 * 2**30, "1Gi", "1536Mi"),
        (2.0**30, "512Mi", "1Gi"),
        (5e8, "1G", "500M"),
        (2000.0, "3", "2000"),
        (1.5, "1Gi", None),
        (2.0**52, "1Ki", "4Pi"),
        (2.0**50, "1Ki", "1Pi"),
        (3 * 2.0**10, "1Ki", "3Ki"),
        (1000.0, "1Ki", "1000"),
        (2e18, "1E", "2E"),
        (2e18, "1k", "2000000000000000k"),
        (1e-9, "1m", "1n"),
        (5e-10, "1m", "0"),
        (0.25, "what", "250m"),
        (-0.5, "1", "-500m"),
    ],
)
def test_quantity_text(number: float, like: str, text: str | None) -> None:
    assert quantity_text(number, like) == text
