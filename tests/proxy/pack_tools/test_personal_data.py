"""Personal data of recorded traffic: no value of it gets into a case, however it is written, and the case passes."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus

import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from corrigible.proxy.cli import main
from corrigible.proxy.pack_tools.personal_data import PersonalData
from tests._support.rows import rows

WritePack = Callable[..., Path]
PERSONAL = {
    "full_name": "Wilhelmina Osterhagen",
    "email": "wilma.osterhagen@kunde-nord.de",
    "phone": "+49 151 23456789",
    "iban_number": "DE89370400440532013000",
    "account_number": "7730194455",
    "customer_id": "cus_Nf8shK2mQw9zXt",
    "session_uuid": "6f1c2b9e-94c4-4c2e-9b1f-0a7d55e8c1aa",
    "ip": "203.0.114.77",
    "address": {"line1": "Uhlenhorster Weg 17", "city": "Hamburg"},
    "birthday": "1987-04-23",
}


def flat(value: Any) -> list[str]:
    return [text for one in value.values() for text in flat(one)] if isinstance(value, dict) else [str(value)]


ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "of a path": lambda text: quote(text, safe=""),
    "of a query": quote_plus,
    "small escapes": lambda text: re.sub("%..", lambda match: match[0].lower(), quote(text, safe="")),
    "twice escaped": lambda text: quote(quote(text, safe=""), safe=""),
    "JSON": lambda text: json.dumps({"a": text}),
    "every character in JSON": lambda text: "".join(f"\\u{ord(one):04x}" for one in text),
    "HTML": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "HTML names": html.escape,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 inside": lambda text: base64.urlsafe_b64encode(f'{{"a": "{text}"}}'.encode()).decode().rstrip("="),
    "hexadecimal": lambda text: text.encode().hex(),
    "capitals": lambda text: text.upper(),
    "small letters": lambda text: text.lower(),
}


@rows("encoding", ENCODINGS)
@rows("value", flat(PERSONAL))
def test_a_value_that_was_found_is_found_in_every_encoding(value: str, encoding: str) -> None:
    written = f"about {ENCODINGS[encoding](value)}, sorry"
    personal = PersonalData((), frozenset())
    personal.learn({"request": PERSONAL, "answer": written})
    clean = personal.text(written)
    assert clean != written
    assert value.casefold() not in decodings(clean)
    assert personal.remaining(clean) == ""


def decodings(text: str) -> str:
    """Return a text and what a reader could make of it, in small letters. (Written apart from what is tested.)"""
    found = [text]
    for _ in range(3):
        found += [unquote_plus(found[-1]), html.unescape(found[-1])]
        found.append(re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), found[-1]))
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text):
        bare = run.replace("-", "+").replace("_", "/")
        with suppress(ValueError):
            found.append(base64.b64decode(bare + "=" * (-len(bare) % 4)).decode())
        with suppress(ValueError):
            found.append(bytes.fromhex(run).decode())
    return "\n".join(found).casefold()


@rows(
    ("name", "value", "form"),
    [
        ("full_name", "Wilhelmina Osterhagen", r"[A-Z][a-z]{9} [A-Z][a-z]{9}"),
        ("lastName", "O'Neill-Smith", r"[A-Z]'[A-Z][a-z]{4}-[A-Z][a-z]{4}"),
        ("user", "wilma", r"[a-z]{5}"),
        ("email", "wilma@kunde.de", r"[a-z]{5}@example\.com"),
        ("email", "wilma.kunde", r"[a-z]{5}\.[a-z]{5}"),
        ("note", "from wilma+x@a.b.kunde.de", r"from [a-z]{5}\+x?[a-z]?@example\.com"),
        (
            "id",
            "6F1C2B9E-94C4-4C2E-9B1F-0A7D55E8C1AA",
            r"[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-9[0-9A-F]{3}-[0-9A-F]{12}",
        ),
        ("note", "6f1c2b9e94c44c2e9b1f0a7d55e8c1aa", r"[0-9a-f]{12}4[0-9a-f]{3}9[0-9a-f]{15}"),
        ("account_no", "0077301944", r"00[1-9]\d{7}"),
        ("account", 7730194455, r"[1-9]\d{9}"),
        ("phone", "+49 151 23456789", r"\+[1-9]\d \d{3} \d{8}"),
        ("note", "call (415) 732-1199", r"call \([1-9]\d\d\) \d{3}-\d{4}"),
        ("note", "at 84.17.33.9:8080", r"at 192\.0\.2\.\d+:8080"),
        ("note", "at 2a02:8071:22::9f, port 3", r"at 2001:db8::\w+, port 3"),
        ("customer", "cus_Nf8shK2mQw9zXt", r"cus_[A-Z][a-z]\d[a-z]{2}[A-Z]\d[a-z][A-Z][a-z]\d[a-z][A-Z][a-z]"),
        ("charge_id", "ch_1", r"ch_[1-9]"),
        ("birthday", "1987-04-23", r"1970-\d\d-\d\d"),
    ],
)
def test_a_replacement_has_the_form_of_the_value(name: str, value: Any, form: str) -> None:
    personal = PersonalData((), frozenset())
    personal.learn({name: value})
    (new,) = personal.replaced({name: value}).values()
    assert type(new) is type(value)
    assert re.fullmatch(form, str(new)), new
    assert new != value


@rows(
    ("name", "value"),
    [
        ("amount", 77301944),
        ("created", "1795392000"),
        ("currency", "eur"),
        ("code", "card_declined"),
        ("file_name", "report.pdf"),
        ("name", "gold"),  # a word of the rule
        ("status", "2026-11-29T10:15:00Z"),
        ("version", "1.2.3"),
        ("id", 42),
        ("total_count", 100000),
        ("host", "127.0.0.1"),
        ("page", "https://shop.test/docs/errors"),
    ],
)
def test_what_is_not_personal_stays(name: str, value: Any) -> None:
    personal = PersonalData({"gold"}, frozenset())
    personal.learn({name: value})
    assert personal.replaced({name: value}) == {name: value}


def test_the_same_value_has_the_same_replacement_and_others_have_others() -> None:
    personal = PersonalData((), frozenset())
    names = [f"{first} {last}" for first in ("Ada", "Bea", "Cem", "Ola") for last in ("Lund", "Berg", "Holm", "Dahl")]
    document = {"users": [{"name": name, "id": 70000 + number} for number, name in enumerate(names)], "text": names}
    personal.learn(document)
    clean = personal.replaced(document)
    assert [one["name"] for one in clean["users"]] == clean["text"]
    assert len(set(clean["text"])) == len(names)
    assert len({one["id"] for one in clean["users"]}) == len(names)
    lund = clean["text"][0].split()[1]
    assert personal.text("No Lund here, no lunder") == f"No {lund} here, no lunder"


def test_a_member_that_an_answer_names_is_no_name_of_a_person() -> None:
    personal = PersonalData((), frozenset())
    personal.learn({"age": 17, "owner": "anna", "anna": 1})
    personal.keep(["age", "owner", "anna"])
    problem = [{"name": "age", "reason": "too young"}, {"name": "anna"}]
    personal.learn(problem)
    assert [one["name"] == two["name"] for one, two in zip(personal.replaced(problem), problem, strict=True)] == [
        True,
        False,
    ]


MANIFEST = "lookups: ['/v1/people/{id}']\noperations: {POST /v1/transfers: CreateTransfer}\n"
RULE = """\
match: {operation: CreateTransfer, code: over_limit, message: 'of (?P<who>.+) is (?P<left>[0-9]+)$'}
lookup: {person: {get: "'/v1/people/' + request.body.person_id"}}
suggest:
  - if: person.full_name == captures.who && person.email == request.body.email
    message: Send what is left.
    set: {amount: integer(captures.left), reference: person.full_name}
    changes_intent: true
