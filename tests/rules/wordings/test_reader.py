"""What is read of a text: sentence by sentence, in the languages that it may be in, and bounded whatever it is."""

from __future__ import annotations

import random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from corrigible.rules.pattern import PatternSet
from corrigible.rules.wordings import Kind, languages, read, reader, says_where, wordings_of
from corrigible.rules.wordings.reader import Needs, Said, needed
from corrigible.rules.wordings.slots import fold
from corrigible.rules.wordings.tokens import tokens_of
from tests._support.counted import calls_of
from tests._support.rows import rows

# Sentences of no recorded server: a kind that each says.
SENTENCES = [
    line.split(" | ", 1)
    for line in """
    EXISTS      | the seat 12A has been given to someone else
    EXISTS      | this table is booked by another guest at that hour
    EXISTS      | Sorry, that handle is taken
    EXISTS      | coupon SUMMER was redeemed before
    EXISTS      | Duplicate entry 'x' for key 'users.email'
    EXISTS      | UserAlreadyExists
    EXISTS      | Violation of UNIQUE KEY constraint 'UQ'. Cannot insert duplicate key in object 'dbo.Users'.
    RIGHT       | only managers insure above 500.00
    RIGHT       | clerks cannot do this
    RIGHT       | a trainee must not discharge patients
    RIGHT       | reserved for the accounting department
    RIGHT       | orders over 1000 must be approved by a supervisor
    RIGHT       | this exceeds what your grade may spend
    RIGHT       | You need to be a maintainer to do this
    RIGHT       | Nobody but the owner may delete a flat
    RIGHT       | your contract does not cover that
    RIGHT       | a courier may deliver but not cancel
    RIGHT       | pods is forbidden: User "x" cannot list resource "pods" in API group ""
    UNKNOWN     | Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.
    UNKNOWN     | field 'fax' has been removed, please use 'phone'
    UNKNOWN     | Unrecognized field "nmae" (class com.acme.Person), not marked as ignorable
    UNKNOWN     | Cannot query field "nmae" on type "User". Did you mean "name"?
    UNKNOWN     | Received unknown parameter: sourc
    LIMIT       | this is above your daily limit
    LIMIT       | your plan allows 5 projects and you have 5
    LIMIT       | You have reached your limit of 3 free projects
    PACE        | please wait 30 seconds before the next attempt
    PACE        | Request was throttled. Expected available in 27 seconds.
    STATE       | only open invoices can be paid
    STATE       | Booking B7 is in status CANCELLED
    STATE       | the kitchen is closed
    STATE       | Cannot move from DRAFT to PAID
    STATE       | You cannot refund a charge that has already been refunded.
    IN_USE      | cannot drop table orders because other objects depend on it
    IN_USE      | This tag is used by 5 articles
    ABSENT      | no parcel has that number
    ABSENT      | Couldn't find Order with 'id'=7
    ABSENT      | No query results for model [Order] 7
    MISSING     | The name field is required.
    MISSING     | You did not provide an amount.
    MISSING     | Path `name` is required.
    MISSING     | need a delivery date
    VALUE       | colour has to be red, green or blue
    VALUE       | 'soon' is no date
    VALUE       | end_date must be a date after start_date
    VALUE       | This value is too short. It should have 3 characters or more.
    MALFORMED   | Problems parsing JSON
    MALFORMED   | we could not read your request
    CREDENTIALS | your session has expired, sign in again
    CREDENTIALS | No API key provided.
    FIXED       | "id" is assigned by the server
    FIXED       | spec.selector: Invalid value: field is immutable
    FEATURE     | gift wrapping is switched off for this shop
    FEATURE     | This feature is not available in your region
    STALE       | someone else saved the document meanwhile
    STALE       | If-Match header does not match the current ETag
    TOGETHER    | start and end must be given together with zone
    TOGETHER    | Either 'email' or 'phone' is required
    APART       | weight and volume exclude each other
    APART       | Cannot specify both limit and count
    MEDIA_TYPE  | we only read application/json
    ROUTE       | No static resource ordes.
    FAULT       | oops, something broke on our side
""".strip().splitlines()
]


@rows(("kind", "sentence"), SENTENCES)
def test_sentences_of_servers_that_nobody_recorded(kind: str, sentence: str) -> None:
    assert Kind[kind.strip()] in {said.kind for said in read(sentence).said}


