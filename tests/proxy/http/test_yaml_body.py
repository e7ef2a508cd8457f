"""YAML bodies as the Kubernetes API reads them, and those that nobody should read."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.http.request_reader import read_request
from corrigible.proxy.http.yaml_body import MEDIA_TYPES, read_yaml, resolved
from tests._support.rows import rows


@rows(
    ("text", "value"),
    [
        ("yes", True),
        ("Yes", True),
        ("y", True),
        ("on", True),
        ("TRUE", True),
        ("NO", False),
        ("off", False),
        ("N", False),
        ("yEs", "yEs"),
        ("~", None),
        ("", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("0755", 493),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b101", -5),
        ("1_000", 1000),
        ("+7", 7),
        ("-7", -7),
        ("0", 0),
        ("08", 8),
        ("1e3", 1000),
        ("1.50", 1.5),
        (".5", 0.5),
        ("1.", 1),
        ("-.5e-1", -0.05),
        ("123456789012345678901", 123456789012345678901),
        ("1Gi", "1Gi"),
        ("500m", "500m"),
        ("1.2.3", "1.2.3"),
        ("v1", "v1"),
        ("-", "-"),
        (".", "."),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("-1e999", "-1e999"),
        ("1" * 41, "1" * 41),
    ],
)
def test_plain_scalars(text: str, value: Any) -> None:
    found = resolved(text)
    assert (found, type(found)) == (value, type(value))


DOCUMENT = b"""\
# a comment
apiVersion: v1
metadata: {name: "no", labels: {on: yes, 1: one, 1.5: x, ~: no one, "<<": z}}
base: &base {image: i, tag: 1}
derived: {<<: *base, tag: 2}
both: {<<: [{a: 1, b: 1}, {a: 2, c: 2}], c: 3}
list: [*base, 'x', !!str 5, !!int "7"]
text: |
  two
  lines
folded: >-
  one
  line
"""


def test_a_document() -> None:
    base = {"image": "i", "tag": 1}
    assert read_yaml(DOCUMENT) == {
        "apiVersion": "v1",
        "metadata": {"name": "no", "labels": {"true": True, "1": "one", "1.5": "x", "null": "no one", "<<": "z"}},
        "base": base,
        "derived": {"image": "i", "tag": 2},
        "both": {"a": 1, "b": 1, "c": 3},
        "list": [base, "x", "5", 7],
        "text": "two\nlines\n",
        "folded": "one line",
    }


def test_what_an_alias_gives_is_its_own() -> None:
    read = read_yaml(b"a: &a {b: [1]}\nc: *a\n")
    read["c"]["b"].append(2)
    assert read == {"a": {"b": [1]}, "c": {"b": [1, 2]}}


def chain(levels: int) -> bytes:
    return b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (n, n, n - 1) for n in range(1, levels))


def bomb(levels: int, merge: bool) -> bytes:
    lines = ["a0: &a0 {k0: x}" if merge else "a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        inner = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} " + (f"{{<<: [{inner}], k{level}: x}}" if merge else f"[{inner}]"))
    return "\n".join(lines).encode()


REFUSED = [
    b"a: 1\n---\nb: 2\n",
    b"[" * 300_000,
    b"- " * 300_000,
    b"{a: " * 300_000,
    b"a: *nothing",
    b"a: &a [1, *a]",
    b"a: !python/object:os.system {}",
    b"a: !!binary aGk=",
    b"a: !!set {x}",
    b"{[a]: 1}",
    b"{&k {a: b}: 1}",
    b"{<<: 5}",
    b"{<<: [1]}",
    b"a: [",
    b"a: b: c",
    b"\xff\xfe\x00",
    b"a: \x00",
    b"- x\n" * 200_000,
    b"a: " + b"x" * (1 << 20),
    chain(200),
    bomb(9, merge=False),
    bomb(9, merge=True),
]


@rows("body", REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_single_plain_document_stays_text(body: bytes) -> None:
    """Up to the time limit of a test: a bomb that is unfolded has no end. `tests.bench.worst` measures bodies."""
    with pytest.raises(ValueError, match=r"\w"):
        read_yaml(body)
    request = read_request("POST", "/x", [("Content-Type", "application/yaml")], body)
    assert request.body == body.decode("utf-8", "replace")


@pytest.mark.parametrize("media", sorted(MEDIA_TYPES))
def test_media_types(media: str) -> None:
    assert read_request("PATCH", "/x", [("Content-Type", f"{media}; charset=utf-8")], b"a: 1").body == {"a": 1}
    assert read_request("PATCH", "/x", [("Content-Type", media)], b'{"a": "yes"}').body == {"a": "yes"}


@pytest.mark.parametrize("media", ["application/json", "text/plain", "application/vnd.kubernetes.protobuf", ""])
def test_other_media_types_are_no_yaml(media: str) -> None:
    assert read_request("POST", "/x", [("Content-Type", media)], b"a: 1").body == "a: 1"


def test_an_empty_body_is_none() -> None:
    assert read_request("POST", "/x", [("Content-Type", "application/yaml")], b"").body is None
    assert read_yaml(b"# nothing\n") is None
