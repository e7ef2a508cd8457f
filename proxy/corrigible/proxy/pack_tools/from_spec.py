"""A starting pack from an API's description: its operations, what may be looked up, a list of its errors.

Knows: compiled descriptions, packs. Does not know: what any error means; that is for its author to write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.report import OperationReport, report
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.pack.scaffold import new_pack, quoted
from corrigible.rules.schema_repair.suggestion import is_secret

_SERVER_ERROR: Final = 500
"""Statuses from here on are about the server."""
_OF_ALL: Final = ("401", "429")
"""Statuses that mean the same in every API."""
_MOST_CODES: Final = 40
"""Codes that are listed of one operation."""


def pack_from_description(folder: Path, description: Description, source: str, *, author: str, date: str) -> list[Path]:
    """Write a pack that lints and passes its cases; `source` is the name of the description's file.

    Raises AuthoringError rather than touch what is there, or where the description has no operation.
    """
    reports = list(report(description))
    if not reports:
        raise AuthoringError(Place(Path(source)), "no operation is described: there is nothing to make a pack of")
    files = new_pack(folder, author=author, date=date)
    manifest = folder / "pack.yaml"
    manifest.write_text("\n".join(_manifest(folder.name, description, source, reports, author)) + "\n", "utf-8")
    errors = folder / "errors.md"
    errors.write_text(
        "\n".join(_errors(folder.name, description.title or folder.name, source, reports)) + "\n", "utf-8"
    )
    return [*files, errors]


def _errors(name: str, title: str, source: str, reports: Sequence[OperationReport]) -> Iterator[str]:
    """Yield a worksheet of the documented errors: what a rule matches, and never what it answers."""
    yield f"# Documented errors of {title}"
    yield ""
    yield f"Made from {source}. What the description tells needs no rule: see `corrigible spec check {source}`."
    yield "Write a rule for an error whose correction you know, from an example of the API's own."
    yield f"`corrigible pack new {name}/RULE` makes a rule and its cases; each `match` is below."
    by_error: dict[tuple[str, str], list[OperationReport]] = {}
    for one in reports:
        for status, codes in one.refusals.items():
            if status.isdecimal() and int(status) < _SERVER_ERROR and status not in _OF_ALL:
                for code in codes or ("",):
                    by_error.setdefault((status, code), []).append(one)
    for (status, code), operations in sorted(by_error.items()):
        names = [quoted(one.name) for one in operations]
        matched = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
        lookups = sorted({path for one in operations for path in one.lookups})
        yield f"\n## {status} `{code}`\n" if code else f"\n## {status}\n"
        yield from (f"- {one.operation.partition('#')[0]}" for one in operations)
        yield "\n```yaml"
        yield f"match: {{operation: {matched}, status: [{status}]{f', code: {quoted(code)}' if code else ''}}}"
        yield "```"
        if lookups:
            yield f"\nLook-ups: {', '.join(f'`GET {path}`' for path in lookups)}"


def _manifest(
    name: str, description: Description, source: str, reports: list[OperationReport], author: str
) -> Iterator[str]:
    yield "# yaml-language-server: $schema=pack.schema.json"
    yield f"# Made from {source}. Run the proxy with this pack and with --spec {source}."
    yield f"name: {name}"
    yield f"title: {quoted(description.title or name)}"
    yield "version: 1.0.0"
    yield f"api: {{name: {quoted(description.title or name)}, versions: {quoted(description.version)}}}"
    yield "license: Apache-2.0"
    yield f"author: {quoted(author)}"
    if bases := [base for base in description.operations.base_paths() if re.fullmatch(r"/[^?#{\s]+", base)]:
        yield f"bases: {json.dumps(bases)}"
    keys = {part.name for one in reports for part in one.parts if part.place == "headers"}
    if key := next((one for one in sorted(keys) if one.lower().removeprefix("x-") == "idempotency-key"), None):
        yield f"idempotency_header: {quoted(key)}"
    if secrets := sorted(set(_secrets(description, reports))):
        yield f"secret_parameters: {json.dumps(secrets)}"
    yield "# What rules may look up: every path that can be read. Delete what they need not see."
    readable = list(dict.fromkeys(_readable(reports)))
    yield "lookups:" if readable else "lookups: []"
    yield from (f"  - {path}" for path in readable)
    yield "# The names that `match.operation` takes, and the error codes that the description lists for each."
    yield "operations:"
    for one in reports:
        codes = [code for listed in one.refusals.values() for code in listed]
        said = f"   # {', '.join(codes[:_MOST_CODES])}" if codes else ""
        yield f"  {quoted(one.operation.partition('#')[0])}: {quoted(one.name)}{said}"


def _readable(reports: list[OperationReport]) -> Iterator[str]:
    """Yield the paths that a rule may look up: none that ends with a slash (see `pack lint`)."""
    for one in reports:
        method, _, path = one.operation.partition("#")[0].partition(" ")
        if method == "GET" and re.fullmatch(r"/[^?#\s]*[^?#\s/]", path):
            yield path


def _secrets(description: Description, reports: list[OperationReport]) -> Iterator[str]:
    """Yield the parameters and members of bodies that are named like secrets."""
    for one in reports:
        facts = description.facts(one.name)
        members = facts.get("properties", {}) if isinstance(facts, Mapping) else {}
        for name in [*(part.name for part in one.parts if part.place in ("path", "query")), *members]:
            if is_secret(f"/body/{name}", "any text"):
                yield name