"""
LETTERS = st.sampled_from("abcdefghijklmnopqrstuvwxyz\u00e4\u00e9\u0142")
WORD = st.builds(
    lambda first, rest: first.upper() + rest,
    st.sampled_from("BCDFGHKLMNPRSTVWZ"),
    st.text(LETTERS, min_size=4, max_size=9),
)
DIGITS = st.integers(10**8, 10**12).map(str).filter(lambda text: not {*text} <= {"0", "1"})
"""Replacements are made of zeros and ones: where a number is, too, a case is not written rather than a wrong one."""


@st.composite
def people(draw: st.DrawFn) -> dict[str, Any]:
    first, last = draw(WORD), draw(WORD)
    host = draw(st.text(st.sampled_from("bcdfghjkmnpqrstvwxz"), min_size=5, max_size=9))
    return {
        "person_id": draw(st.one_of(st.uuids().map(str), DIGITS)),
        "full_name": f"{first} {last}",
        "email": f"{draw(st.sampled_from((first, last))).lower()}{draw(st.integers(10, 99))}@{host}.de",
        "phone": f"+49 151 {draw(st.integers(10**6 + 2, 10**8 - 1))}",
        "account": draw(st.one_of(DIGITS, DIGITS.map(int))),
        "ip": ".".join(map(str, draw(st.tuples(*[st.integers(11, 199)] * 4)))),
    }


@settings(
    max_examples=15,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(person=people(), other=people(), encoding=st.sampled_from(sorted(ENCODINGS)), extra=st.text(max_size=20))
def test_no_personal_value_stands_in_a_case_and_the_case_passes(
    write_pack: WritePack, person: dict[str, Any], other: dict[str, Any], encoding: str, extra: str
) -> None:
    pack = write_pack(manifest=MANIFEST, over=RULE)
    (pack / "over.cases.yaml").unlink(missing_ok=True)
    note = f"{extra} {ENCODINGS[encoding](person['email'])} {ENCODINGS[encoding](str(other['account']))}"
    sent = {**person, "amount": 500, "note": note, "friends": {other["email"]: other["full_name"]}}
    message = f"the limit of {person['full_name']} is 300"
    answer = {"error": {"code": "over_limit", "message": message}, "seen": [other, {"from": person["ip"]}]}
    path = f"/v1/people/{person['person_id']}"
    entries = [entry("GET", path, None, 200, person), entry("POST", "/v1/transfers", sent, 422, answer)]
    recording = pack.parent / "traffic.har"
    recording.write_text(json.dumps({"log": {"entries": entries}}), "utf-8")
    assert main(["pack", "case", str(recording), "--rule", str(pack / "over")]) == 0
    text = (pack / "over.cases.yaml").read_text("utf-8")
    (case,) = yaml.safe_load(text)
    values = [str(value) for one in (person, other) for value in one.values()]
    assert [one for one in values if one.casefold() in decodings("\n".join(leaves(case)))] == []
    new = case["request"]["body"]
    assert case["after"]["body"]["reference"] == new["full_name"]
    assert case["response"]["body"]["error"]["message"] == f"the limit of {new['full_name']} is 300"
    assert list(case["lookups"]) == [f"GET /v1/people/{new['person_id']}"]
    assert list(new["friends"]) == [case["response"]["body"]["seen"][0]["email"]]
    assert main(["pack", "case", str(recording), "--pack", str(pack)]) == 0


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (str(key), *leaves(inner))]
    return [text for inner in value for text in leaves(inner)] if isinstance(value, list) else [str(value)]


def entry(method: str, path: str, sent: Any, status: int, answer: Any) -> dict[str, Any]:
    return {
        "request": {
            "method": method,
            "url": f"https://api.test{path}",
            "headers": [],
            **({"postData": {"mimeType": "application/json", "text": json.dumps(sent)}} if sent else {}),
        },
        "response": {
            "status": status,
            "headers": [],
            "content": {"mimeType": "application/json", "text": json.dumps(answer)},
        },
    }
