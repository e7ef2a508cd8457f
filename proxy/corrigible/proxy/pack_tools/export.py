"""Exports a pack as data, for tools that check packs: the pack, each rule, and each case with its answers in all modes.

Yields one document for the pack, one for each rule, and one for each case. Does not know: who reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from corrigible.proxy.build import profile_of
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.embed.member import EmbeddedBody, blank, embed_feedback
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.language.rule import Rule
from corrigible.rules.language.yaml_source import read_source
from corrigible.rules.pack.cases import Case, load_cases
from corrigible.rules.pack.load import load_pack, rule_files
from corrigible.schema.document import leaves
from corrigible.schema.exchange import Json, Protocol

from .lint import answer_lookup

Scalar = str | int | float

_LITERAL = re.compile(r"(?P<before>[^'\"]*)(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
# A text that an expression compares, searches or looks up with is not put into a request.
_ASKS = re.compile(
    r"(?:[=!]=|\b(?:matches|contains|startsWith|endsWith|split|join|indexOf|lastIndexOf|replace)\s*\(|\[|\bin"
    r"|\b(?:at|names|find|includes)\s*\([^()]*,)\s*r?$"
)
_ANSWERED = re.compile(r"^\s*(?:[=!]=|\])|^\s*in\b")
_KEY = re.compile(r"[{,]\s*$")
"""What stands before a key of a map: after `?` it is a value."""
_PIECE = re.compile(r"^/|/$|[\[\]^$*\\]")
"""A part of a pointer, a path or a pattern is not a value."""
_WITHOUT_VALUES = frozenset({"ESCALATE", "NO_RECOVERY_AVAILABLE"})
"""Their parameters name what is missing and are not put into a request."""


def render(name_or_path: str | Path) -> Iterator[dict[str, Json]]:
    """Yield the documents of a pack. Raises AuthoringError if the pack or a case file is malformed."""
    pack = load_pack(name_or_path)
    profile = profile_of(pack)
    rules = {rule.id.partition(".")[2]: rule for rule in pack.rules}
    adapters = files("corrigible.adapters")
    places = [Path(str(adapters.joinpath(group, pack.name, "tasks.yaml"))) for group in ("apis", "demo")]
    tasks = next(filter(Path.is_file, places), None)
    yield {
        "kind": "pack",
        "pack": pack.name,
        "version": pack.text.version,
        "path": str(pack.path),
        "redact": list(pack.text.redact),
        "tasks": str(tasks) if tasks else None,
        "tables": dict(pack.tables),
        "paraphrases": {value: list(phrases) for value, phrases in pack.text.paraphrases.items()},
    }
    engine = Engine([profile])
    for file in rule_files(pack.path):
        rule = rules[file.stem]
        yield _rule(rule, file, pack.text.functions)
        for case in load_cases(file):
            yield _case(profile, engine, rule, case)


def _rule(rule: Rule, file: Path, functions: Mapping[str, str]) -> dict[str, Json]:
    own, lets = literals(read_source(file).data, functions)
    return {
        "kind": "rule",
        "rule": rule.id,
        "file": str(file),
        "status": rule.status,
        "title": rule.title,
        "diagnosis": rule.diagnosis,
        "code": rule.verbose_code,
        "patterns": [] if rule.match.message is None else [rule.match.message.text],
        "tables": None if rule.tables is None else sorted(rule.tables),
        "literals": own,
        "lets": lets,
    }


def literals(
    rule: Mapping[str, Any], functions: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the values that a rule puts into requests, and those of the `let`s and functions it uses for them.

    `functions` are those of the pack, expressions by signature.
    """
    values = list(_request_parts(rule.get("suggest")))
    expressions: dict[str, Any] = {text.partition("(")[0].strip(): expression for text, expression in functions.items()}
    expressions |= rule.get("let") or {}
    own = dict.fromkeys(value for part in values for value in _values(part))
    lets = dict.fromkeys(value for part in _used(expressions, values) for value in _values(part))
    return list(own), [value for value in lets if value not in own]