# Sentences near to those of a kind, and of another one.
OTHERS = [
    line.split(" | ", 1)
    for line in """
    RIGHT       | user name is required
    RIGHT       | The user cannot be found
    RIGHT       | user does not have an email
    RIGHT       | owner must be a string
    RIGHT       | only letters and digits are allowed
    RIGHT       | request body requires a host
    RIGHT       | the plan does not have a price
    EXISTS      | the name is used for logging
    EXISTS      | it was already too late
    PACE        | please wait for approval
    PACE        | timeout must be at most 30 seconds
    LIMIT       | the limit parameter is unknown
    LIMIT       | limit must be at most 100
    CREDENTIALS | page token is invalid
    CREDENTIALS | password must be at least 8 characters
    CREDENTIALS | unexpected token } in JSON
    MISSING     | name is not required
    MISSING     | nothing is missing
    FAULT       | error code must be an integer
    UNKNOWN     | an unexpected error occurred
""".strip().splitlines()
]


@rows(("kind", "sentence"), OTHERS)
def test_sentences_that_only_look_like_it(kind: str, sentence: str) -> None:
    assert Kind[kind.strip()] not in {said.kind for said in read(sentence).said}


def only(text: str, row: str) -> Said:
    [said] = [one for one in read(text).said if one.row == row]
    return said


def test_slots_have_the_texts_as_the_server_wrote_them() -> None:
    said = only("Please: \u201cGr\u00f6\u00dfe\u201d is REQUIRED!", "en.missing.is-required")
    assert said.slots == {"field": ("Gr\u00f6\u00dfe",)}


@rows("quoted", ["'nmae'", '"nmae"', "`nmae`", "\u2018nmae\u2019", "\u00abnmae\u00bb", r"\"nmae\"", "\u201enmae\u201c"])
def test_quotation_marks_of_any_kind(quoted: str) -> None:
    assert only(f"unknown field {quoted}", "en.unknown.unknown-member").slots == {"field": ("nmae",)}


@rows(
    "listed",
    ["'a', 'b' or 'c'", "[a, b, c]", '["a","b","c"]', "a, b, c", "a|b|c", '"a" | "b" | "c"', "(a, b, c)", "a, b, or c"],
)
def test_lists_in_any_brackets_and_quotes(listed: str) -> None:
    assert only(f"mode must be one of {listed}", "en.value.one-of").states == {"enum": ["a", "b", "c"]}


def test_one_word_is_no_list() -> None:
    assert only("must be equal to one of the allowed values", "en.value.one-of").states == {}


def test_numbers_are_numbers() -> None:
    said = only("size must be between one and 1,000", "en.value.between")
    assert said.states == {"minimum": 1, "maximum": 1000}


def test_where_it_stands() -> None:
    text = "So\u0142. The n\u00e4me field is required."
    said = only(text, "en.missing.is-required")
    assert text[said.start : said.end].startswith("n\u00e4me field is required")


def test_sentences_are_read_one_by_one() -> None:
    assert [one.slots for one in read("name is required. size is required").of(Kind.MISSING)] == [
        {"field": ("name",)},
        {"field": ("size",)},
    ]
    assert read("The table was found. Not so the others").of(Kind.ABSENT) == ()


def test_a_text_without_letters_is_asked_in_no_language() -> None:
    assert read("12 + 3 = \U0001f600").said == ()


_SALAD = (
    "must be one of is not required missing unknown field 'a' already exists between 1 and 2 cannot the a , | or ( ) "
    "use instead did you mean not found there is no e.g. {} [x] \u5fc5\u9808 \u00e9 \" ' \\ ? ! \n"
)
WORDS = _SALAD.split(" ")
HOSTILE = {
    "quotes": "'" * 9000,
    "brackets": "[" * 9000,
    "list": "must be one of " + "a, " * 3000,
    "sentences": "x is required. " * 600,
    "slots": "x is required " * 600,
    "things": "' ' " * 2000,
    "humps": "aB" * 4000,
    "composed": "e\u0301" * 4000,
    "lone surrogates": "\ud800 is required " * 500,
    **{f"salad {seed}": " ".join(random.Random(seed).choices(WORDS, k=1500)) for seed in range(5)},
}


