"""What a target is to someone who wanted the source: the class of a mapping, and what is lost, needed and constant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.adapters.mapping.mapping import (
    Constant,
    Equivalence,
    FieldMapping,
    OperationMapping,
    OperationName,
    ValueMapping,
)
from corrigible.adapters.mapping.operation import CanonicalOperation, Field
from corrigible.adapters.mapping.places import target_problem

from .field_map import FieldMap, argument_map, result_map
from .profile import Profile, Rarity

_GROUP_VERSION: Final = re.compile(r"/(?:api|apis/([^/{}]+))/(v\d+(?:(?:alpha|beta)\d+)?)(?:/|$)")
"""The paths of Kubernetes and of what extends it; there a body names its version again."""
_VERSION_FIELD: Final = "/body/apiVersion"


def compared(source: Profile, target: Profile, rarity: Rarity, score: float) -> OperationMapping:
    """Return the mapping of one operation to another, without its evidence."""
    arguments, results = argument_map(source, target, rarity), result_map(source, target, rarity)
    constants = _constants(source, target, arguments)
    pairs = tuple(_renamed(pair, source, target) for pair in arguments.pairs)
    return OperationMapping(
        source=named(source.operation),
        target=named(target.operation),
        equivalence=_class(source, target, arguments, results, constants),
        score=round(score, 4),
        arguments=pairs,
        constants=tuple(constants),
        results=tuple(results.pairs),
        lost_arguments=tuple(arguments.lost),
        lost_results=tuple(results.lost),
        needed=tuple(_needed(target, arguments, {one.target for one in constants})),
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
        if not target_problem(one.pointer)
    ]
    told, here = _version(target), _version(source)
    if told and told != here:
        constants.append(Constant(target=_VERSION_FIELD, value=told))
    return constants


def _renamed(pair: FieldMapping, source: Profile, target: Profile) -> FieldMapping:
    """Return a pair; of the version in a body with what it is called in the target."""
    told, here = _version(target), _version(source)
    if pair.target != _VERSION_FIELD or pair.source != _VERSION_FIELD or not told or not here or told == here:
        return pair
    return pair.model_copy(update={"values": (ValueMapping(source=here, target=told),)})


def _version(profile: Profile) -> str:
    """Return the group and version of a path whose body names them again, empty where it has none: `batch/v1`."""
    found = _GROUP_VERSION.search(profile.path)
    if found is None or all(one.pointer != _VERSION_FIELD for one in profile.operation.arguments):
        return ""
    group, version = found.groups()
    return f"{group}/{version}" if group else version


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