def _used(lets: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
    """Return the `let`s that the values use, directly or through other `let`s."""
    used: dict[str, Any] = {}
    waiting = [orjson.dumps(value).decode() for value in values]
    while waiting:
        text = waiting.pop()
        for name, value in lets.items():
            if name not in used and re.search(rf"\b{re.escape(name)}\b", text):
                used[name] = value
                waiting.append(orjson.dumps(value).decode())
    return list(used.values())


def _request_parts(suggest: Any) -> Iterator[Any]:
    """Yield the parts of a rule's suggestions that go into requests."""
    waiting = list(suggest or ())
    while waiting:
        entry = waiting.pop(0)
        if not isinstance(entry, dict):
            continue
        for group in ("all", "one_of"):
            inner = entry.get(group)
            waiting += inner if isinstance(inner, list) else [inner.get("suggest")] if isinstance(inner, dict) else []
        if entry.get("action") in _WITHOUT_VALUES:
            continue
        patch = entry.get("patch")
        if isinstance(patch, list):
            patch = [edit.get("value") for edit in patch if isinstance(edit, dict) and edit.get("op") != "test"]
        yield from (part for part in (entry.get("parameters"), entry.get("set"), patch, entry.get("steps")) if part)


def _values(value: Any) -> Iterator[Scalar]:
    for _, inner in leaves(value):
        if isinstance(inner, str):
            yield from _quoted(inner)
        elif isinstance(inner, int | float) and not isinstance(inner, bool):
            yield inner


def _quoted(expression: str) -> Iterator[str]:
    for match in _LITERAL.finditer(expression):
        raw = match["quoted"][1:-1]
        is_question = _ASKS.search(expression[: match.start("quoted")]) or _ANSWERED.match(expression[match.end() :])
        is_key = _KEY.search(expression[: match.start("quoted")]) and expression[match.end() :].lstrip().startswith(":")
        if raw and not is_question and not is_key and not _PIECE.search(raw):
            yield raw


def _case(profile: ApiProfile, engine: Engine, rule: Rule, case: Case) -> dict[str, Json]:
    exchange = case.exchange
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: answer_lookup(case.text.lookups, lookup))
    rpc = exchange.request.protocol is Protocol.GRPC
    return {
        "kind": "case",
        "rule": rule.id,
        "case": case.text.name,
        "place": str(case.place),
        "origin": case.text.origin,
        "silent": case.text.no_match,
        "spoke": list(decision.rules) if isinstance(decision, Annotate) else [],
        "transport": "grpc" if rpc else "http",
        "request": exchange.request.document(),
        "lookups": {name: result for name, result in case.text.lookups.items() if result is not None},
        "status": exchange.status,
        "diagnoses": [dict(diagnosis) for diagnosis in decision.diagnoses] if isinstance(decision, Annotate) else [],
        "feedback": orjson.loads(decision.encoded) if isinstance(decision, Annotate) else None,
        "answers": {mode.value: _answer(decision, mode, case, rpc=rpc) for mode in Mode},
    }


def _answer(decision: Decision, mode: Mode, case: Case, *, rpc: bool) -> dict[str, Json]:
    """Return headers and body in a mode, as the front ends do. Over gRPC only `reflective` adds anything."""
    native = case.exchange.body
    headers = [[name, value] for name, value in case.text.response.headers.items()]
    embedded: EmbeddedBody | None = None
    if mode is Mode.TRADITIONAL and not rpc and decision.pack is not None:
        embedded = EmbeddedBody(blank(native.decode(), decision.pack.text.redact).encode())
    elif isinstance(decision, Annotate) and (mode is Mode.REFLECTIVE or (mode is Mode.VERBOSE and not rpc)):
        embedded = embed_feedback(native, decision, mode)
    body, more = (native, ()) if embedded is None else (embedded.body, embedded.headers)
    return {"headers": [*headers, *([name, value] for name, value in more)], "body": body.decode("utf-8", "replace")}
