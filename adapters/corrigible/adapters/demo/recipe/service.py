"""The five families of rules of the recipe API.

Diagnoses only. A message here never carries the fix, not even in part: a baseline that answers with these
messages alone must leave the caller to find the fix. What fixes what is in the rule pack's tables.

The recipe API as a plain ASGI application.

`POST /api/recipe/convert` and `POST /api/recipe/substitute` answer 200: `{"success": true, "data": ...}`, or
`{"success": false, "error": ..., "validation_errors": [{"code", "message", "field"}]}`. A request that cannot be
read is a 400 in the same form. `?validation=strict` (the default) applies the rules of the validator;
`?validation=lenient` checks the form only, and its data says so. The service knows no `mode`: what an answer
tells beyond the diagnosis is the business of the middleware around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs

import orjson

from corrigible.adapters.sandbox.asgi import LARGEST_BODY, Receive, Scope, Send, lifespan, read_body, respond

from .adapter import PATHS
from .knowledge import Certification, Knowledge, has_words, knowledge, normal
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
    exact,
    plain,
    read,
    scaled,
    written,
)

MISSING_ALTERNATIVE = "MISSING_ALTERNATIVE"
INCOMPATIBLE_INGREDIENT = "INCOMPATIBLE_INGREDIENT"
UNSAFE_FOR_CELIAC = "UNSAFE_FOR_CELIAC"
VAGUE_MEASUREMENT = "VAGUE_MEASUREMENT"
SCALING_PRECISION_REQUIRED = "SCALING_PRECISION_REQUIRED"


@dataclass(frozen=True, slots=True)
class _Used:
    """An ingredient that ends up in the dish: the caller's own, or its replacement."""

    field: str
    part: Line | Replacement
    replaces: bool
    """It stands in for another one, so a conflict cannot be settled by naming a further alternative."""


def _used(request: AnyRequest) -> list[_Used]:
    if not isinstance(request, ConvertRequest):
        return [_Used("substitute", request.substitute, True)] if request.substitute else []
    return [
        _Used(f"ingredients[{index}].alternative", line.alternative, True)
        if line.alternative
        else _Used(f"ingredients[{index}]", line, False)
        for index, line in enumerate(request.ingredients)
    ]


def _measured(request: AnyRequest) -> Iterator[tuple[str, Line | Replacement]]:
    if isinstance(request, ConvertRequest):
        for index, line in enumerate(request.ingredients):
            yield f"ingredients[{index}]", line
            if line.alternative:
                yield f"ingredients[{index}].alternative", line.alternative
    else:
        yield "ingredient", request.ingredient
        if request.substitute:
            yield "substitute", request.substitute


def _missing_alternative(request: AnyRequest, known: Knowledge) -> Iterator[Complaint]:
    if not isinstance(request, ConvertRequest) and request.substitute is None:
        name = request.ingredient.name
        yield Complaint(MISSING_ALTERNATIVE, f"no substitute for {name} was given", "ingredient")
    for used in _used(request):
        if diet := known.conflict(used.part.name, request.dietary_requirements):
            message = f"{used.part.name} does not fit the dietary requirement {diet}"
            if not used.replaces:
                message += " and no alternative was given"
            yield Complaint(MISSING_ALTERNATIVE, message, used.field)


def _incompatible_ingredient(request: AnyRequest, known: Knowledge) -> Iterator[Complaint]:
    for used in _used(request):
        if message := known.incompatibility(
            used.part.name, cuisine=request.target_cuisine, recipe_type=request.recipe_type
        ):
            yield Complaint(INCOMPATIBLE_INGREDIENT, message, used.field)


def _is_certified(part: Line | Replacement, stage: Certification) -> bool:
    products = [normal(product) for product in stage.products]
    if part.brand is not None:
        return normal(part.brand) in products
    return any(has_words(normal(part.name), product) for product in products)


def _unsafe_for_celiac(request: AnyRequest, known: Knowledge) -> Iterator[Complaint]:
    if not any(known.diets[diet].certified for diet in request.dietary_requirements):
        return
    for stage in known.certification:
        unsafe = [
            used
            for used in _used(request)
            if known.kind_of(used.part.name) == stage.kind and not _is_certified(used.part, stage)
        ]
        for used in unsafe:
            yield Complaint(UNSAFE_FOR_CELIAC, stage.message, used.field)
        if unsafe:
            return


def _measure(amount: Amount | None, unit: str | None = None) -> str:
    text = plain(amount) if isinstance(amount, Decimal) else amount
    return " ".join(word for word in (text, unit) if word)


def _is_vague(part: Line | Replacement, known: Knowledge) -> bool:
    no_number = part.amount is not None and exact(part.amount) is None
    return no_number or (part.unit is not None and known.is_vague_unit(part.unit))


def _vague_measurement(request: AnyRequest, known: Knowledge) -> Iterator[Complaint]:
    for field, part in _measured(request):
        if known.measures_vaguely(part.name):
            message = f'"{part.name}" names a measurement that cannot be scaled'
        elif _is_vague(part, known):
            message = f'"{_measure(part.amount, part.unit)}" of {part.name} cannot be scaled'
        else:
            continue
        yield Complaint(VAGUE_MEASUREMENT, message, field)


def _scaling_precision(request: AnyRequest, known: Knowledge) -> Iterator[Complaint]:
    if not isinstance(request, ConvertRequest):
        return
    original, target = request.original_servings, request.target_servings
    if original is None or target is None or original == target:
        return
    for index, line in enumerate(request.ingredients):
        amount = exact(line.amount)
        if amount is None or _is_vague(line, known) or known.measures_vaguely(line.name):
            continue  # reported above
        expected = scaled(amount, original=original, target=target)
        given = None if line.scaled_amount is None else exact(line.scaled_amount)
        if given is not None and given in (expected, Fraction(written(expected))):
            continue
        message = (
            f"{line.name} has provided_amount {_measure(line.amount, line.unit)}, "
            f"and the ratio {plain(original)} to {plain(target)} servings requires exact precision"
        )
        if line.scaled_amount is None:
            message += "; no scaled_amount was given"
        else:
            message += f"; scaled_amount {_measure(line.scaled_amount)} is not exact"
        yield Complaint(SCALING_PRECISION_REQUIRED, message, f"ingredients[{index}]")


RULES: tuple[Callable[[AnyRequest, Knowledge], Iterator[Complaint]], ...] = (
    _missing_alternative,
    _incompatible_ingredient,
    _unsafe_for_celiac,
    _vague_measurement,
    _scaling_precision,
)
"""Root causes first: which ingredient, then which product, then how much."""


def diagnose(request: AnyRequest, known: Knowledge | None = None) -> list[Complaint]:
    """Return everything that is wrong with a well-formed request, nothing where it is accepted."""
    known = known or knowledge()
    return [complaint for rule in RULES for complaint in rule(request, known)]


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


def _line_used(line: Line, other: Replacement | None, *, amount: Amount) -> dict[str, Any]:
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
    return _line_used(line, line.alternative, amount=amount)


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
        data["replaced"] = _line_used(line, None, amount=line.amount)
        data["ingredient"] = _line_used(line, request.substitute, amount=line.amount)
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
