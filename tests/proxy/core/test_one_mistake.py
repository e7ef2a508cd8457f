"""One mistake in a request of any schema: what is suggested fits, and holds all that was sent or says so."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema_rs
import orjson
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from corrigible.adapters.openapi.load import load
from corrigible.conformance.validators.intent import lost_values
from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import Next, apply
from corrigible.schema.writer import validate

NAMES = ("title", "colour", "pages", "labels", "owner_name", "is_open", "placed_on", "chapters")
WORDS = ("crimson", "violet", "emerald", "DEEP_BLUE", "light-grey")

SCALARS: dict[str, tuple[dict[str, Json], st.SearchStrategy[Json]]] = {
    "text": ({"type": "string"}, st.sampled_from(["plum", "a b", "x", "17"])),
    "number": ({"type": "integer", "minimum": 0, "maximum": 90}, st.integers(0, 90)),
    "truth": ({"type": "boolean"}, st.booleans()),
    "word": ({"type": "string", "enum": list(WORDS)}, st.sampled_from(WORDS)),
    "day": ({"type": "string", "format": "date"}, st.sampled_from(["2026-11-22", "2025-01-02"])),
}


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the schema of an object, and an object that fits it."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    properties: dict[str, Json] = {}
    value: dict[str, Json] = {}
    required = []
    for name in names:
        kind = draw(st.sampled_from([*SCALARS, "list", "object"] if depth else list(SCALARS)))
        inner: Json
        if kind == "object":
            schema, inner = draw(objects(depth - 1))
        elif kind == "list":
            schema, element = draw(objects(depth - 1))
            schema, inner = {"type": "array", "items": schema}, [element]
        else:
            schema, values = SCALARS[kind]
            inner = draw(values)
        properties[name] = schema
        must = draw(st.booleans())
        if must:
            required.append(name)
        if must or draw(st.booleans()):
            value[name] = inner
    closed = draw(st.booleans())
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return ({**schema, "additionalProperties": False} if closed else schema), value


def places(value: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    out = [path] if path else []
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        out += places(inner, (*path, name))
    return out


@st.composite
def mistakes(draw: st.DrawFn, body: dict[str, Json]) -> Json:
    """Return a request with one mistake."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([[body], {"data": body}, orjson.dumps(body).decode()]))
    wrong = copy.deepcopy(body)
    path = draw(st.sampled_from(places(body)))
    around: Any = wrong
    for step in path[:-1]:
        around = around[step]
    name: Any = path[-1]
    value = around[name]
    kinds = ["number", "word", "list", "text", "gone", "null"]
    if isinstance(name, str):
        kinds += ["misspelt", "camel", "other name", "up"]
    match draw(st.sampled_from(kinds)):
        case "misspelt":
            around[name[:2] + name[3:]] = around.pop(name)
        case "camel":
            around[name[0].upper() + name[1:].replace("_", "")] = around.pop(name)
        case "other name":
            around["something"] = around.pop(name)
        case "up" if isinstance(value, Mapping):
            around |= around.pop(name)
        case "number":
            around[name] = draw(st.sampled_from([777, "12", 1.5]))
        case "word":
            around[name] = draw(st.sampled_from(["Crimson", "deep blue", "crimsn", "true", "22.11.2026", "many"]))
        case "list":
            around[name] = value[0] if isinstance(value, list) else [value]
        case "text" if isinstance(value, Mapping | list):
            around[name] = orjson.dumps(value).decode()
        case "gone" if isinstance(name, str):
            del around[name]
        case "null":
            around[name] = None
    return wrong


def engine(schema: Mapping[str, Json]) -> Engine:
    media = {"application/json": {"schema": schema}}
    description = {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "paths": {"/things": {"post": {"requestBody": {"content": media}, "responses": {"201": {"description": ""}}}}},
    }
    with TemporaryDirectory() as folder:
        file = Path(folder) / "things.json"
        file.write_bytes(orjson.dumps(description))
        return Engine([described(file)])


def described(file: Path) -> ApiProfile:
    plain = plain_profile()
    description = load(file, cache=file.parent)
    operations = plain.adapter.operations.merged_with(description.operations)
    return replace(plain, adapter=replace(plain.adapter, operations=operations), description=description)


@functools.cache
def plain_profile() -> ApiProfile:
    (profile,) = load_profiles([])
    return profile


def decoded(value: Json) -> Json:
    """Return what was sent with its JSON texts read: to send the same as JSON loses nothing."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        return orjson.loads(value)
    if isinstance(value, Mapping):
        return {name: decoded(inner) for name, inner in value.items()}
    return [decoded(inner) for inner in value] if isinstance(value, list) else value


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_repair_of_one_mistake_fits_and_loses_nothing_unsaid(data: st.DataObject) -> None:
    schema, body = data.draw(objects())
    assume(body)
    wrong = data.draw(mistakes(body))
    checks = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    assert checks.is_valid(body)
    assume(not checks.is_valid(wrong))
    request = Request("POST", "/things", headers={"content-type": "application/json"}, body=wrong)
    exchange = Exchange(request, 422, {}, b'{"ok":false}', "e", 1.0)
    decision = run_with_lookups_sync(engine(schema).decide(exchange), lambda lookup: LookupAnswer(0))
    assert not getattr(decision, "fault", False), decision
    if not isinstance(decision, Annotate):
        return
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    outcome = apply(decision.feedback, request)
    if not isinstance(outcome, Next):
        return
    asks = any(one.get("placeholders") for one in decision.feedback["suggestions"])  # for what comes next
    assert asks or checks.is_valid(outcome.request.body), (schema, wrong, outcome.request.body)
    declared = any(
        one["safety"]["changes_intent"] or one["safety"].get("loses") for one in decision.feedback["suggestions"]
    )
    assert declared or not lost_values(decoded(request.document()), outcome.request.document()), (
        schema,
        wrong,
        outcome.request.body,
    )


MESSAGES = (
    *("", "Bad Request", "The balance is not enough", "A thing of this name already exists", "Only one thing a day"),
    *("title is taken", "pages and colour do not go together", "Cannot process 'plum' now", "owner_name was not found"),
)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), message=st.sampled_from(MESSAGES), status=st.sampled_from([400, 404, 409, 422, 500]))
def test_a_request_that_fits_is_not_edited(data: st.DataObject, message: str, status: int) -> None:
    schema, body = data.draw(objects())
    request = Request("POST", "/things", headers={"content-type": "application/json"}, body=body)
    exchange = Exchange(request, status, {}, orjson.dumps({"message": message}), "e", 1.0)
    decision = run_with_lookups_sync(engine(schema).decide(exchange), lambda lookup: LookupAnswer(0))
    outcome = apply(decision.feedback, request) if isinstance(decision, Annotate) else None
    assert not isinstance(outcome, Next) or outcome.request == request, (schema, body, outcome)
