"""A Swagger 2.0 document as OpenAPI 3.0, for what is read of a description: requests, and the schemas of refusals.

No library that is published for Python does it. References keep their texts: `#/definitions/Pet` is where it was.
Specification: https://spec.openapis.org/oas/v2.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.schema.exchange import Json

Follow = Callable[[Json], Json]
"""Returns a value, or what it refers to where it is a reference."""

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_OF_PARAMETER: Final = frozenset({"name", "in", "description", "required", "collectionFormat", "allowEmptyValue"})
_STYLES: Final[Mapping[str, Mapping[str, Json]]] = {
    "csv": {"style": "form", "explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"style": "form", "explode": True},
}


def is_swagger2(document: Json) -> bool:
    return isinstance(document, Mapping) and str(document.get("swagger", "")).startswith("2.")


def as_openapi(document: Mapping[str, Json], follow: Follow) -> dict[str, Json]:
    """Return the same API as OpenAPI 3.0. What is no Swagger is left as it is: the compiler passes over it."""
    consumes, produces = _texts(document.get("consumes")), _texts(document.get("produces"))
    out: dict[str, Json] = {key: value for key, value in document.items() if key not in _REPLACED}
    out["openapi"] = "3.0.3"
    out["servers"] = _servers(document)
    schemes = document.get("securityDefinitions")
    if isinstance(schemes, Mapping):  # those of keys are written alike
        keys = {name: one for name, one in schemes.items() if isinstance(one, Mapping) and one.get("type") == "apiKey"}
        out["components"] = {"securitySchemes": keys}
    shared = document.get("parameters")
    if isinstance(shared, Mapping):
        out["parameters"] = {name: _parameter(one) for name, one in shared.items()}
    if isinstance(document.get("definitions"), Mapping):
        out["definitions"] = {name: _schema(one) for name, one in document["definitions"].items()}
    if isinstance(document.get("responses"), Mapping):
        out["responses"] = {name: _response(one, produces) for name, one in document["responses"].items()}
    paths = document.get("paths")
    if isinstance(paths, Mapping):
        out["paths"] = {template: _path_item(item, consumes, produces, follow) for template, item in paths.items()}
    return out


_REPLACED: Final = frozenset({"swagger", "host", "basePath", "schemes", "consumes", "produces", "securityDefinitions"})


def _servers(document: Mapping[str, Json]) -> list[Json]:
    base = document.get("basePath")
    base = base if isinstance(base, str) else ""
    host = document.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base or "/"}]
    return [{"url": f"{scheme}://{host}{base}"} for scheme in _texts(document.get("schemes")) or ["https"]]


def _path_item(item: Json, consumes: Sequence[str], produces: Sequence[str], follow: Follow) -> Json:
    if not isinstance(item, Mapping) or "$ref" in item:
        return item
    listed = _list(item.get("parameters"))
    bodies = [one for one in listed if _place(one, follow) in ("body", "formData")]
    out = {key: value for key, value in item.items() if key != "parameters"}
    out["parameters"] = [_parameter(one) for one in listed if one not in bodies]
    for method in _METHODS:
        operation = item.get(method)
        if isinstance(operation, Mapping):
            out[method] = _operation(operation, bodies, consumes, produces, follow)
    return out


def _operation(
    operation: Mapping[str, Json],
    shared: Sequence[Json],
    consumes: Sequence[str],
    produces: Sequence[str],
    follow: Follow,
) -> dict[str, Json]:
    listed = _list(operation.get("parameters"))
    own = [one for one in listed if _place(one, follow) in ("body", "formData")]
    out = {key: value for key, value in operation.items() if key not in ("parameters", "consumes", "produces")}
    out["parameters"] = [_parameter(one) for one in listed if one not in own]
    media = _texts(operation.get("consumes")) if "consumes" in operation else consumes
    # "A unique parameter is defined by a combination of a name and location" (path item object): the nearer one holds.
    bodies = [followed for one in (*shared, *own) if isinstance(followed := follow(one), Mapping)]
    body = next((one for one in reversed(bodies) if one.get("in") == "body"), None)
    form = {str(one.get("name")): one for one in bodies if one.get("in") == "formData"}
    if body is not None:
        schema = _schema(body.get("schema"))
        content = {name: {"schema": schema} for name in media or ["application/json"]}
        out["requestBody"] = {"required": body.get("required") is True, "content": content}
    elif form:
        out["requestBody"] = _form(form, media)
    responses = operation.get("responses")
    if isinstance(responses, Mapping):
        media = _texts(operation.get("produces")) if "produces" in operation else produces
        out["responses"] = {status: _response(one, media) for status, one in responses.items()}
    return out


def _form(form: Mapping[str, Mapping[str, Json]], media: Sequence[str]) -> dict[str, Json]:
    required = [name for name, one in form.items() if one.get("required") is True]
    schema: dict[str, Json] = {"type": "object", "properties": {name: _field(one) for name, one in form.items()}}
    if required:
        schema["required"] = required
    has_file = any(one.get("type") == "file" for one in form.values())
    allowed = [name for name in media if name == _MULTIPART or (name == _FORM and not has_file)]
    documented = allowed or [_MULTIPART if has_file else _FORM]
    return {"required": bool(required), "content": {name: {"schema": schema} for name in documented}}


def _parameter(one: Json) -> Json:
    """Return a parameter with its type under `schema`."""
    if not isinstance(one, Mapping) or "$ref" in one or one.get("in") in ("body", "formData"):
        return one
    out = {key: value for key, value in one.items() if key in _OF_PARAMETER and key != "collectionFormat"}
    out["schema"] = _typed(one)
    if one.get("type") == "array":
        written = str(one.get("collectionFormat", "csv"))
        if written not in _STYLES:
            out["schema"] = {}  # tabs: OpenAPI 3 has no style for it
        elif one.get("in") == "query":
            out.update(_STYLES[written])
        elif written != "csv":
            out["schema"] = {}
    return out


def _field(parameter: Mapping[str, Json]) -> Json:
    """Return the schema of a field of a form, with its description, as a parameter has it beside its schema."""
    told = parameter.get("description")
    typed = _typed(parameter)
    return {"description": told, **typed} if isinstance(told, str) and isinstance(typed, dict) else typed


def _typed(parameter: Mapping[str, Json]) -> Json:
    return _schema({key: value for key, value in parameter.items() if key not in _OF_PARAMETER})


def _response(response: Json, media: Sequence[str]) -> Json:
    if not isinstance(response, Mapping) or "schema" not in response:
        return response
    rest = {key: value for key, value in response.items() if key != "schema"}
    schema = _schema(response["schema"])
    return {**rest, "content": {name: {"schema": schema} for name in media or ["application/json"]}}


def _schema(schema: Json) -> Json:
    """Return a schema in the dialect of OpenAPI 3.0: `x-nullable` is `nullable`, a file is text."""
    if isinstance(schema, list):
        return [_schema(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return dict(_members(schema))


def _members(schema: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        if key == "x-nullable":
            yield "nullable", value
        elif key == "type" and value == "file":
            yield "type", "string"
        elif key in ("enum", "default", "example"):
            yield key, value
        elif key == "properties" and isinstance(value, Mapping):
            yield key, {name: _schema(inner) for name, inner in value.items()}
        elif key != "discriminator" or not isinstance(value, str):  # 2.0 names a member, 3.0 maps its values
            yield key, _schema(value)


def _place(parameter: Json, follow: Follow) -> Json:
    followed = follow(parameter)
    return followed.get("in") if isinstance(followed, Mapping) else None


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _texts(value: Json) -> list[str]:
    return [one for one in _list(value) if isinstance(one, str)]
