"""Dates, identifiers and numbers in the spellings people use."""

from __future__ import annotations

from calendar import month_name
from datetime import date

from corrigible.rules.safety.spelling import (
    dates,
    document,
    integer,
    is_format,
    moments,
    number,
    respelled,
    rfc3339,
    truth,
    typed,
)
from corrigible.schema.exchange import Json
from tests._support.rows import rows


@rows(
    ("text", "days"),
    [
        ("2026-03-04", ["2026-03-04"]),
        ("2026.3.4", ["2026-03-04"]),
        ("4-Mar-2026", ["2026-03-04"]),
        ("Sept 4 2026", ["2026-09-04"]),
        ("Wednesday, 4th March 2026", ["2026-03-04"]),
        ("13/01/2026", ["2026-01-13"]),
        ("01/13/2026", ["2026-01-13"]),
        ("04/04/2026", ["2026-04-04"]),
        ("03.04.2026", ["2026-04-03", "2026-03-04"]),
        ("03/04/26", []),
        ("13/13/2026", []),
        ("2026-13-01", []),
        ("4 Foo 2026", []),
        ("2026-03/04", []),
        ("", []),
        ("20260304", ["2026-03-04"]),
        ("Fri. 6 Mar 2026", ["2026-03-06"]),
        ("2nd March 2026", ["2026-03-02"]),
        ("March 3rd, 2026", ["2026-03-03"]),
        ("Mar. 3 2026", ["2026-03-03"]),
        ("Mars 3 2026", []),
        ("31 February 2026", []),
    ],
)
def test_days(text: str, days: list[str]) -> None:
    assert dates(text) == [date.fromisoformat(day) for day in days]


@rows("number", range(1, 13))
def test_months(number: int) -> None:
    name = month_name[number]
    assert dates(f"4 {name} 2026") == dates(f"{name[:3].upper()} 4 2026") == [date(2026, number, 4)]


@rows(
    ("value", "wanted"),
    [
        ("2026-03-04T10:00:00.5Z", [("2026-03-04T10:00:00.500000Z", True)]),
        ("2026-03-04 10:00 +02", [("2026-03-04T10:00:00+02:00", True)]),
        ("4 March 2026, 3:05 pm", [("2026-03-04T15:05:00Z", False)]),
        ("4 March 2026 12:05 AM", [("2026-03-04T00:05:00Z", False)]),
        ("4 March 2026 13:05 PM", []),
        ("2026-03-04T25:00:00Z", []),
        ("1772618400", [("2026-03-04T10:00:00Z", True)]),
        (1772618400.0, [("2026-03-04T10:00:00Z", True)]),
        (5, []),
        (True, []),
        (None, []),
        ([], []),
        ("x" * 100, []),
        ("2026-03-04 10:00 -0230", [("2026-03-04T10:00:00-02:30", True)]),
        ("2026-03-04 10:00:30 utc", []),
        ("2026-03-04 10:00:30 GMT", [("2026-03-04T10:00:30Z", True)]),
        ("2026-03-04 at 10:00z", [("2026-03-04T10:00:00Z", True)]),
        ("2026-03-04 10:00 +25:00", []),
        ("4 March 2026 0:05 am", []),
        ("4 March 2026 12:05 p.m.", [("2026-03-04T12:05:00Z", False)]),
        ("1/1/2026", [("2026-01-01T00:00:00Z", False)]),
        ("1772618400000", [("2026-03-04T10:00:00Z", True)]),
        ("978307199", []),
        (978307200, [("2001-01-01T00:00:00Z", True)]),
        (978307199, []),
        (4102444799, [("2099-12-31T23:59:59Z", True)]),
        (4102444800, []),
    ],
)
def test_points_in_time(value: object, wanted: list[tuple[str, bool]]) -> None:
    assert [(rfc3339(moment.when), moment.zoned) for moment in moments(value)] == wanted


