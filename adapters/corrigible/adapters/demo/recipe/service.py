"""The recipe API as a plain ASGI application.

`POST /api/recipe/convert` and `POST /api/recipe/substitute` answer 200: `{"success": true, "data": ...}`, or
`{"success": false, "error": ..., "validation_errors": [{"code", "message", "field"}]}`. A request that cannot be
read is a 400 in the same form. `?validation=strict` (the default) applies the rules of the validator;
`?validation=lenient` checks the form only, and its data says so. The service knows no `mode`: what an answer
tells beyond the diagnosis is the business of the middleware around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import orjson

from corrigible.adapters.sandbox.asgi import LARGEST_BODY, Receive, Scope, Send, lifespan, read_body, respond

from .adapter import PATHS
from .request import (
    MALFORMED,
    Amount,
    AnyRequest,
    Complaint,
    ConvertRequest,
    Ingredient,
    Line,
    Malformed,
    Replacement,
    SubstituteRequest,
    plain,
    read,
)
from .validator import diagnose

REFUSED = "recipe validation failed"

MODELS: Mapping[str, type[ConvertRequest] | type[SubstituteRequest]] = {
    PATHS["convertRecipe"]: ConvertRequest,
    PATHS["substituteIngredient"]: SubstituteRequest,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, before it is bytes."""

    status: int
    body: Mapping[str, Any]
    headers: Sequence[tuple[bytes, bytes]] = ()


def _refusal(status: int, complaints: Sequence[Complaint], error: str = REFUSED) -> Answer:
    errors = [asdict(complaint) for complaint in complaints]
    return Answer(status, {"success": False, "error": error, "validation_errors": errors})


def _used(line: Line, other: Replacement | None, *, amount: Amount) -> dict[str, Any]:
    """Return what goes into the dish; a replacement without an amount takes the line's."""
    part = other or line
    unit = part.unit
    if other and other.amount is not None:
        amount = other.amount
    elif other:
        unit = other.unit or line.unit
    members = {"name": part.name, "brand": part.brand, "amount": amount, "unit": unit}
    return {name: value for name, value in members.items() if value is not None}


def _converted(line: Ingredient) -> dict[str, Any]:
    amount = line.amount if line.scaled_amount is None else line.scaled_amount
    return _used(line, line.alternative, amount=amount)


def _accepted(request: AnyRequest, validation: str) -> Answer:
    data: dict[str, Any] = {
        "recipe_name": request.recipe_name,
        "recipe_type": request.recipe_type,
        "cuisine": request.target_cuisine,
        "dietary_requirements": request.dietary_requirements,
        "validation": validation,
    }
    if isinstance(request, ConvertRequest):
        data["servings"] = request.target_servings or request.original_servings
        data["ingredients"] = [_converted(line) for line in request.ingredients]
    else:
        line = request.ingredient
        data["replaced"] = _used(line, None, amount=line.amount)
        data["ingredient"] = _used(line, request.substitute, amount=line.amount)
    return Answer(200, {"success": True, "data": data})


def answer(method: str, path: str, query: Mapping[str, Sequence[str]], body: bytes) -> Answer:
    """Return the answer to one call. Pure: no sockets, no clock."""
    if (model := MODELS.get(path)) is None:
        return _refusal(404, [Complaint("NOT_FOUND", "there is nothing at this path", "path")], "not found")
    if method != "POST":
        wrong = Complaint("METHOD_NOT_ALLOWED", f"{method} is not offered here", "method")
        refusal = _refusal(405, [wrong], "method not allowed")
        return Answer(405, refusal.body, [(b"allow", b"POST")])
    validation = query.get("validation", ["strict"])
    if validation not in (["strict"], ["lenient"]):
        message = "validation: must be strict or lenient, once"
        return _refusal(400, [Complaint(MALFORMED, message, "query.validation")])
    try:
        request = read(model, body)
    except Malformed as malformed:
        return _refusal(400, malformed.complaints)
    if validation == ["strict"] and (complaints := diagnose(request)):
        return _refusal(200, complaints)
    return _accepted(request, validation[0])


def _encode(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(plain(value))
    raise TypeError(type(value).__name__)


def encoded(response: Answer) -> bytes:
    """Return the body as JSON, decimals as they are."""
    return orjson.dumps(response.body, default=_encode)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one connection of an ASGI server."""
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    if scope["type"] != "http":
        raise RuntimeError(f"the recipe API supports HTTP only, not {scope['type']}")
    if (body := await read_body(receive)) is None:
        return
    if len(body) > LARGEST_BODY:
        too_long = Complaint("REQUEST_TOO_LARGE", f"the body is longer than {LARGEST_BODY} bytes", "")
        response = _refusal(413, [too_long], "request too large")
    else:
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        response = answer(scope["method"], path, query, body)
    await respond(scope, send, response.status, encoded(response), response.headers)
