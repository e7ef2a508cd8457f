"""The five families of rules of the recipe API.

Diagnoses only. A message here never carries the fix, not even in part: a baseline that answers with these
messages alone must leave the caller to find the fix. What fixes what is in the rule pack's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from .knowledge import Certification, Knowledge, has_words, knowledge, normal
from .request import Amount, AnyRequest, Complaint, ConvertRequest, Line, Replacement, exact, plain, scaled, written

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
