"""Other words for the same are read alike, and what stands in quotes is never changed."""

from __future__ import annotations

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.formats.message.usual_words import in_usual_words
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows


@rows(
    ("text", "usual"),
    [
        ('Parameter "login" has to be supplied.', 'Parameter "login" is required.'),
        ("size was not provided", "size is required"),
        ("The size cannot be omitted", "The size is required"),
        ("colour is mandatory", "colour is required"),
        ("You left out the size", "Missing size"),
        ("count needs to be positive", "count must be positive"),
        ("count is supposed to be below 5", "count must be below 5"),
        ("The shelf could not be located", "The shelf not found"),
        ("Could not locate shelf 7", "Could not find shelf 7"),
        ("shelf 7 isn't known to this server", "shelf 7 not found"),
        ("Shelf has already been registered.", "Shelf already exists."),
        ("There is no field called colour", "Unknown field colour"),
        ("no such parameter colour", "unknown parameter colour"),
        ("Unacceptable colour", "Invalid colour"),
        ("It's not possible to delete the last shelf", "Cannot delete the last shelf"),
        ("name may not be blank", "name cannot be blank"),
        ("unknown colour «blau»", 'unknown colour "blau"'),
        ("unknown colour \u2018blau\u2019", "unknown colour 'blau'"),
        ("name can\u2019t be blank", "name can't be blank"),
    ],
)
def test_other_words_for_the_same(text: str, usual: str) -> None:
    assert in_usual_words(text) == usual


@rows(
    "text",
    [
        "mode must be set to true",
        "size must be given as text",
        "'is mandatory' is no colour",
        'unknown value "was not provided"',
        "Volume is already in use",
        "incorrect password",
        "Incorrect padding",
        "the e-mail is already taken",  # perhaps by somebody else
        "Not a valid integer.",
        "Member must not be null",
        "You may not have permission",
        "Unrecognized field 'colour'",
        "Not Acceptable",
    ],
)
def test_what_means_something_else_stays(text: str) -> None:
    assert in_usual_words(text) == text


def test_rules_see_what_the_api_wrote() -> None:
    exchange = Exchange(Request("POST", "/things", body={"size": 1}), 400, {}, b"")
    (read,) = GenericFormat().read(exchange, {"message": "colour is mandatory"})
    assert (read.message, read.written_text) == ("colour is required", "colour is mandatory")
    assert read.scope()["message"] == "colour is mandatory"
    assert read.at("/body/colour", "required", {}).written_text == "colour is mandatory"
