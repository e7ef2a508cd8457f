"""What a target is to someone who wanted the source: the class of a mapping, and what is lost, needed and constant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.adapters.mapping.mapping import Constant, Equivalence, OperationMapping, OperationName
from corrigible.adapters.mapping.operation import CanonicalOperation, Field

from .field_map import FieldMap, argument_map, result_map
from .profile import Profile, Rarity

_GROUP_VERSION: Final = re.compile(r"/(?:api|apis/([^/{}]+))/(v\d+(?:(?:alpha|beta)\d+)?)(?:/|$)")
"""The paths of Kubernetes and of what extends it; there a body names its version again."""
_VERSION_FIELD: Final = "/body/apiVersion"


def compared(source: Profile, target: Profile, rarity: Rarity, score: float) -> OperationMapping:
    """Return the mapping of one operation to another, without its evidence."""
    arguments, results = argument_map(source, target, rarity), result_map(source, target, rarity)
    constants = list(_constants(source, target, arguments))
    fixed = {one.target for one in constants}
    pairs = tuple(pair for pair in arguments.pairs if pair.target not in fixed)
    replaced = {pair.source for pair in arguments.pairs if pair.target in fixed}
    return OperationMapping(
        source=named(source.operation),
        target=named(target.operation),
        equivalence=_class(source, target, arguments, results, constants),
        score=round(score, 4),
        arguments=pairs,
        constants=tuple(constants),
        results=tuple(results.pairs),
        lost_arguments=tuple(one for one in arguments.lost if one not in replaced),
        lost_results=tuple(results.lost),
        needed=tuple(_needed(target, arguments, fixed)),
    )


def named(operation: CanonicalOperation) -> OperationName:
    return OperationName(api=operation.api, method=operation.method, path=operation.path)


def _class(
    source: Profile, target: Profile, arguments: FieldMap, results: FieldMap, constants: Sequence[Constant]
) -> Equivalence:
    if arguments.lost or results.lost or source.operation.left_out:
        return Equivalence.WEAKER
    if target.effect == "put" and source.effect in ("create", "update"):
        return Equivalence.STRONGER  # it also replaces what is there
    changed = constants or any(
        pair.conversion or pair.source != pair.target for pair in (*arguments.pairs, *results.pairs)
    )
    if changed or (source.operation.method, source.path) != (target.operation.method, target.path):
        return Equivalence.SAME_WITH_CONVERSION
    return Equivalence.SAME


def _constants(source: Profile, target: Profile, arguments: FieldMap) -> list[Constant]:
    """Return what the target needs and only one value fits, and the version that its path names."""
    constants = [
        Constant(target=one.pointer, value=_typed(one))
        for one in target.operation.arguments
        if one.required and len(one.enum) == 1 and one.pointer not in arguments.matched and one.pointer.count("/") == 2
    ]
    told, here = _GROUP_VERSION.search(target.path), _GROUP_VERSION.search(source.path)
    if told is not None and (here is None or here.groups() != told.groups()):
        known = {one.pointer for one in target.operation.arguments}
        if _VERSION_FIELD in known:
            group, version = told.groups()
            constants.append(Constant(target=_VERSION_FIELD, value=f"{group}/{version}" if group else version))
    return constants


def _typed(field: Field) -> str | int | bool:
    (value,) = field.enum
    match field.type:
        case "boolean":
            return value == "true"
        case "integer" if value.lstrip("-").isdigit():
            return int(value)
    return value


def _needed(target: Profile, arguments: FieldMap, fixed: set[str]) -> list[str]:
    """Return the required arguments of the target that nothing goes to; below optional ones nothing is required."""
    optional = tuple(f"{one.pointer}/" for one in target.operation.arguments if not one.required)
    return [
        one.pointer
        for one in target.operation.arguments
        if one.required
        and one.pointer not in arguments.matched
        and one.pointer not in fixed
        and not any(matched.startswith(f"{one.pointer}/") for matched in arguments.matched)
        and not one.pointer.startswith(optional)
    ]
