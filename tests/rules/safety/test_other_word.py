"""Near texts that may be words of their own, and those that are only misspelt."""

from __future__ import annotations

from corrigible.rules.safety.spelling import is_other_meaning, may_be_other_word
from tests._support.rows import rows


@rows(
    ("text", "near"),
    [
        ("clone", "close"),
        ("step", "stop"),
        ("lock", "block"),
        ("pause", "parse"),
        ("mode", "model"),
        ("model", "mode"),
        ("test", "text"),
        ("data", "date"),
        ("cards", "carts"),
        ("form", "format"),
        ("local", "locale"),
        ("county", "country"),
        ("billing_county", "billing_country"),
        ("billingCounty", "billingCountry"),
        ("content", "context"),
        ("contact", "contract"),
        ("contacts", "contracts"),
        ("charge", "change"),
        ("patent", "patient"),
        ("complete", "compete"),
        ("prescribe", "proscribe"),
        ("gpt-4o", "gpt-4"),
        ("four", "for"),
        ("off", "of"),
        ("use", "user"),
        ("orders:clone", "orders:close"),
        ("uri", "url"),  # a word of APIs
        ("acl", "all"),
        ("tls", "tags"),  # who knows what is short for what
        ("v1", "v2"),
        ("x86", "x64"),
    ],
)
def test_a_word_of_few_letters_may_be_another_one(text: str, near: str) -> None:
    assert may_be_other_word(text, near)


@rows(
    ("text", "near"),
    [
        ("userId", "user_id"),
        ("USD", "usd"),
        ("content-type", "contentType"),
        ("tag", "tags"),
        ("categories", "category"),
        ("statuses", "status"),
        ("nmae", "name"),
        ("form", "from"),  # two letters in turn
        ("nam", "name"),
        ("nme", "name"),
        ("bdy", "body"),
        ("methd", "method"),
        ("mthod", "method"),
        ("respnse", "response"),
        ("activ", "active"),
        ("equalsTo", "equalTo"),
        ("matchesJsonPth", "matchesJsonPath"),
        ("titel", "title"),
        ("recieve", "receive"),
        ("open", "opened"),
        ("closed", "close"),
        ("creating", "create"),
        ("weekly", "week"),
        ("cancelled", "canceled"),
        ("adress", "address"),
        ("colour", "color"),
        ("organisation", "organization"),
        ("analyse", "analyze"),
        ("catalogue", "catalog"),
        ("licence", "license"),
        ("centre", "center"),
        ("grey", "gray"),
        ("duplicat", "duplicate"),
        ("repositeries", "repositories"),
        ("descripton", "description"),
        ("desc", "description"),
        ("lng", "longitude"),
        ("query", "search_query"),
    ],
)
def test_another_spelling_is_no_other_word(text: str, near: str) -> None:
    assert not may_be_other_word(text, near)


@rows(
    ("name", "meant", "is_other"),
    [
        ("weightG", "weightKg", True),
        ("weightg", "weightKg", True),
        ("weight_lb", "weight_kg", True),
        ("amount", "amountCents", True),
        ("priceEuros", "priceCents", True),
        ("timeout_s", "timeout_ms", True),
        ("delta_kg", "delta", True),
        ("onlyUnavailable", "onlyAvailable", True),
        ("non_empty", "empty", False),  # a word more, which others find
        ("weight_kg", "weightKg", False),
        ("weight", "wieght", False),
        ("durationMinuts", "durationMinutes", False),
        ("duration_minute", "duration_minutes", False),
        ("amuont_cents", "amount_cents", False),
        ("", "kg", False),
    ],
)
def test_another_unit_and_the_opposite_are_another_meaning(name: str, meant: str, *, is_other: bool) -> None:
    assert is_other_meaning(name, meant) is is_other