@rows("text", HOSTILE.values(), ids=HOSTILE)
def test_what_hostile_texts_cost_and_give_is_bounded(text: str) -> None:
    reader._read.cache_clear()
    read(text)  # compiles what it needs
    reader._read.cache_clear()
    assert calls_of(lambda: read(text)) < 200_000  # of 52,000
    reading = read(text)
    assert len(reading.said) <= 60
    assert all(len(values) <= 8 * 300 for one in reading.said for values in one.slots.values())
    assert all(0 <= one.start < one.end <= len(reading.text) for one in reading.said)


@given(st.text(max_size=200) | st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    reading = read(text)
    for one in reading.said:
        assert letters_of(one) <= set(reading.text)


def letters_of(said: Said) -> set[str]:
    """Return the characters of the values of a text; numbers that are words and types are words of ours."""
    return {
        letter
        for slot, values in said.slots.items()
        if slot not in ("limit", "type", "form")
        for one in values
        for letter in one
    }


@rows("name", languages())
def test_whatever_a_pattern_matches_has_a_text_that_it_needs(name: str) -> None:
    """The texts are read from the pattern: no row may be lost by them."""
    data = yaml.safe_load(languages()[name].path.read_text("utf-8"))
    sentences = [sentence for row in data["rows"] for sentence in _listed(row["example"]) + _listed(row["counter"])]
    texts = {fold(sentence) for sentence in [*sentences, *(sentence for _, sentence in SENTENCES)]}
    language = languages()[name]
    rows = language.rows().rows
    needs = [needed(row.pattern, language.words) for row in rows]
    patterns = [one.pattern[0].text for one in wordings_of(name).compiled]
    matched = [
        (first + number, text)
        for first in range(0, len(patterns), 16)  # more together take longer
        for found in [PatternSet(patterns[first : first + 16])]
        for text in texts
        for number in found.matches(text.encode())
    ]
    assert len({number for number, _ in matched}) > 0.95 * len(rows)
    lost = [(number, text) for number, text in matched if not any(_has_all(text, each) for each in needs[number])]
    assert [(rows[number].id, text, needs[number]) for number, text in lost] == []


def _has_all(folded: str, needs: Needs) -> bool:
    return all(any(text in folded for text in texts) for texts in needs)


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("Barn north does not exist in farm meadows", ()),
        ("barn not found: north", ("north",)),
        ("barn not found in farm: north", ("north",)),
    ],
)
def test_what_is_not_there_is_not_where_it_was_looked_for(sentence: str, values: tuple[str, ...]) -> None:
    said = [one for one in read(sentence).of(Kind.ABSENT) if one.row.endswith(".not-found-colon")]
    assert tuple(value for one in said for value in one.slots["value"]) == values


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("no such index [books]", {"books"}),
        ("policies[0] is wrong", set()),
        ("one of [red, blue]", set()),
        ("expected one of ['red']", {"red"}),
        ("matrix [[books]]", set()),
    ],
)
def test_one_word_in_square_brackets_is_quoted(text: str, quoted: set[str]) -> None:
    assert tokens_of(text).quoted == quoted


@rows(
    "sentence",
    [
        "unexpected input 'A1' for model 'B2'",
        "A1 is not found in the feature view B2",
        "address A1 out of bounds for region `B2` (valid: 0-9)",
        "on A1: no such column of B2",
        "Die Spalte A1 gibt es in der Tabelle \u201eB2\u201c nicht",
        "la colonne A1 est absente dans la table \u00abB2\u00bb",
        "no existe A1 en la tabla 'B2'",
        "n\u00e3o existe A1 na tabela 'B2'",
        "A1 non esiste nella tabella 'B2'",
    ],
)
def test_a_value_behind_a_preposition_says_where(sentence: str) -> None:
    low = sentence.lower()
    assert says_where(low, low.index("b2"))
    assert not says_where(low, low.index("a1")) or low.startswith("on ")


@pytest.mark.parametrize("sentence", ["invalid value for age: B2", "form B2", "for one, two and B2", "B2 is unknown"])
def test_a_value_behind_a_mark_or_another_word_says_not_where(sentence: str) -> None:
    low = sentence.lower()
    assert not says_where(low, low.index("b2"))
