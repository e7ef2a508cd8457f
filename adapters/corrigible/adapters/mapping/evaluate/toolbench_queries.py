"""What users ask for and the sequence of calls that answers it: ToolBench's queries, and our own sets in JSON lines.

ToolBench: a JSON list of `{query, api_list, "relevant APIs": [[tool_name, api_name], ...]}`. Ours, a JSON object a
line: `{"utterance": ..., "calls": [["api", "name"], ...]}`, with the names of an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from corrigible.rules.errors import AuthoringError, Place
from corrigible.schema.exchange import Json

Call = tuple[str, str]
"""API and name of an operation."""


@dataclass(frozen=True, slots=True)
class Query:
    """An utterance, and what should be called for it, in order."""

    utterance: str
    calls: tuple[Call, ...]
    candidates: tuple[Call, ...] = ()
    """Those that the set itself offers; empty: any operation may be meant."""


def is_queries(file: Path) -> bool:
    """Whether a file is a set of queries: JSON that begins with a list, or JSON lines."""
    try:
        with file.open("rb") as opened:
            return opened.read(256).lstrip()[:1] in (b"[", b"{")
    except OSError:
        return False


def read_queries(file: Path) -> list[Query]:
    """Read a set. Raises AuthoringError with file and line."""
    try:
        data = file.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(file, 0), f"cannot be read: {problem.strerror}") from None
    if data.lstrip()[:1] == b"[":
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError as problem:
            raise AuthoringError(Place(file, problem.lineno), f"not JSON: {problem.msg}") from None
        return [_toolbench(one, file, at) for at, one in enumerate(document, 1)]
    queries = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            queries.append(_own(orjson.loads(line)))
        except orjson.JSONDecodeError as problem:
            raise AuthoringError(Place(file, number), f"not JSON: {problem.msg}") from None
        except (KeyError, TypeError, ValueError):
            wanted = '{"utterance": ..., "calls": [["api", "name"], ...]}'
            raise AuthoringError(Place(file, number), f"not of the form {wanted}") from None
    return queries


def _toolbench(one: Json, file: Path, number: int) -> Query:
    try:
        listed = [(str(api["tool_name"]), str(api["api_name"])) for api in one.get("api_list", ())]
        return Query(str(one["query"]), _calls(one.get("relevant APIs", ())), tuple(listed))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise AuthoringError(Place(file, 0), f"query {number}: not of ToolBench's form") from None


def _own(document: Json) -> Query:
    return Query(str(document["utterance"]), _calls(document["calls"]))


def _calls(listed: Sequence[Json]) -> tuple[Call, ...]:
    calls = []
    for one in listed:
        api, name = one
        calls.append((str(api), str(name)))
    return tuple(calls)
