"""What is wrong with a map: what names nothing, what a call must never become, values that would not be the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from corrigible.rules.safety.decisive import READS
from corrigible.schema.document import header_problem, is_path, scalar_text

from .conversion import CONVERSIONS
from .map_index import origin_of
from .mapping import FieldMapping, MapFile, OperationMapping
from .path_template import VARIABLE
from .places import target_problem

READING_METHODS: Final = READS | {"QUERY", "SEARCH", "PROPFIND", "REPORT"}
"""Methods that are safe by their definition (the registry of HTTP methods at IANA)."""
_DECLARED: Final = READING_METHODS | {"POST"}
"""Methods of which a map may say that a call reads."""


def map_problems(file: MapFile) -> Iterator[str]:
    """Yield what is wrong, with the place in the file."""
    for number, mapping in enumerate(file.mappings):
        for problem in _mapping_problems(mapping):
            yield f"mappings/{number}: {problem}"
    for api in file.apis:
        if api.origin and not origin_of(api.origin):
            yield f'"{api.origin}" is no origin such as https://api.example.com'
        if api.base.strip("/") and not _is_template(api.base):
            yield f'"{api.base}" is no base path such as /api/v1'


def _mapping_problems(mapping: OperationMapping) -> Iterator[str]:
    for one in (*mapping.arguments, *mapping.results):
        if one.conversion and one.conversion not in CONVERSIONS:
            yield f'no conversion is called "{one.conversion}"; there are: {", ".join(CONVERSIONS)}'
    if not mapping.source.path.startswith("/"):
        yield f'"{mapping.source.path}" is no path'
    if not _is_template(mapping.target.path):
        yield f"{mapping.target.path!r} is no path such as /things/{{id}} at the same server"
    method = mapping.target.method.upper()
    if mapping.target_reads and method not in _DECLARED:
        yield f"target_reads: {method} writes; only POST and QUERY may be declared as reading"
    for number, argument in enumerate(mapping.arguments):
        if not _stays(argument) and (problem := target_problem(argument.target)):
            yield f'arguments/{number}: the target "{argument.target}" {problem}'
        for problem in _value_problems(argument):
            yield f"arguments/{number}/values: {problem}"
    for number, constant in enumerate(mapping.constants):
        if problem := target_problem(constant.target):
            yield f'constants/{number}: the target "{constant.target}" {problem}'
        elif constant.target.startswith("/header/") and header_problem({"x": scalar_text(constant.value)}):
            yield f"constants/{number}: {constant.value!r} is no value of a header"


def _stays(argument: FieldMapping) -> bool:
    """Whether a value that the caller sent stays as it is: the map sets nothing then."""
    return argument.source.lower() == argument.target.lower() and not argument.conversion and not argument.values


def _value_problems(argument: FieldMapping) -> Iterator[str]:
    """Yield where values lose their difference. Values are compared as text, as a query has them."""
    sources: dict[str, str] = {}
    for pair in argument.values:
        source, target = scalar_text(pair.source), scalar_text(pair.target)
        if pair.target is None:
            yield f'"{source}" becomes null, which says nothing of it; list it in lost_arguments'
        elif sources.setdefault(target, source) != source:
            yield f'"{sources[target]}" and "{source}" both become "{target}": each needs a value of its own'


def _is_template(path: str) -> bool:
    """Whether a path leads to one place of the same server. What cannot be sent besides is left out call by call."""
    plain = VARIABLE.sub("x", path).partition("?")[0].partition("#")[0]
    return plain.startswith("/") and is_path(plain)
