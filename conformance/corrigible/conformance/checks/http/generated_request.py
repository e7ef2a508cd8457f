"""Invalid requests made from an API's description: each breaks it at a known place; a seed reproduces them.

Knows: OpenAPI through schemathesis, and what can go over a wire. Does not know: who is asked, what came back.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

import yaml

from corrigible.conformance.model.outcome import UsageError, usable
from corrigible.conformance.model.yaml_file import load_yaml
from corrigible.conformance.transport.http1 import HttpRequest, request_document
from corrigible.conformance.validators.openapi import Breach, Description
from corrigible.schema.document import MISSING, pointer_parts, value_at
from corrigible.schema.exchange import Json

if TYPE_CHECKING:
    from schemathesis import APIOperation, Case

    Operation = APIOperation[Any, Any, Any, Any]

HARMLESS: Final = frozenset({"GET", "POST"})
"""Methods that are tried without being told to: a bad PUT, PATCH or DELETE that is let through takes something away."""
_LOOKED_AT: Final = 2000
"""Cases of one operation that are looked at: descriptions with large schemas have no end of them."""
_LONGEST: Final = 8192
"""Bytes of a target: servers refuse longer ones before anybody reads them."""


@dataclass(frozen=True, slots=True)
class Generated:
    """One request that the description forbids."""

    operation: str
    what: str
    """What is wrong with it, in the generator's words."""
    sent: HttpRequest


@dataclass(frozen=True, slots=True)
class Plan:
    requests: tuple[Generated, ...]
    left_out: tuple[str, ...]
    """Operations that nothing was made for, each with a reason."""


def load(path: Path) -> Mapping[str, Json]:
    """Read a description. Raises UsageError where it is none that requests can be made from."""
    with usable(f"--spec {path}"):
        return parsed(path.read_text("utf-8"), f"--spec {path}")


def parsed(text: str, origin: str) -> Mapping[str, Json]:
    """Read the text of a description. Raises UsageError, which begins with where it is from."""
    try:
        document = load_yaml(text)
    except yaml.YAMLError as problem:
        raise UsageError(f"{origin}: neither YAML nor JSON: {' '.join(str(problem).split())}") from None
    if not isinstance(document, Mapping):
        raise UsageError(f"{origin}: an OpenAPI description is an object, not {type(document).__name__}")
    openapi = document.get("openapi")
    if not str(openapi).startswith("3."):
        older = ' ("swagger": 2.0 has to be converted first)' if "swagger" in document else ""
        raise UsageError(f'{origin}: it does not say "openapi": "3.0" or "3.1"{older}')
    if not isinstance(document.get("paths"), Mapping) or not document["paths"]:
        raise UsageError(f"{origin}: it describes no paths")
    for name, item in document["paths"].items():
        if not isinstance(item, Mapping):
            raise UsageError(f"{origin}: paths: {name}: a path item is an object, not {type(item).__name__}")
    for pointer in _references(document):
        if not pointer.startswith("#/"):
            raise UsageError(f"{origin}: a reference leads out of the file: {pointer}: bundle it first")
        if value_at(document, pointer_parts(pointer.removeprefix("#")) or ()) is MISSING:
            raise UsageError(f"{origin}: a reference leads nowhere: {pointer}")
    return document


