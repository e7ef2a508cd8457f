"""What the place of a value says about it."""

from __future__ import annotations

from corrigible.rules.schema_repair.schema_violation import Place, place_of
from corrigible.schema.exchange import Request
from tests._support.rows import rows

POST = Request("POST", "/x")


@rows(
    ("pointer", "request_", "place"),
    [
        ("/body/a/b", POST, Place("b", text=False, reads=False, wraps=True)),
        ("/body/list/0", POST, Place("list")),
        ("/body/0", POST, Place("")),
        ("", POST, Place("", wraps=False)),
        ("/body/a", Request("POST", "/x", form=True), Place("a", text=True)),
        ("/query/a", POST, Place("a", text=True, wraps=False)),
        ("/headers/a", POST, Place("a", text=True, wraps=False)),
        ("/path", POST, Place("", text=True, wraps=False)),
        ("/query/a", Request("GET", "/x"), Place("a", text=True, reads=True, wraps=False)),
        ("/query/a", Request("HEAD", "/x", form=True), Place("a", text=True, reads=True, wraps=False)),
    ],
)
def test_places(pointer: str, request_: Request, place: Place) -> None:
    assert place_of(pointer, request_) == place


def test_an_ordinary_place() -> None:
    assert Place() == Place(name="", text=False, reads=False, wraps=True)
