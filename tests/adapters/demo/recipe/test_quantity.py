"""Amounts are exact: no binary floating point anywhere."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from corrigible.adapters.demo.recipe.request import exact, is_in_range, plain, scaled, written
from tests._support.rows import rows


@rows(
    ("amount", "number"),
    [
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("3.25"), Fraction(13, 4)),
        ("2", Fraction(2)),
        ("0.75", Fraction(3, 4)),
        ("1/3", Fraction(1, 3)),
        ("1 1/2", Fraction(3, 2)),
        (" 1  1/2 ", Fraction(3, 2)),
        ("a handful", None),
        ("two", None),
        ("1/0", None),
        ("2 cups", None),
        ("1e3", None),
        ("-1", None),
        ("0", None),
        ("1000001", None),
        ("٣", None),
    ],
)
def test_an_amount_is_read_without_loss(amount: Decimal | str, number: Fraction | None) -> None:
    assert exact(amount) == number


@rows(
    ("amount", "original", "target", "expected"),
    [
        ("2", "4", "6.5", "3.25"),
        ("8", "8", "11", "11"),
        ("3", "12", "19", "4.75"),
        ("0.7", "3", "4.5", "1.05"),
        ("1", "12", "19", "1.583333333"),
        ("2", "3", "1", "0.666666667"),
        ("100", "1", "10", "1000"),
    ],
)
def test_scaling_multiplies_exactly(amount: str, original: str, target: str, expected: str) -> None:
    product = scaled(Fraction(amount), original=Decimal(original), target=Decimal(target))
    assert plain(written(product)) == expected


def test_binary_floating_point_would_not_do() -> None:
    assert 0.1 * 7 / 1 != 0.7
    assert scaled(Fraction("0.1"), original=Decimal(1), target=Decimal(7)) == Fraction("0.7")


@rows(
    ("number", "fits"),
    [
        ("0.000000001", True),
        ("1000000", True),
        ("0", False),
        ("-1", False),
        ("1000000.1", False),
        ("1E+999999", False),
        ("1E-999999", False),
        ("0.1234567890123456789", False),
    ],
)
def test_numbers_no_kitchen_means_are_out_of_range(number: str, fits: bool) -> None:
    assert is_in_range(Decimal(number)) is fits


@pytest.mark.parametrize(("number", "text"), [("11", "11"), ("1E+1", "10"), ("3.250", "3.25"), ("0.5", "0.5")])
def test_numbers_are_written_without_exponent(number: str, text: str) -> None:
    assert plain(Decimal(number)) == text