def _references(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def plan(document: Mapping[str, Json], *, seed: int = 0, most: int = 200, unsafe: bool = False) -> Plan:
    """Return requests to send, a few of each operation in turn. Raises UsageError without the generator."""
    return _plan(json.dumps(document, default=str), seed, most, unsafe)


@lru_cache(maxsize=8)
def _plan(text: str, seed: int, most: int, unsafe: bool) -> Plan:
    document = json.loads(text)
    try:
        import schemathesis
        from schemathesis.core.result import Err
    except ModuleNotFoundError as problem:
        raise UsageError(f"--spec makes requests with a package that is not installed: {problem.name}") from None
    try:
        schema = schemathesis.openapi.from_dict(document)
        operations = list(schema.get_all_operations())
    except schemathesis.errors.SchemathesisError as problem:
        raise UsageError(f"--spec: no requests can be made from it: {_line(problem)}") from None
    description = Description(document)
    base = base_path(document)
    rows: list[list[Generated]] = []
    left_out: list[str] = []
    for result in operations:
        if isinstance(result, Err):
            left_out.append(_line(result.err()))
            continue
        operation = result.ok()
        method = operation.method.upper()
        if not unsafe and method not in HARMLESS:
            left_out.append(f"{operation.label}: --unsafe also tries {method}")
            continue
        try:
            bad = _of(operation, description, base, seed)
        except schemathesis.errors.SchemathesisError as problem:
            left_out.append(f"{operation.label}: {_line(problem)}")
            continue
        if bad:
            rows.append(bad)
        else:
            left_out.append(f"{operation.label}: nothing that it takes can be wrong")
    in_turn = (result for row in zip_longest(*rows) for result in row if result is not None)
    return Plan(tuple(islice(in_turn, most)), tuple(left_out))


def base_path(document: Mapping[str, Json]) -> str:
    """Return the path below which the first server has the API."""
    servers = document.get("servers") or [{}]
    return urlsplit(str(servers[0].get("url", ""))).path.rstrip("/")


def _of(operation: Operation, description: Description, base: str, seed: int) -> list[Generated]:
    """Return bad requests for one operation, in an order that the seed gives them."""
    generateds = _usable(_cases(operation), description, base)
    random.Random(f"{seed} {operation.label}").shuffle(generateds)
    return generateds


def _cases(operation: Operation) -> Iterator[Case[Any]]:
    """Yield cases in which one thing is at an edge or over it, and everything else is as described.

    What hypothesis would break at random is left out: it takes values from whatever modules are loaded, so a seed
    would not make the same requests again somewhere else.
    """
    from schemathesis import GenerationMode

    config = operation.schema.config.generation_for(operation=operation, phase="coverage")
    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    cases = operation.schema.iter_coverage_cases(operation=operation, generation_modes=modes, generation_config=config)
    yield from islice(cases, _LOOKED_AT)


def _usable(cases: Iterator[Case[Any]], description: Description, base: str) -> list[Generated]:
    """Return what can be sent and what the description, read by the suite's own judge, forbids; each once."""
    from schemathesis import GenerationMode

    by_request: dict[HttpRequest, Generated] = {}
    for case in cases:
        if case.meta is None or case.meta.generation.mode is not GenerationMode.NEGATIVE:
            continue
        if case.method.upper() != case.operation.method.upper():
            continue
        sent = _sent(case, base)
        if sent is None or sent in by_request:
            continue
        try:
            document = request_document(sent)
            wrong = [breach for breach in description.breaches_of(document) or () if not _is_stray(breach)]
        except (ValueError, RecursionError):
            continue
        if wrong and not isinstance(document.body, str):  # a text stands for a body that nobody can read
            by_request[sent] = Generated(case.operation.label, _fault_text(case) or wrong[0].message, sent)
    return list(by_request.values())


def _is_stray(breach: Breach) -> bool:
    """Whether it is a query parameter that nobody described: servers may ignore those."""
    return breach.keyword == "additionalProperties" and breach.pointer.startswith("/query/")


def _fault_text(case: Case[Any]) -> str:
    """Return what the generator says is wrong, with the name of the parameter it is about."""
    from schemathesis.core.parameters import ParameterLocation

    data = case.meta.phase.data if case.meta is not None else None
    descriptions = " and ".join(line.strip("- ") for line in str(getattr(data, "description", None) or "").splitlines())
    name = getattr(data, "parameter", None)
    if not name or str(name) in descriptions:
        return descriptions
    return (
        f"{name}: {descriptions}"
        if getattr(data, "parameter_location", None) is not ParameterLocation.BODY
        else descriptions
    )


def _sent(case: Case[Any], base: str) -> HttpRequest | None:
    """Return a case as it goes out; None for what cannot go out as HTTP and JSON."""
    from schemathesis.core import NotSet

    query: list[tuple[str, str]] = []
    for name, value in {**(case.query or {}), **_preference(case)}.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict | list):
                return None
            query.append((name, str(item).lower() if isinstance(item, bool) else str(item)))
    headers: list[tuple[str, str]] = []
    for name, value in (case.headers or {}).items():
        if not _is_printable(str(name)) or not _is_printable(str(value)) or str(value) != str(value).strip():
            return None
        headers.append((str(name), str(value)))
    if any(name.lower() == "content-type" for name, _ in headers) or case.cookies:
        return None
    body = b""
    if not isinstance(case.body, NotSet):
        if case.media_type is None or not _is_json(case.media_type):
            return None
        try:
            body = json.dumps(case.body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError):
            return None
        headers.append(("Content-Type", case.media_type))
    try:
        path = base + quote(case.formatted_path, safe="/%:@!$&'()*+,;=~")
        target = path + (f"?{urlencode(query)}" if query else "")
    except (UnicodeEncodeError, ValueError):
        return None
    return HttpRequest(case.method.upper(), target, tuple(headers), body) if len(target) <= _LONGEST else None


def _preference(case: Case[Any]) -> dict[str, str]:
    """Return what asks for feedback where a query parameter does that, unless it is what is to be wrong."""
    parameters = {}
    for parameter in case.operation.query:
        allowed = parameter.definition.get("schema", {}).get("enum") or ()
        value = (case.query or {}).get(parameter.name)
        if "reflective" in allowed and (value is None or value in allowed):
            parameters[parameter.name] = "reflective"
    return parameters


def _is_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _is_printable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _line(problem: object) -> str:
    """Return the first line of what somebody else's exception says."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
