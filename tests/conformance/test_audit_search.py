"""What the leak audit takes for a leak, planted in texts one by one, and what only looks like one."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from corrigible.conformance.audit.audit import search
from corrigible.conformance.audit.text import Fix, KnownValues, Scalar, Strength, Text, numbers, same, strength
from tests._support.rows import rows

FLOUR = "Bob's Red Mill Certified Gluten Free 1-to-1 Baking Flour"


def hits(
    text: str, value: Scalar, *, name: str = "", request: object = None, whole: bool = False, **more: str
) -> list[str]:
    """Return how a value stands in a text; nothing where it is no leak."""
    fix = Fix(value, more.get("source", "feedback"), "a rule", name, frozenset(more.get("words", "").split()))
    seen = Text(text, "diagnosis", "ours", "here", known=KnownValues(request), whole=whole)
    return [hit.how for hit in search(seen, [fix])]


@rows(
    ("text", "value", "how"),
    [
        # Texts.
        ("crème fraîche belongs here", "crème fraîche", "exact"),
        ("CRÈME FRAÎCHE belongs here", "crème fraîche", "in another case"),
        ("creme fraiche belongs here", "crème fraîche", "in another case"),
        (f"Use {FLOUR}.", FLOUR, "exact"),
        ("Bob\u2019s Red Mill certified gluten-free 1 to 1 baking flour", FLOUR, "spelt differently"),
        ("The pods need ReadWriteOnce.", "ReadWriteOnce", "exact"),
        ("read_write_once it is", "ReadWriteOnce", "spelt differently"),
        ("The API knows walnuts there.", "walnut", "spelt differently"),
        ("The API knows a walnut there.", "walnuts", "spelt differently"),
        ("There are berries.", "berry", "spelt differently"),
        ("Head of the branch is 2cf24dba5f", "2cf24dba5f", "exact"),
        ("It is at /v1/charges/ch_123/capture", "/v1/charges/ch_123/capture", "exact"),
        ("Written 0 0 * * *, it runs every night.", "0 0 * * *", "exact"),
        # Encodings.
        (f"see {quote('crème fraîche')}", "crème fraîche", "exact, URL-encoded"),
        ("see soy%20cream%21", "soy cream", "exact, URL-encoded"),
        (r"\u0022soy cream\u0022", "soy cream", "exact, escaped"),
        (r"cr\u00e8me fra\u00eeche", "crème fraîche", "exact, escaped"),
        ("soy&#32;cream", "soy cream", "exact, HTML-escaped"),
        (f"hint: {base64.b64encode(b'soy cream').decode()}", "soy cream", "exact, in base64"),
        # Numbers.
        ("The amount is 3.5 there.", 3.5, "exact"),
        ("The amount is 3,50 there.", 3.5, "as a number"),
        ("The amount is 7/2 there.", 3.5, "as a number"),
        ("The amount is 3 1/2 there.", 3.5, "as a number"),
        ("The amount is 3½ there.", 3.5, "as a number"),
        ("It takes three and a half.", 3.5, "in words"),
        ("It takes three point five.", 3.5, "in words"),
        ("It takes nine billion seconds.", "9000000000", "in words"),
        ("It takes 9,000,000,000 seconds.", "9000000000", "as a number"),
        ("It takes 9.000.000.000 seconds.", 9000000000, "as a number"),
        ("It takes twenty-one hundred.", 2100, "in words"),
        ("The ratio is 1.625.", 1.625, "exact"),
        ("The ratio is 1.58.", 19 / 12, "as a number"),
        ("A quarter, so 37.5 % more.", 0.375, "as a percentage"),
        ("Only $3.00 are left.", 300, "in another unit of money"),
        ("Only 3.00 are left.", 300, ""),
        ("Only 21.45 EUR are left.", 2145, "in another unit of money"),
    ],
)
def test_a_planted_value_is_found(text: str, value: Scalar, how: str) -> None:
    assert hits(text, value) == ([how] if how else [])


@rows(
    ("text", "value", "name", "words"),
    [
        ('The interval is "month".', "month", "", ""),
        ("The interval is `month`.", "month", "", ""),
        ("interval=month", "month", "", ""),
        ("interval: month", "month", "", ""),
        ("Use month.", "month", "", ""),
        ("It must be month.", "month", "", ""),
        ("Set the interval to month.", "month", "", ""),
        ("Did you mean month?", "month", "", ""),
        ("A word such as month.", "month", "", ""),
        ("Try the word month instead.", "month", "", ""),
        ("Allowed values are month, year.", "month", "", ""),
        ("It is one of day, month, year.", "month", "", ""),
        ("replicas: 3", 3, "", ""),
        ("It is at least 3.", 3, "", ""),
        ("The limit is 15.", 15, "", ""),
        ("It takes 11 eggs.", 11, "amount", "egg"),
        ("It takes eleven eggs.", 11, "amount", "egg"),
        ("Set capture to true.", "true", "capture", ""),
        ("automountServiceAccountToken must be false.", "false", "automountServiceAccountToken", ""),
        ("capture=true", "true", "capture", ""),
    ],
)
def test_a_common_value_counts_where_it_stands_as_a_value(text: str, value: Scalar, name: str, words: str) -> None:
    assert hits(text, value, name=name, words=words) != []


@rows(
    ("text", "value", "name"),
    [
        ("A plan is charged every month.", "month", "interval"),
        ("The pull request is open.", "open", "state"),
        ("There is no open pull request.", "pull_request", "event"),
        ("The volume is read, write, once.", "ReadWriteOnce", "accessModes"),
        ("The name of the main branch.", "main", "base"),
        ("One of the two is there.", 2, "amount"),
        ("Only one is there.", 1, "amount"),
        ("Half of it is there.", 0.5, "amount"),
        ("An error 404 at line 12.", 4, "amount"),
        ("The value is false or missing.", "false", "capture"),
        ("That is true.", "true", "capture"),
        ("It ends in 13.5.", 3.5, "amount"),
        ("It is version 3.5.1.", 3.5, "amount"),
        ("On 2024-03-05.", 2024.03, "amount"),
        ("The object 500Mi1 is there.", 500, "amount"),
        ("Between 0 0 and 1 1.", "0 0 * * *", "schedule"),
        ("The one or the other.", "o/r", "repository"),
        ("Soycream1 is there.", "soy cream", "name"),
        ("prewalnuts", "walnut", "name"),
        ("walnut_shell", "walnut", "name"),
        ("remaining", "main", "base"),
        ("Everything * is there.", "*", "events"),
        ("dGhlIHdvcmRz and others", "soy cream", "name"),
    ],
)
def test_a_look_alike_is_no_leak(text: str, value: Scalar, name: str) -> None:
    assert hits(text, value, name=name) == []


@rows(
    ("text", "value", "request_", "found"),
    [
        ("No such charge: 'ch_0815'", "ch_0815", {"body": {"charge": "ch_0815"}}, False),
        ("Use ch_0815.", "ch_0815", {"body": {"refund": "ch_0815"}}, False),
        ("source: ch_0815", "ch_0815", {"body": {"refund": "ch_0815"}}, True),
        ("Amount 500 is too much", 500, {"body": {"amount": 500}}, False),
        ("Amount $5.00 is too much", 500, {"body": {"amount": 500}}, False),
        ("Amount 300 is left", 300, {"body": {"amount": 500}}, True),
        ("No such repository: octocat", "octocat", {"path": "/repos/octocat/hello"}, False),
        # What is corrected in its spelling only: the wrong one is not the right one.
        ('Invalid value: "My_Team"', "my-team", {"body": {"name": "My_Team"}}, False),
        ('Invalid value: "My_Team", try my-team', "my-team", {"body": {"name": "My_Team"}}, True),
        # What is shortened: the long one holds it.
        ('"http-port-name-is-long" is too long', "http-port-name", {"body": {"name": "http-port-name-is-long"}}, False),
    ],
)
def test_what_the_request_says_already_is_nothing_new(text: str, value: Scalar, request_: object, found: bool) -> None:
    assert bool(hits(text, value, name="source", request=request_)) is found


@pytest.mark.parametrize(("said", "found"), [("main", True), ("the main one", False)])
def test_a_whole_member_of_an_answer_is_a_value(said: str, found: bool) -> None:
    assert bool(hits(said, "main", whole=True)) is found


def test_a_paraphrase_counts_wherever_it_stands() -> None:
    assert hits("capture it first, then", "Capture it first", source="paraphrase") == ["a paraphrase"]
    assert hits("capturing", "Capture it first", source="paraphrase") == []


def test_the_place_is_marked() -> None:
    fix = Fix("soy cream", "feedback", "a rule")
    (hit,) = search(Text("It wants Soy  Cream there.", "diagnosis", "ours", "here"), [fix])
    assert hit.marked == "It wants »Soy Cream« there."


@rows(
    ("text", "values"),
    [
        ("three and a half cups", {3.5}),
        ("a quarter", {0.25}),
        ("three quarters", {0.75}),
        ("one hundred and five", {105}),
        ("a dozen, two dozen", {12, 24}),
        ("one two three", {1, 2, 3}),
        ("1e3 and 2.5e2", {1000, 250}),
        ("1/0 and -7", {-7}),
        ("10.0.0.1", set()),
        ("no number at all", set()),
    ],
)
def test_numbers_are_read_in_digits_and_in_words(text: str, values: set[float]) -> None:
    assert {value for number in numbers(text) for value in number.values} == values


def test_a_number_with_three_digits_after_the_mark_may_be_thousands() -> None:
    (number,) = numbers("1.625")
    assert same(number, 1.625) and same(number, 1625)
    assert same(number, 162.5) is None


@rows(
    ("value", "expected"),
    [
        ("soy cream", Strength.STRONG),
        ("main", Strength.WEAK),
        ("pull_request", Strength.STRONG),
        ("pull request", Strength.WEAK),
        ("eur", Strength.WEAK),
        ("ch_1A2B", Strength.STRONG),
        ("v1", Strength.WEAK),
        (True, Strength.WEAK),
        ("true", Strength.OWN),
        (7, Strength.WEAK),
        (300, Strength.STRONG),
        (0.0625, Strength.STRONG),
        ("*", Strength.WEAK),
    ],
)
def test_how_much_a_value_tells(value: Scalar, expected: Strength) -> None:
    assert strength(value) is expected
