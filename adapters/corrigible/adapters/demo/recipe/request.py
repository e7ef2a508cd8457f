"""The two requests of the recipe API, and the faults in the shape of one.

Shape only: whether a dish makes sense is the validator's business.

Amounts of an ingredient, exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from corrigible.adapters.sandbox.asgi import field

from .knowledge import knowledge

Amount = Decimal | str
"""As the caller wrote it: a JSON number, or text such as "1 1/2" or "a handful"."""

SMALLEST = Decimal("0.000000001")
LARGEST = Decimal(1_000_000)
MOST_DIGITS = 18

_PLACES = 9
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_FRACTION = re.compile(r"(?:([0-9]{1,6}) )?([0-9]{1,6})/([0-9]{1,6})", re.ASCII)


def is_in_range(number: Decimal) -> bool:
    """Say whether a number is one a kitchen could mean and arithmetic can afford."""
    return SMALLEST <= number <= LARGEST and len(number.as_tuple().digits) <= MOST_DIGITS


def exact(amount: Amount) -> Fraction | None:
    """Return the amount without any loss, or None where the text is no number ("a handful")."""
    if isinstance(amount, Decimal):
        return Fraction(amount)
    text = " ".join(amount.split())
    if _DECIMAL.fullmatch(text):
        number = Fraction(text)
    elif (parts := _FRACTION.fullmatch(text)) and int(parts[3]):
        number = int(parts[1] or 0) + Fraction(int(parts[2]), int(parts[3]))
    else:
        return None
    return number if SMALLEST <= number <= LARGEST else None


def scaled(amount: Fraction, *, original: Decimal, target: Decimal) -> Fraction:
    """Return `amount` times the exact ratio of servings."""
    return amount * Fraction(target) / Fraction(original)


def written(number: Fraction) -> Decimal:
    """Return the decimal a caller would write: exact, or rounded half up at nine places where it goes on."""
    units, rest = divmod(number.numerator * 10**_PLACES, number.denominator)
    if 2 * rest >= number.denominator:
        units += 1
    return Decimal(units).scaleb(-_PLACES).normalize()


def plain(number: Decimal) -> str:
    """Return the shortest text without an exponent: 3.25, 11."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


MALFORMED = "MALFORMED_REQUEST"


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong, without how to fix it."""

    code: str
    message: str
    field: str
    """Where: `ingredients[2]`, `target_cuisine`; outside the body `query.validation`; empty for all of it."""


class Malformed(Exception):
    """The request cannot be read."""

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        super().__init__("; ".join(complaint.message for complaint in complaints))
        self.complaints = tuple(complaints)


def _wrong(message: str) -> PydanticCustomError:
    return PydanticCustomError("recipe", "{message}", {"message": message})


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong("must be text")
    if not value.strip() or len(value) > 100 or not value.isprintable():
        raise _wrong("must be 1 to 100 printable characters")
    return value


def _number(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise _wrong("must be a number")
    number = Decimal(value)
    if not is_in_range(number):
        raise _wrong(f"must be a number from {SMALLEST:f} to {LARGEST}")
    return number


def _amount(value: object) -> Amount:
    return _text(value) if isinstance(value, str) else _number(value)


def _cuisine(value: object) -> str:
    text = _text(value)
    if text not in knowledge().cuisines:
        raise _wrong(f"unknown cuisine {text!r}")
    return text


def _diet(value: object) -> str:
    text = _text(value)
    if text not in knowledge().diets:
        raise _wrong(f"unknown dietary requirement {text!r}")
    return text


def _some(value: list[Any]) -> list[Any]:
    if not 1 <= len(value) <= 100:
        raise _wrong("must have 1 to 100 entries")
    return value


Text = Annotated[str, PlainValidator(_text)]
Number = Annotated[Decimal, PlainValidator(_number)]
AnyAmount = Annotated[Decimal | str, PlainValidator(_amount)]


class _Part(BaseModel):
    # Unknown members are refused: a misspelt `dietary_requirements` must not pass for a checked one.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Replacement(_Part):
    """The replacement of an ingredient; without an amount, in the same amount."""

    name: Text
    brand: Text | None = None
    amount: AnyAmount | None = None
    unit: Text | None = None


class Line(_Part):
    """An ingredient and how much of it."""

    name: Text
    amount: AnyAmount
    unit: Text | None = None
    brand: Text | None = None


class Ingredient(Line):
    """One line of a recipe to convert."""

    scaled_amount: AnyAmount | None = None
    """The amount for `target_servings`; the caller works it out."""
    alternative: Replacement | None = None
    """What to use instead where the ingredient does not fit a dietary requirement."""


class _Dish(_Part):
    recipe_name: Text | None = None
    recipe_type: Text | None = None
    target_cuisine: Annotated[str, PlainValidator(_cuisine)] | None = None
    dietary_requirements: list[Annotated[str, PlainValidator(_diet)]] = []


class ConvertRequest(_Dish):
    """Body of `POST /api/recipe/convert`."""

    ingredients: Annotated[list[Ingredient], AfterValidator(_some)]
    original_servings: Number | None = None
    target_servings: Number | None = None

    @model_validator(mode="after")
    def _servings_belong_together(self) -> Self:
        if self.target_servings is not None and self.original_servings is None:
            raise _wrong("target_servings needs original_servings")
        return self


class SubstituteRequest(_Dish):
    """Body of `POST /api/recipe/substitute`."""

    ingredient: Line
    substitute: Replacement | None = None


AnyRequest = ConvertRequest | SubstituteRequest

_PLAIN = {
    "missing": "is required",
    "extra_forbidden": "is not a member of this request",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "list_type": "must be a list",
}


def _complaint(error: ErrorDetails) -> Complaint:
    message = _PLAIN.get(error["type"]) or error["msg"]
    place = field(error["loc"])
    return Complaint(MALFORMED, f"{place or 'the body'}: {message}", place)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member occurs twice")
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def read(model: type[ConvertRequest] | type[SubstituteRequest], body: bytes) -> AnyRequest:
    """Return the request in `body`. Numbers are read as decimals, so that 3.25 is 3.25.

    Raises:
        Malformed: The body is no JSON, or has not the shape of `model`.
    """
    try:
        data = json.loads(
            body.decode("utf-8"), parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_unique
        )
    except (ValueError, RecursionError) as error:
        reason = "it is no UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise Malformed([Complaint(MALFORMED, f"the body is no JSON: {reason}", "")]) from error
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise Malformed([_complaint(entry) for entry in error.errors(include_url=False)[:16]]) from error