@rows(
    ("value", "name", "wanted"),
    [
        ("urn:uuid:550e8400-e29b-41d4-a716-446655440000", "uuid", ["550e8400-e29b-41d4-a716-446655440000"]),
        ("mailto:a@b.co", "email", ["a@b.co"]),
        ("<https://x.io>", "uri", ["https://x.io"]),
        ("https://x.io/a b", "uri", ["https://x.io/a%20b"]),
        ("x.io.", "hostname", ["x.io"]),
        (" ::1 ", "ipv6", ["::1"]),
        ("10.0.0.1:80", "ipv4", []),
        ("aGVsbG8gd29ybGQgaGVsbG8gd29y\nbGQ=", "byte", ["aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="]),
        (7, "email", []),
        ("", "byte", []),
        ("{550E8400e29b41d4a716446655440000}", "uuid", ["550e8400-e29b-41d4-a716-446655440000"]),
        ("550e8400-e29b-41d4-a716-446655440000", "tuuid", ["550e8400e29b41d4a716446655440000"]),
        ("550e8400-e29b-41d4-a716", "uuid", []),
        (" name/first ", "json-pointer", ["/name/first"]),
        ("$.name", "json-pointer", []),
        ("user.name", "json-pointer", []),
        ("#/name", "json-pointer", []),
        ("a b", "json-pointer", []),
        (7, "json-pointer", []),
        (7, "uuid", []),
        (7, "uri", []),
        (7, "hostname", []),
        (7, "ipv4", []),
        ("not a uri", "uri", []),
        ("Ann <a@b.co>", "email", ["a@b.co"]),
        ("https://x.io/a?b=c", "hostname", ["x.io"]),
        ("https://", "hostname", []),
        ("hello", "byte", ["aGVsbG8="]),
        ("aGVsbG8", "byte", ["aGVsbG8=", "YUdWc2JHOA=="]),  # it may be encoded, or plain
        ("aGVs-_8", "byte", ["aGVs+/8=", "YUdWcy1fOA=="]),
        ("aGVsbG8gd29ybGQgaGVsbG8g", "byte", ["aGVsbG8gd29ybGQgaGVsbG8g"]),
        ("aGVsbG8gd29ybGQgaGVs", "byte", ["aGVsbG8gd29ybGQgaGVs", "YUdWc2JHOGdkMjl5YkdRZ2FHVnM="]),
        ("4 March 2026", "date", ["2026-03-04"]),
        ("03/04/2026", "date", ["2026-04-03", "2026-03-04"]),
        ("1772618400", "date", ["2026-03-04"]),
        ("4 March 2026 10:00 UTC", "date-time", ["2026-03-04T10:00:00Z"]),
    ],
)
def test_formats(value: object, name: str, wanted: list[str]) -> None:
    found = [spelled.value for spelled in respelled(value, name)]
    assert found == wanted
    assert all(is_format(text, name) for text in found)


@rows(
    ("value", "name", "assumes"),
    [
        ("4 March 2026", "date", ""),
        ("2026-03-04T00:00:00Z", "date", ""),
        ("2026-03-04T10:00:00Z", "date", "the time of day is left out"),
        ("2026-03-04T10:00:00Z", "date-time", ""),
        ("2026-03-04 10:00", "date-time", "the time is read as UTC"),
        ("2026-03-04", "date-time", "the day is read as its first moment in UTC"),
        ("2026-03-04", "unix-time", "the day is read as its first moment in UTC"),
        ("x.io/a", "uri", "the scheme is taken to be https"),
        ("https://x.io/", "hostname", ""),
        ("https://x.io/a", "hostname", "what is not the host is left out"),
        ("https://x.io?a", "hostname", "what is not the host is left out"),
        ("https://x.io:80", "hostname", "what is not the host is left out"),
    ],
)
def test_what_is_assumed_is_said(value: object, name: str, assumes: str) -> None:
    assert [spelled.assumption for spelled in respelled(value, name)] == [assumes]


