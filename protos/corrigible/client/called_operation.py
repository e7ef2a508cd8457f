"""What a request does beside its method and path: a correction that changes it is another call, and is asked about.

Knows: operations that stand in headers, queries and bodies (JSON-RPC, MCP, GraphQL, `Action=`, batches), flags of dry
runs, conditions. Does not know: policies, credentials.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from corrigible.schema.credential_name import alike, plain
from corrigible.schema.document import parameter_segments, scalar_text, to_pointer
from corrigible.schema.exchange import Json, Request

Place = tuple[str, ...]
"""`("body", "params", "name")`: names and indexes that lead to a value."""

_LONGEST_WORD: Final = 40
_FORMAL: Final = re.compile(r"content-(type|language)|accept(-[a-z]+)*|prefer|idempotency-key|(.*[-_.])?(api)?version")
"""Headers that say in which form and version something is asked for: these alone are edited unasked."""
_ACTIONS: Final = frozenset(
    {"action", "cmd", "command", "do", "function", "op", "operation", "operationid", "operationname", "procedure"}
)
"""Names of parameters and of members of a body that say what is done."""
_METHODS: Final = frozenset({"method", "httpmethod", "requestmethod"})
_ADDRESSES: Final = frozenset({"endpoint", "href", "path", "relativeurl", "resource", "target", "to", "uri", "url"})
"""Members beside an inner method: `{"method": "GET", "url": "/users/7"}`."""
_HTTP: Final = frozenset({"get", "head", "options", "post", "put", "patch", "delete", "query", "search"})
_BATCHES: Final = re.compile(r"\w*(actions|batch|calls|commands|mutations|operations|ops|requests|transactitems)")
"""Names of lists of calls: an element says what is done by a member, or by its only member (`{"delete": {...}}`)."""
_VERBS: Final = re.compile(
    r"add|copy|create|delete|get|index|insert|merge|move|patch|put|remove|replace|set|unset|update|upsert|\w*(check|request)"
)
_TARGETS: Final = frozenset({"action", "command", "method", "name", "operation", "tool", "uri"})
"""Members of `params` that say what a method calls: `tools/call`, `workspace/executeCommand`."""
_QUERIES: Final = frozenset({"query", "mutation", "sql", "statement", "stmt", "cypher", "gremlin", "script"})
_STATEMENT: Final = re.compile(
    r"(?i)\s*(alter|call|create|delete|drop|exec|grant|insert|match|merge|select|truncate|update|with)\b"
)
_TRIALS: Final = re.compile(
    r"(is|x)?((dry|mock|test|trial)run|noop|whatif|simulat(e|ed|ion)|preview|testmode|sandbox|validat(e|ion))(only|mode)?"
    r"|(is|x)?(check|plan|test|verify)only|(just|only)(check|preview|simulate|test|validate|verify)"
)
"""Names of flags under which a request only tells what it would do."""
_REAL: Final = frozenset({"commit", "execute", "force", "live", "livemode", "production"})
"""Names of flags without which a request only tells what it would do."""
_OFF: Final = frozenset({"", "0", "[]", "false", "n", "no", "none", "null", "off", "{}"})
_TRIAL_OF_PREFER: Final = re.compile(r"(?i)tx=rollback|dry-?run|(validate|test)-?only|return=preview")
_CONDITION: Final = re.compile(
    r"if([-_A-Z].*|(none)?match|(un)?modifiedsince|generationmatch|metageneration\w*)|preconditions?|etag"
)
"""Names of parameters and members under which a request is refused if something has changed in between."""


def another_operation(before: Request, after: Request, given: Mapping[Place, Json]) -> str:
    """Return what another call it is, though by the same method and path; empty if it is none.

    What the caller itself gave is no other call.
    """
    for name in sorted({*before.headers, *after.headers}):
        value = after.headers.get(name)
        if before.headers.get(name) == value or (("headers", name) in given and value is not None):
            continue
        if _FORMAL.fullmatch(name) is None:
            return f"with another header {name}"
        if name == "prefer" and _trials_of_prefer(before.headers) - _trials_of_prefer(after.headers):
            return "without the trial that the header prefer asks for"
    if before.query == after.query and before.body == after.body:
        return ""
    if isinstance(before.body, str) and not isinstance(after.body, str | None) and _says_same(before.body, after.body):
        before = replace(before, body=after.body)  # the signs between the words of JSON are mended, and nothing else
    old, new = dict(_operations(before)), dict(_operations(after))
    for at in (*old, *new):
        if old.get(at) != new.get(at) and at not in given:
            return f"as {to_pointer(at)} says what is done"
    kept, safeguards = dict(_safeguards(before)), dict(_safeguards(after))
    for at in (*kept, *safeguards):
        is_added = at not in kept and safeguards[at] != _FOR_REAL
        if kept.get(at) != safeguards.get(at) and not is_added and at not in given:
            return f"without the safeguard {to_pointer(at)}"
    return ""


_FOR_REAL: Final = "for real"


def another_step(step: Request) -> str:
    """Return what a request that comes first does more than its method says; empty if it only reads."""
    for name in step.headers:
        if _FORMAL.fullmatch(name) is None:
            return f"has the header {name}"
    at = next((at for at, _ in _operations(step)), ())
    return f"says in {to_pointer(at)} what is done" if at else ""


def _trials_of_prefer(headers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(match[0].lower() for match in _TRIAL_OF_PREFER.finditer(headers.get("prefer", "")))


def _operations(request: Request) -> Iterator[tuple[Place, str]]:
    """Yield the places that say what is done."""
    for name, value in request.query.items():
        last = alike(parameter_segments(plain(name))[-1])
        if last in _ACTIONS or last in _METHODS:
            yield ("query", name), _word(value)
        elif last in _QUERIES and _is_statement(value):
            yield ("query", name), _text(value)
    if isinstance(request.body, str):  # XML, SQL, lines of JSON: what they do is not read here
        yield ("body",), request.body
    waiting: list[tuple[Place, Json]] = [(("body",), request.body)]
    while waiting:
        at, value = waiting.pop()
        if isinstance(value, Mapping):
            yield from _in_object(at, value)
            waiting += [((*at, str(name)), inner) for name, inner in value.items() if isinstance(inner, Mapping | list)]
        elif isinstance(value, list):
            inside = enumerate(value)
            waiting += [((*at, str(index)), inner) for index, inner in inside if isinstance(inner, Mapping | list)]


def _in_object(at: Place, value: Mapping[str, Json]) -> Iterator[tuple[Place, str]]:
    names = {alike(str(name)): str(name) for name in value}
    method = next((names[one] for one in _METHODS if one in names), "")
    verb = value.get(method)
    is_call = "jsonrpc" in names or ("params" in names and isinstance(verb, str))
    is_inner = isinstance(verb, str) and verb.strip().lower() in _HTTP
    is_part = at[-1].isdecimal() and (len(at) == 2 or _BATCHES.fullmatch(alike(at[-2])) is not None)
    is_whole = at == ("body",) or is_part
    has_verb = any(_VERBS.fullmatch(one) for one in names)
    if is_part and has_verb and all(isinstance(inner, Mapping) for inner in value.values()):
        yield at, " ".join(sorted(value))
    addresses = _ADDRESSES & names.keys()
    words = {"operationname", *(_ACTIONS if is_whole else ())}
    words |= _METHODS if is_call or (is_inner and addresses) else set()
    words |= {"op"} if addresses else set()  # JSON Patch, in whatever place
    for low, name in names.items():
        inner = value[name]
        if low in words:
            yield (*at, name), _word(inner)
        elif (low in addresses and is_inner) or (low in _QUERIES and _is_statement(inner)):
            yield (*at, name), _done_by(_text(inner)) if low == "query" else _text(inner)
        elif low == "params" and is_call and isinstance(inner, Mapping) and "/" in _text(verb):
            yield from (((*at, name, str(one)), _text(inner[one])) for one in inner if alike(str(one)) in _TARGETS)


def _is_statement(value: Json) -> bool:
    """Whether a text is GraphQL or a statement of a database, and no words that are looked for."""
    return isinstance(value, str) and ("{" in value or _STATEMENT.match(value) is not None)


_GRAPHQL: Final = re.compile(r"(?:\s|#.*)*(?:(?:query|mutation|subscription|fragment)\b[^{]*)?\{(?:\s|#.*)*[\w.]")
_OF_GRAPHQL: Final = re.compile(r'"""(?:[^"]|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|#.*|\.\.\.|[^\s,\w"]|\w+')
_LONGEST_DOCUMENT: Final = 100_000


def _done_by(text: str) -> str:
    """Return what a document of GraphQL does: of reading that it reads, of all else the calls with their values.

    Which fields of the answer are wanted, and how values are quoted, is left out. Any other text is returned as it is.
    """
    if len(text) > _LONGEST_DOCUMENT or _GRAPHQL.match(text) is None:
        return text
    calls, kinds = list[str](), list[str]()
    depth = inside = 0
    is_open = False
    for token in _OF_GRAPHQL.findall(text):
        if token.startswith("#"):
            continue
        inside += (token == "(") - (token == ")")
        if inside == 0 and token == "}":
            depth, is_open = depth - 1, depth > 1
        if depth == 0 and inside == 0 and not is_open and token not in ")}":
            kinds.append("query" if token == "{" else token)
            is_open = True
        if depth == 1 or (depth > 1 and inside):
            calls.append(token.strip('"'))
        if inside == 0 and token == "{":
            depth += 1
    return "query" if {*kinds} <= {"query", "fragment"} else " ".join([*kinds, *calls])


def _safeguards(request: Request) -> Iterator[tuple[Place, str]]:
    """Yield what decides whether it is done: flags that are on, words (`"mode": "dry-run"`), conditions."""
    waiting: list[tuple[Place, Json]] = [(("query",), dict(request.query)), (("body",), request.body)]
    while waiting:
        at, value = waiting.pop()
        inside: list[tuple[str, Json]] = []
        if isinstance(value, Mapping):
            inside = [(str(name), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            inside = [(str(index), inner) for index, inner in enumerate(value)]
        for name, inner in inside:
            last = plain(parameter_segments(name)[-1])
            is_on = _word(inner) not in _OFF
            if _TRIALS.fullmatch(alike(last)):
                if is_on:
                    yield (*at, name), "on"
            elif isinstance(inner, str) and len(inner) < _LONGEST_WORD and _TRIALS.fullmatch(alike(inner)):
                yield (*at, name), alike(inner)
            elif alike(last) in _REAL and is_on:
                yield (*at, name), _FOR_REAL
            elif _CONDITION.fullmatch(last):
                yield (*at, name), _text(inner)
            elif isinstance(inner, Mapping | list):
                waiting.append(((*at, name), inner))


def _says_same(text: str, value: Json) -> bool:
    """Whether a text that was not read has the words and numbers of a value, in their order."""
    return _SAID.findall(text.casefold()) == _SAID.findall(json.dumps(value, ensure_ascii=False).casefold())


_SAID: Final = re.compile(r"[\w.+-]+")


def _text(value: Json) -> str:
    return repr(value) if isinstance(value, Mapping | list) else scalar_text(value)


def _word(value: Json) -> str:
    return _text(value).strip().casefold()
