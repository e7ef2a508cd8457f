"""A starting pack from an API's description: its operations, permitted look-ups, a list of its errors.

Knows: compiled descriptions, packs. Does not know: what any error means; that is for its author to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any, Final

from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.report import OperationReport, report
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.pack.portable import dumped
from corrigible.rules.pack.reference import new_pack, quoted
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
    source = _shown(source)
    yield f"# Documented errors of {_shown(title)}"
    yield ""
    yield f"Made from {source}. What the description tells needs no rule: see `corrigible spec check {source}`."
    yield "Write a rule for an error whose correction you know, from an example of the API's own."
    yield f"`corrigible pack new {name}/RULE` makes a rule and its cases; each `match` is below."
    by_error: dict[tuple[str, str], list[OperationReport]] = {}
    for one in reports:
        for status, codes in one.refusals.items():
            if status.isdecimal() and int(status) < _SERVER_ERROR and status not in _OF_ALL:
                for code in codes or ("",):
                    by_error.setdefault((str(int(status)), code), []).append(one)
    for (status, code), operations in sorted(by_error.items()):
        names = [quoted(name) for name in dict.fromkeys(one.name for one in operations)]
        matched = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
        lookups = sorted({path for one in operations for path in one.lookups if _LOOKUP.fullmatch(path)})
        yield f"\n## {status} `{_shown(code)}`\n" if code else f"\n## {status}\n"
        yield from (f"- {_shown(_call(one))}" for one in operations)
        yield "\n```yaml"
        yield f"match: {{operation: {matched}, status: [{status}]{f', code: {quoted(code)}' if code else ''}}}"
        yield "```"
        if lookups:
            yield f"\nLook-ups: {', '.join(f'`GET {_shown(path)}`' for path in lookups)}"


_SEGMENT: Final = r"/(?!\.{1,2}(?:/|$))(?:[\w.~!$&'()*+,;=:@%-]|\{[\w.-]+\})+"
_LOOKUP: Final = re.compile(rf"(?:{_SEGMENT})+", re.ASCII)
_LONGEST_NAME: Final = 500
"""Characters of an operation: a longer one is no name."""
_CALL: Final = re.compile(rf"[A-Z]+ /[^\x00-\x1f\x7f-\x9f\u2028\u2029]{{0,{_LONGEST_NAME}}}")
_UNSAFE: Final = re.compile(r"[^\w ./{}:,;()+~@%=&'-]")
_CODE: Final = re.compile(r"[\w.:/-]{1,80}", re.ASCII)
"""Codes that may stand in a comment."""


def _shown(text: str) -> str:
    """Return a text of the description for a line of a comment or of Markdown: no sign of it means anything there."""
    return shorten(_UNSAFE.sub("?", " ".join(text.split())), _LONGEST_NAME, placeholder=" ...")


def _call(one: OperationReport) -> str:
    """Return method and path."""
    return one.operation.partition("#")[0]


def _manifest(
    name: str, description: Description, source: str, reports: list[OperationReport], author: str
) -> Iterator[str]:
    """Yield pack.yaml: what the description says is data, which a YAML writer writes; comments are in words of ours."""
    source = _shown(source)
    title = " ".join(description.title.split()) or name
    yield "# yaml-language-server: $schema=pack.schema.json"
    yield f"# Made from {source}. Run the proxy with this pack and with --spec {source}."
    head: dict[str, Any] = {
        "name": name,
        "title": title,
        "version": "1.0.0",
        "api": {"name": title, "versions": description.version},
        "license": "Apache-2.0",
        "author": author,
    }
    if bases := [base for base in description.operations.base_paths if _LOOKUP.fullmatch(base) and "{" not in base]:
        head["bases"] = bases
    keys = {part.name for one in reports for part in one.parts if part.place == "headers"}
    if key := next((one for one in sorted(keys) if one.lower().removeprefix("x-") == "idempotency-key"), None):
        head["idempotency_header"] = key
    if secrets := sorted(set(_secrets(description, reports))):
        head["secret_parameters"] = secrets
    yield dumped(head).strip("\n")
    yield "# What rules may look up: every path that can be read. Delete what they need not see."
    yield dumped({"lookups": list(dict.fromkeys(_readable(reports)))}, is_flow=False).strip("\n")
    yield "# The names that `match.operation` takes, and the error codes that the description lists for each."
    written: dict[str, str] = {}
    for one in reports:
        call = _call(one)
        if call in written or _CALL.fullmatch(call) is None or len(one.name) > _LONGEST_NAME:
            continue
        codes = [code for listed in one.refusals.values() for code in listed if _CODE.fullmatch(code)]
        said = f"   # {', '.join(codes[:_MOST_CODES])}" if codes else ""
        written[call] = f"  {quoted(call)}: {quoted(one.name)}{said}"
    yield "operations:" if written else "operations: {}"
    yield from written.values()


def _readable(reports: list[OperationReport]) -> Iterator[str]:
    """Yield the paths that a rule may look up: none that ends with a slash (see `pack lint`), none that is no path."""
    for one in reports:
        method, _, path = _call(one).partition(" ")
        if method == "GET" and _LOOKUP.fullmatch(path):
            yield path


def _secrets(description: Description, reports: list[OperationReport]) -> Iterator[str]:
    """Yield the parameters and members of bodies that are named like secrets."""
    for one in reports:
        facts = description.facts(one.name)
        members = facts.get("properties", {}) if isinstance(facts, Mapping) else {}
        for name in [*(part.name for part in one.parts if part.place in ("path", "query")), *members]:
            if is_secret(f"/body/{name}", "any text"):
                yield name
