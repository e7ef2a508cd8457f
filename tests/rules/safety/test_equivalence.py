"""Which spellings say the same, and which only look alike."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.safety.equivalence import is_near_spelling, is_respelled, is_same_value
from tests._support.rows import rows


@rows(
    ("one", "other"),
    [
        ("500", 500),
        ("5.0", 5),
        (" 7 ", 7),
        ("true", True),
        ("False", False),
        ("1,000", 1000),
        (["a"], "a"),
        ("a,b", ["a", "b"]),
        ({"a": 1}, '{"a": 1}'),
        ({"a": 1}, '\ufeff {"a": 1,}'),
        ([1, 2], "[1, 2,]"),
        ({"a": 1}, [{"a": 1}]),
        ({"0": "x", "1": "y"}, ["x", "y"]),
        ("1000m", "1"),
        ("1 GB", "1G"),
        ("1GiB", "1Gi"),
        ("50 %", "50%"),
        ("1 hour", "1h"),
        ('{"a": [{"b": "c"}', {"a": [{"b": "c"}]}),
        ("2 days", "48h"),
        ("2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00"),
        ("2026-01-02", "Jan 2, 2026"),
        ("1893456000000", 1893456000),
        ("hello world", "aGVsbG8gd29ybGQ="),
        ("aGVsbG8gd29ybGQ", "aGVsbG8gd29ybGQ="),
        ("a%20b", "a b"),
        ("#0af", "00aaff"),
        ("a, b;c", ["a", "b", "c"]),
        (" a,b, ", ["a", "b"]),
        ("YWJjZA==", "YWJjZA"),
        ("YWJjZA-_", "YWJjZA+/"),
        ("abcde", "YWJjZGU="),
        ("1,234,567.5", 1234567.5),
        ("1kib", "1Ki"),
        ("1 kB", "1k"),
        ("1893456000", "1893456000000"),
        ([[[[["a"]]]]], "a"),
        ({"a": 1}, [[[{"a": 1}]]]),
        ([1, 2], "[1, 2]"),
        ("a" * 4000, f" {'a' * 4000} "),
        ("#00AAFF", "#0af"),
        ("a%2Fb", "a/b"),
        ("2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.500Z"),
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        ("0.5", 0.5),
        ("19.90", 19.9),
        ("1,000", "1000"),
        ("100 MB", "100M"),
        ("#f29513", "F29513"),
        ("#FFF", "#ffffff"),
    ],
)
def test_converted_without_loss(one: Any, other: Any) -> None:
    assert is_same_value(one, other)
    assert is_same_value(other, one)


@rows(
    ("one", "other"),
    [
        ("1 hour", 3600),  # of what?
        ("1 month", "1m"),
        ("1 hour", "1m"),
        ("yes", True),
        ("on", True),
        ("1", True),
        (1, True),
        (0, False),
        (500, 300),
        ("19.90", 1990),
        ("1M", "1m"),
        ("80%", "70%"),
        (["a", "b"], "a"),
        (["a", "b"], ["a"]),
        ({"a": 1, "b": 2}, {"a": 1}),
        ("2026-01-02T03:04:05", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05Z", "2026-01-02"),
        ("2026-01-02T00:00:00Z", "2026-01-02"),
        (None, ""),
        ("", 0),
        ("abc", "abd"),
        ("0" + "7" * 32, "7" * 32),
        ("a,2", ["a", 3]),
        ("a,b", ["a", {"b": 1}]),
        ("abcd" * 1500, "abcd" * 1499 + "abce"),
        ("YWJj", "abc"),
        ("12", 1234),
        ("2026-01-02T03:04:05Z", "2026-01-02T05:04:05Z"),
        ("2026-01-02", "Jan 3, 2026"),
        ("1893456000", "1893456001000"),
        ("12345678901", "1234567890"),
        (["ab"] * 2000, "ab," * 2000),
        ([[[[[["a"]]]]]], "a"),
        ("03/04/2026", "2026-04-03"),  # or the fourth of March
        ("#0af", "#0ae"),
        ("0af", "00aaff"),
        ("1,00", 100),
        ("1Ki", "1k"),
        ("NaN", "nan "),
        ({"0": "x", "2": "y"}, ["x", "y"]),
        ({"a": 1}, [{"a": 1}, {"b": 2}]),
        ("007", "7"),
        ("02134", 2134),
        ("00123", "123"),
        ("-01", -1),
        ("1.10", "1.1"),
        ("5.0", "5"),
        ("1E3", 1000),
        ("1e3", "1000"),
        ("100 Mb", "100 MB"),
        ("1Gb", "1GB"),
        ("#123", "112233"),
        ("#123", "123"),
        ("ABCDEF", "abcdef"),
        ("123456", "#123457"),
        ("user-names", "user+names"),
        ("user _", "user_"),
        ("filters=", "filters"),
        ("User-Name1", "User+Name1x"),
        ("9007199254740993", 9007199254740992.0),
    ],
)
def test_another_value(one: Any, other: Any) -> None:
    assert not is_same_value(one, other)
    assert not is_same_value(other, one)


@rows(
    ("one", "other"),
    [
        ("updted", "updated"),
        ("Bad_Name", "bad-name"),
        ("opened", "open"),
        ("Monthly", "month"),
        ("TIMESTAMP", "TIMESTAMP_ASC"),
        ("example.com", "https://example.com"),
        ("1.2.0", "v1.2.0"),
        ("main", "refs/heads/main"),
        ("opend", "opened"),
        ("lebel", "label"),
        ("abcdefgh", "abxdefyh"),
        ("abc", "abcd"),
        ("abc", "abx"),
        ("abc", "abcdef"),
        ("def", "abc-def"),
        ("ab", "x-ab"),
        ("ab", "ab/x"),
        ("15s", "t15s"),
        ("123", "123-x"),
        ("123", "issue-123"),
        ("openeds", "open"),
        ("ABC", "abcdef"),
    ],
)
def test_spelling_put_right(one: str, other: str) -> None:
    assert is_near_spelling(one, other)


@rows(
    ("one", "other"),
    [
        ("Bad_Name", "bad-name"),
        ("Re Opened", "reopened"),
        ("UTF-8", "utf8"),
        ("refs/heads/Main", "refs/heads/main"),
        ("'single'", "single"),
        ("C++", "c++"),
        ("-Name", "-name"),
    ],
)
def test_case_and_what_separates_words_are_put_right_anywhere(one: str, other: str) -> None:
    assert is_respelled(one, other)
    assert is_respelled(other, one)
    assert is_near_spelling(one, other)


@pytest.mark.parametrize(("one", "other"), [("7", "orders/7"), ("v1", "refs/tags/v1"), ("tags/v1", "refs/tags/v1")])
def test_a_name_below_its_collection_is_the_same_name(one: str, other: str) -> None:
    assert is_respelled(one, other)


@pytest.mark.parametrize("other", ["https://evil.example/a", "evil.example/a", "x/b/a.", "1/a"])
def test_a_name_below_a_host_is_another_one(other: str) -> None:
    assert not is_respelled("a", other)


@rows(
    ("one", "other"),
    [
        ("node", "x/node-1"),
        ("7", "orders/17"),
        ("internal", "external"),
        ("ascending", "descending"),
        ("v2", "v1"),
        ("autoscaling/v2", "autoscaling/v1"),
        ("ReadWriteAll", "ReadWriteOnce"),
        ("ReadWriteAll", "ReadWriteMany"),
        ("squash_merge", "squash"),
        ("Please ring twice and leave it with the neighbours", "Please ring twice and leave it with the "),
        ("5", "15"),
        ("1M", "1m"),
        ("-1", "1"),
        ("1.5", "15"),
        ("order-12", "order-13"),
        ("public", "private"),
        ("a", "b"),
        ("", "x"),
        ("x", ""),
        ("x", "_"),
        ("ab", "ax"),
        ("abcdefg", "abxdefy"),
        ("ab", "abc"),
        ("lable", "tables"),
        ("", "-x"),
        ("x", "xx"),
        ("ef", "abcdef"),
        ("15s", "115s"),
        ("abcde", "abc"),
        ("open12", "open"),
        ("openedly", "open"),
        ("123", "1234"),
        ("500m", "500n"),
        ("1.5", "1.50"),
        ("12e3", "1e23"),
        ("abx", "xba"),
        ("ab12", "ab21"),
        ("c", "c-2"),
        ("C++", "C"),
        ("-name", "name"),
        ("A-", "A"),
        ("v1.1", "v11"),
        ("!admin", "admin"),
        ("a~b", "ab"),
        ("*.js", "js"),
        ("@me", "me"),
        ("100 Mb", "100 MB"),
        ("abcdefgh", "abxdxfxh"),
        ("a" * 4097, "a" * 4097 + "-x"),
    ],
)
def test_another_word(one: str, other: str) -> None:
    assert not is_respelled(one, other)
    assert not is_near_spelling(one, other)