@rows(
    ("text", "name", "holds"),
    [
        ("2026-03-04", "date", True),
        ("2026-02-31", "date", False),
        ("20260304", "date", False),
        ("2026-03-04T10:00:60Z", "date-time", True),  # a leap second
        ("2026-03-04T25:00:00Z", "date-time", False),
        ("2026-03-04 10:00", "date-time", False),
        ("550e8400e29b41d4a716446655440000", "tuuid", True),
        ("550e8400e29b41d4a716446655440000", "uuid", False),
        ("", "json-pointer", True),
        ("/a~1b/-", "json-pointer", True),
        ("a", "json-pointer", False),
        ("/a~", "json-pointer", False),
        ("https://x.io", "url", True),
        ("x.io", "url", False),
        ("x.io", "hostname", True),
        ("-x.io", "hostname", False),
        ("10.0.0.1", "ipv4", True),
        ("10.0.0.256", "ipv4", False),
        ("::1", "ipv6", True),
        ("a@b", "email", True),
        ("a@b c", "email", False),
        ("YQ==", "byte", True),
        ("YQ=", "byte", False),
        ("a" * 3000 + "@b.co", "email", False),
        ("https://x.io/" + "a" * 3000, "uri", True),
        ("https://x.io/" + "a" * 3000, "url", True),
        ("YWFh" * 1000, "byte", True),
        ("x", "never-heard-of", None),
    ],
)
def test_what_is_in_a_format(text: str, name: str, holds: bool | None) -> None:
    assert is_format(text, name) is holds


@rows(
    ("text", "kind", "wanted"),
    [
        ("[1]", list, [1]),
        (' {"a": 1}', dict, {"a": 1}),
        ("[1]", dict, None),
        ("[1", list, None),
        ("1", list, None),
        (7, list, None),
    ],
)
def test_json_in_a_text(text: object, kind: type, wanted: object) -> None:
    assert document(text, kind) == wanted


def test_what_is_of_an_unknown_format_is_trimmed() -> None:
    assert [spelled.value for spelled in respelled(" x ", "never-heard-of")] == ["x"]
    assert respelled(7, "never-heard-of") == []


def test_a_unix_time_is_one_already() -> None:
    assert respelled("1772618400", "unix-time") == []
    assert respelled(5, "unix-time") == []


def test_numbers_and_truth() -> None:
    spelt: tuple[object, ...] = ("12", " -3 ", "+3", "1e3", "5.0", "5.1", 5.0, 2.0**60, True, None)
    assert [integer(v) for v in spelt] == [*(12, -3, None, None, 5, None, 5, None, None, None)]
    assert [number(v) for v in ("1.5", "1e3", ".5", 2.5, 3)] == [1.5, 1000.0, None, 2.5, 3]
    # A comma before decimals; before three digits it may be one of thousands.
    written = ("0,95", "-1,5", "12,3456", "1,500", "1,234,567", "1,5,2", ",5", "1,")
    assert [number(v) for v in written] == [0.95, -1.5, 12.3456, None, None, None, None, None]
    assert [number("1.000"), integer("1.000"), integer("5.00")] == [None, None, 5]  # three noughts may be thousands
    assert [integer(v) for v in ("007", "7" * 18, "7" * 19, "7" * 16 + ".0", 2.0**53)] == [None, int("7" * 18)] + [
        None
    ] * 3
    yes: tuple[Json, ...] = ("TRUE", "yes", " on ", "1", 1, 1.0, True)
    assert [truth(v) for v in yes] == [True] * 7
    assert [truth(v) for v in ("false", "no", "off", "0", 0, 0.0, False)] == [False] * 7
    neither: tuple[Json, ...] = (2, "y", None, [])
    assert [truth(v) for v in neither] == [None] * 4


@rows(
    ("text", "kind", "wanted"),
    [
        ("5", "integer", 5),
        ("-5", "integer", -5),
        ("5.0", "integer", "5.0"),
        ("5", "boolean", "5"),
        ("true", "boolean", True),
        ("false", "boolean", False),
        ("", "null", None),
        ("x", "null", "x"),
        ("1e3", "number", 1000.0),
        ("x", "number", "x"),
        ("5", "string", "5"),
    ],
)
def test_text_read_as_a_type(text: str, kind: str, wanted: object) -> None:
    read = typed(text, kind)
    assert (read, type(read)) == (wanted, type(wanted))
