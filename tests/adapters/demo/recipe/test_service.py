"""The recipe service on the wire: status codes, error form, validation modes, hostile bodies."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from corrigible.adapters.demo.recipe import service
from corrigible.adapters.sandbox.asgi import LARGEST_BODY
from tests._support.rows import rows

CONVERT, SUBSTITUTE = "/api/recipe/convert", "/api/recipe/substitute"
FRENCH = {"target_cuisine": "french", "ingredients": [{"name": "coconut milk", "amount": 1, "unit": "cup"}]}


def _call(method: str, path: str, content: bytes | None = None) -> httpx.Response:
    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(service.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
            return await client.request(method, path, content=content)

    return asyncio.run(call())


def _post(path: str, body: Any) -> httpx.Response:
    return _call("POST", path, json.dumps(body).encode())


def test_a_refusal_is_a_200_that_says_so() -> None:
    answer = _post(CONVERT, FRENCH)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "success": False,
        "error": "recipe validation failed",
        "validation_errors": [
            {
                "code": "INCOMPATIBLE_INGREDIENT",
                "message": "coconut milk is not traditional in French cuisine",
                "field": "ingredients[0]",
            }
        ],
    }


def test_a_conversion_gives_what_goes_into_the_dish() -> None:
    body = {
        "recipe_name": "Dough",
        "dietary_requirements": ["vegan"],
        "original_servings": 4,
        "target_servings": 6.5,
        "ingredients": [
            {"name": "flour", "amount": 2, "unit": "cups", "scaled_amount": 3.25},
            {
                "name": "milk",
                "amount": "1/2",
                "unit": "cup",
                "scaled_amount": "13/16",
                "alternative": {"name": "soy milk"},
            },
            {
                "name": "eggs",
                "amount": 8,
                "scaled_amount": 13,
                "alternative": {"name": "aquafaba", "amount": 240, "unit": "g", "brand": "X"},
            },
        ],
    }
    answer = _post(CONVERT, body)
    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "data": {
            "recipe_name": "Dough",
            "recipe_type": None,
            "cuisine": None,
            "dietary_requirements": ["vegan"],
            "validation": "strict",
            "servings": 6.5,
            "ingredients": [
                {"name": "flour", "amount": 3.25, "unit": "cups"},
                {"name": "soy milk", "amount": "13/16", "unit": "cup"},
                {"name": "aquafaba", "brand": "X", "amount": 240, "unit": "g"},
            ],
        },
    }


def test_a_substitution_gives_both() -> None:
    body = {"ingredient": {"name": "cream", "amount": 1, "unit": "cup"}, "substitute": {"name": "soy cream"}}
    assert _post(SUBSTITUTE, body).json()["data"] == {
        "recipe_name": None,
        "recipe_type": None,
        "cuisine": None,
        "dietary_requirements": [],
        "validation": "strict",
        "replaced": {"name": "cream", "amount": 1, "unit": "cup"},
        "ingredient": {"name": "soy cream", "amount": 1, "unit": "cup"},
    }


def test_lenient_checks_the_form_only() -> None:
    accepted = _post(f"{CONVERT}?validation=lenient", FRENCH).json()
    assert accepted["success"] is True
    assert accepted["data"]["validation"] == "lenient"
    assert _post(f"{CONVERT}?validation=strict", FRENCH).json()["success"] is False
    assert _post(f"{CONVERT}?validation=lenient", {"ingredients": []}).status_code == 400


def test_numbers_keep_their_decimals() -> None:
    answer = _call("POST", CONVERT, b'{"ingredients": [{"name": "salt", "amount": 0.10}]}')
    assert b'"amount":0.1}' in answer.content


@pytest.mark.parametrize(
    ("query", "field"),
    [("validation=loose", "query.validation"), ("validation=", "query.validation")],
)
def test_an_unknown_validation_is_malformed(query: str, field: str) -> None:
    answer = _post(f"{CONVERT}?{query}", FRENCH)
    assert answer.status_code == 400
    (error,) = answer.json()["validation_errors"]
    assert (error["code"], error["field"]) == ("MALFORMED_REQUEST", field)


LINE = b'{"name": "salt", "amount": 1}'


@rows(
    ("path", "body", "field", "message"),
    [
        (CONVERT, b"", "", "the body is no JSON: "),
        (CONVERT, b"{", "", "the body is no JSON: "),
        (CONVERT, b"\xff\xfe", "", "the body is no JSON: it is no UTF-8"),
        (CONVERT, b"[" * 100_000, "", "the body is no JSON: "),
        (CONVERT, b"[]", "", "the body: must be an object"),
        (CONVERT, b"{}", "ingredients", "ingredients: is required"),
        (CONVERT, b'{"ingredients": {}}', "ingredients", "ingredients: must be a list"),
        (CONVERT, b'{"ingredients": []}', "ingredients", "ingredients: must have 1 to 100 entries"),
        (CONVERT, b'{"ingredients": ["flour"]}', "ingredients[0]", "ingredients[0]: must be an object"),
        (
            CONVERT,
            b'{"ingredients": [{"name": "salt"}]}',
            "ingredients[0].amount",
            "ingredients[0].amount: is required",
        ),
        (
            CONVERT,
            b'{"ingredients": [{"name": "salt", "amount": true}]}',
            "ingredients[0].amount",
            "ingredients[0].amount: must be a number",
        ),
        (
            CONVERT,
            b'{"ingredients": [{"name": "salt", "amount": 1e400}]}',
            "ingredients[0].amount",
            "ingredients[0].amount: must be a number from 0.000000001 to 1000000",
        ),
        (
            CONVERT,
            b'{"ingredients": [{"name": "salt", "amount": NaN}]}',
            "",
            "the body is no JSON: NaN is no JSON",
        ),
        (
            CONVERT,
            b'{"ingredients": [{"name": "salt", "name": "sugar", "amount": 1}]}',
            "",
            "the body is no JSON: a member occurs twice",
        ),
        (
            CONVERT,
            b'{"ingredients": [{"name": "sa\\u0000lt", "amount": 1}]}',
            "ingredients[0].name",
            "ingredients[0].name: must be 1 to 100 printable characters",
        ),
        (
            CONVERT,
            b'{"dietary_requirement": ["vegan"], "ingredients": [' + LINE + b"]}",
            "dietary_requirement",
            "dietary_requirement: is not a member of this request",
        ),
        (
            CONVERT,
            b'{"dietary_requirements": ["vegn"], "ingredients": [' + LINE + b"]}",
            "dietary_requirements[0]",
            "dietary_requirements[0]: unknown dietary requirement 'vegn'",
        ),
        (
            CONVERT,
            b'{"target_cuisine": "frnch", "ingredients": [' + LINE + b"]}",
            "target_cuisine",
            "target_cuisine: unknown cuisine 'frnch'",
        ),
        (
            CONVERT,
            b'{"target_servings": 4, "ingredients": [' + LINE + b"]}",
            "",
            "the body: target_servings needs original_servings",
        ),
        (SUBSTITUTE, b'{"substitute": {"name": "x"}}', "ingredient", "ingredient: is required"),
        (
            SUBSTITUTE,
            b'{"ingredient": {"name": "x", "amount": 1, "alternative": {"name": "y"}}}',
            "ingredient.alternative",
            "ingredient.alternative: is not a member of this request",
        ),
    ],
)
def test_a_request_that_cannot_be_read(path: str, body: bytes, field: str, message: str) -> None:
    answer = _call("POST", path, body)
    assert answer.status_code == 400
    told = answer.json()
    assert (told["success"], told["error"]) == (False, "recipe validation failed")
    (error,) = told["validation_errors"]
    assert (error["code"], error["field"]) == ("MALFORMED_REQUEST", field)
    assert error["message"].startswith(message)


def test_other_paths_and_methods() -> None:
    missing = _post("/api/recipe/covert", FRENCH)
    assert missing.status_code == 404
    assert missing.json()["validation_errors"][0]["code"] == "NOT_FOUND"
    wrong = _call("GET", CONVERT)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert wrong.json()["validation_errors"][0]["code"] == "METHOD_NOT_ALLOWED"
    head = _call("HEAD", CONVERT)
    assert (head.status_code, head.content) == (405, b"")


def test_a_body_over_the_limit_is_refused() -> None:
    answer = _call("POST", CONVERT, b" " * (LARGEST_BODY + 1))
    assert answer.status_code == 413
    assert answer.json()["validation_errors"][0]["code"] == "REQUEST_TOO_LARGE"


def test_a_body_in_pieces_is_one_body() -> None:
    pieces = [FRENCH_BYTES[:20], FRENCH_BYTES[20:], b""]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/mounted{CONVERT}",
        "root_path": "/mounted",
        "query_string": b"",
    }
    asyncio.run(service.app(scope, receive, send))
    assert sent[0]["status"] == 200
    assert json.loads(sent[1]["body"])["success"] is False


FRENCH_BYTES = json.dumps(FRENCH).encode()


def test_it_starts_and_stops_like_an_asgi_app() -> None:
    events = ["lifespan.startup", "lifespan.shutdown"]
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return {"type": events.pop(0)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    asyncio.run(service.app({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_it_speaks_no_websocket() -> None:
    async def nothing(*_: Any) -> Any:
        raise AssertionError("not called")

    with pytest.raises(RuntimeError, match="HTTP only, not websocket"):
        asyncio.run(service.app({"type": "websocket"}, nothing, nothing))


def test_a_caller_who_left_gets_no_answer() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": CONVERT, "query_string": b""}
    asyncio.run(service.app(scope, receive, send))
    assert sent == []
