"""Cases: the evidence beside a rule. Reading them, and comparing what was claimed with what was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from corrigible.rules.errors import AuthoringError, Place, gather
from corrigible.rules.language.file_model import checked
from corrigible.rules.language.rule_model import CaseText
from corrigible.rules.language.yaml_source import Source, read_source
from corrigible.schema.exchange import Exchange, Json, Protocol, Request, protocol_of


@dataclass(frozen=True, slots=True)
class Case:
    rule: str
    """The last part of the rule's id, from the file's name."""
    text: CaseText
    exchange: Exchange
    place: Place


def case_file(rule_file: Path) -> Path:
    return rule_file.with_suffix("").with_suffix(".cases.yaml")


def load_cases(rule_file: Path) -> tuple[Case, ...]:
    """Read the cases beside a rule; none where the file is missing. Raises AuthoringError with lines."""
    path = case_file(rule_file)
    if not path.exists():
        return ()
    source = read_source(path)
    if not isinstance(source.data, list):
        raise AuthoringError(Place(path), "expected a list of cases")
    cases: list[Case] = []
    errors: list[AuthoringError] = []
    for index, data in enumerate(source.data):
        try:
            text = checked(CaseText, source, data, (index,))
            cases.append(Case(rule_file.stem, text, _exchange(source, text, index), source.place((index,))))
        except AuthoringError as error:
            errors.append(error)
    if (found := gather(errors)) is not None:
        raise found
    return tuple(cases)


def _exchange(source: Source, text: CaseText, index: int) -> Exchange:
    response, body = text.response, None
    if response.body_file is not None:
        try:
            body = (source.path.parent / response.body_file).read_bytes()
        except OSError as problem:
            message = f"{response.body_file} cannot be read: {problem.strerror}"
            raise source.error((index, "response", "body_file"), message) from None
    return exchange_of(text, body, f"case-{index}")


def exchange_of(text: CaseText, body: bytes | None, name: str) -> Exchange:
    """Return the exchange of a case; `body` is that of the answer where it is in a file of its own."""
    asked, response = text.request, text.response
    headers = {"content-type": "application/json", **{k.lower(): v for k, v in response.headers.items()}}
    request = Request(
        asked.method if protocol_of(asked.method) is Protocol.GRPC else asked.method.upper(),  # a gRPC method is a name
        asked.path,
        asked.query,
        {k.lower(): v for k, v in asked.headers.items()},
        asked.body,
        asked.form,
    )
    content = orjson.dumps(response.body) if body is None else body
    return Exchange(request, response.status, headers, content, name, text.started, text.elapsed)


def differences(claimed: Any, actual: Json, path: str = "") -> Iterator[str]:
    """Yield what differs. Of maps the claimed members count, lists are compared element by element."""
    if isinstance(claimed, Mapping):
        if not isinstance(actual, Mapping):
            yield f"{path or '/'}: expected a map, got {actual!r}"
            return
        for name, inner in claimed.items():
            if name in actual:
                yield from differences(inner, actual[name], f"{path}/{name}")
            elif inner is not None:
                yield f"{path}/{name}: absent, expected {inner!r}"
    elif isinstance(claimed, list):
        if not isinstance(actual, list) or len(claimed) != len(actual):
            yield f"{path}: expected {len(claimed)} elements, got {actual!r}"
            return
        for index, (claimed_item, other) in enumerate(zip(claimed, actual, strict=True)):
            yield from differences(claimed_item, other, f"{path}/{index}")
    elif claimed != actual or isinstance(claimed, bool) != isinstance(actual, bool):
        yield f"{path}: expected {claimed!r}, got {actual!r}"
