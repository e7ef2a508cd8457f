"""The operations of an API's description as tools.

Knows: OpenAPI 3 documents, JSON Schema. Does not know: calls, agents' frameworks.

A correction in the words of a tool: its arguments, and calls of other tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final
from urllib.parse import unquote

from corrigible.schema.document import MISSING, is_credential_name, is_index, pointer_parts, value_at
from corrigible.schema.edit import NotApplicable, after_suggestion
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Placeholder, StepRequest, Suggestion
from corrigible.schema.printable import printable, without_unseen
from corrigible.schema.word import Ask, PatchVerb

from .correction import SentAgain
from .decision import MOST_STEPS
from .explanation import Place, call_line, changes, literal, name_line, question, request_line
from .native_message import named_lists, offered
from .policy import IN_BRACES, PathTemplates, path_values
from .sent_request import KEY
from .tool import BODY, FORM, Parameter, Tool

_METHODS: Final = ("get", "put", "post", "delete", "patch")
_OWN_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})
"""OpenAPI 3, section 4.8.12.1: parameters of these names are ignored."""
_LEFT_OUT: Final = frozenset({"example", "examples", "externalDocs", "xml", "discriminator"})
"""Members of schemas that say nothing about what is allowed."""
_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Members of schemas whose own members are schemas under names of the API."""
_DATA: Final = frozenset({"const", "default", "pattern"})
"""Members of schemas that hold no schema, and are left out where a model cannot read or write them."""
_EXTENSION: Final = "x-"
"""How members of the description's own begin: they say nothing about what is allowed."""
_LONGEST_NAME: Final = 64
_LONGEST_ARGUMENT: Final = 200
_LONGEST_VALUE: Final = 1000
_LONGEST_ENUM: Final = 20_000
"""Characters of an enumeration: a longer one is left out, so that any value is."""
_MOST_PROPERTIES: Final = 1000
_LONGEST_WANTED: Final = 1000
_DIGITS: Final = 4
"""Characters that `_123` takes at the end of a name."""
_MOST_PARAMETERS: Final = 256
_MOST_DEFINITIONS: Final = 2000
"""Of one tool: what is referred to beyond that is anything."""
_MOST_OF_ALL: Final = 100_000
"""Definitions of all tools together, after which a tool has only a few: each tool repeats what it refers to."""
_FEW: Final = 20
_LONGEST_DESCRIPTION: Final = 1000
_DEEPEST: Final = 64
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_KEY_OF_QUERY: Final = re.compile(r"(?i)(?:api|access)[_-]?(?:key|token)")


def credential_names(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of headers, parameters and cookies that are credentials by the description, in lower case."""
    schemes = _mapping(_mapping(document.get("components")).get("securitySchemes"))
    resolved = (_resolved(document, one) for one in schemes.values())
    return frozenset(str(one.get("name")).lower() for one in resolved if one.get("type") == "apiKey")


def tools_of(document: Mapping[str, Any]) -> Iterator[Tool]:
    """Yield a tool for each operation of an OpenAPI 3 document, but for those with other bodies than JSON or forms.

    Credentials are no arguments: the caller sends them, and no model sees them. What several operations refer to is
    copied once, so that the work grows with the description.
    """
    tools = _Tools(document)
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, Mapping) else ():
        if not str(path).startswith("/"):  # behind an address, `@other.example` or `9` would be another host
            continue
        item = _resolved(document, item)
        for method in _METHODS:
            operation = item.get(method)
            if not isinstance(operation, Mapping):
                continue
            tool = tools.tool(method, str(path), operation, _listed(item))
            if tool is not None:
                yield tool


class _Tools:
    """The tools of one description."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document, self._credentials = document, credential_names(document)
        self._names, self._schemas = _Names(), _Schemas(document)
        self._definitions: dict[tuple[int, int], Mapping[str, Any]] = {}
        self._lists: dict[tuple[int, int, tuple[str, ...]], tuple[Parameter, ...]] = {}
        """By the lists of the description, and the names in the path."""
        self._parameters: dict[tuple[int, str], Parameter] = {}
        """By the parameter of the description, which stays where it is, and the name of the argument."""

    def tool(self, method: str, path: str, operation: Mapping[str, Any], shared: Sequence[Any]) -> Tool | None:
        body = _resolved(self._document, operation.get("requestBody") or {})
        content = _mapping(body.get("content"))
        media = _media_type(content)
        if content and media is None:
            return None
        parameters = self._arguments(path, shared, _listed(operation))
        schema = self._schemas.copy(_mapping(content[media]).get("schema") or {}) if media is not None else None
        text = str(operation.get("description") or operation.get("summary") or f"{method.upper()} {path}")
        key = (id(parameters), id(schema))  # both are kept, and shared by operations
        if key not in self._definitions:
            schemas = [one.schema for one in parameters] + ([schema] if schema is not None else [])
            self._definitions[key] = self._schemas.definitions(schemas)
        return Tool(
            name=self._names.unique(str(operation.get("operationId") or f"{method}{path}")),
            description=_text(text),
            method=method.upper(),
            path=path,
            parameters=parameters,
            body=schema,
            is_body_required=bool(body.get("required")),
            media_type=(media or "").partition(";")[0].strip(),
            definitions=self._definitions[key],
        )

    def _arguments(self, path: str, shared: Sequence[Any], own: Sequence[Any]) -> tuple[Parameter, ...]:
        """Return the parameters; those of the operation replace those of the path with the same name and place."""
        names = tuple(IN_BRACES.findall(path))
        key = (id(shared), id(own), names)
        if key not in self._lists:
            self._lists[key] = tuple(self._listed(names, [*shared, *own]))
        return self._lists[key]

    def _listed(self, names: Sequence[str], listed: Sequence[Any]) -> Iterator[Parameter]:
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for one in listed[:_MOST_PARAMETERS]:
            parameter = _resolved(self._document, one)
            name, place = str(parameter.get("name")), str(parameter.get("in"))
            if _is_credential(name, place, self._credentials):
                continue
            if place in ("path", "query", "header") and not (place == "header" and name.lower() in _OWN_HEADERS):
                found[name, place] = parameter
        for name in names:
            found.setdefault((name, "path"), _PLAIN)
        arguments = {BODY}
        for (name, place), parameter in found.items():
            argument = " ".join(without_unseen(" ".join(name.split())).split())[:_LONGEST_ARGUMENT] or place
            number = 1
            while argument in arguments:
                argument = f"{place}_{name}" if number == 1 and _is_readable(name) else f"{place}_{number}"
                number += 1
            arguments.add(argument)
            key = (id(parameter), argument) if parameter is not _PLAIN else (0, argument)
            if key not in self._parameters:
                self._parameters[key] = self._parameter(name, place, argument, parameter)
            yield self._parameters[key]

    def _parameter(self, name: str, place: str, argument: str, parameter: Mapping[str, Any]) -> Parameter:
        schema = parameter.get("schema")
        if schema is None:  # OpenAPI 3, section 4.8.12.2: JSON as text
            schema = {"type": "string"}
        style = parameter.get("style", "form")
        return Parameter(
            name=name,
            place=place,
            argument=argument,
            schema=self._schemas.copy(schema, str(parameter.get("description") or "")),
            is_required=place == "path" or bool(parameter.get("required")),
            is_exploded=bool(parameter.get("explode", style == "form")),
            is_deep=style == "deepObject",
        )


_PLAIN: Final[Mapping[str, Any]] = {"schema": {"type": "string"}}


def _listed(holder: Mapping[str, Any]) -> Sequence[Any]:
    listed = holder.get("parameters")
    return listed if isinstance(listed, list) else _NONE


_NONE: Final[Sequence[Any]] = ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class _Names:
    """Names that agents' frameworks accept, each of one tool or definition."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """The next number for a name; names without one are here, too."""

    def unique(self, wanted: str) -> str:
        name = _NO_NAME.sub("_", wanted[:_LONGEST_WANTED]).strip("_")[:_LONGEST_NAME] or "operation"
        if name not in self._numbers:
            self._numbers[name] = 2
            return name
        start = name[: _LONGEST_NAME - _DIGITS]
        number = self._numbers[start] = max(self._numbers.get(start, 2), self._numbers[name])
        while (numbered := f"{start}_{number}") in self._numbers:
            number += 1
        self._numbers[start] = self._numbers[name] = number + 1
        self._numbers[numbered] = 2
        return numbered


def _media_type(content: Mapping[str, Any]) -> str | None:
    """Return the first media type that arguments can be written as: JSON, else a form."""
    plain = {name: name.partition(";")[0].strip().lower() for name in content}
    as_json = (name for name, media in plain.items() if media == "application/json" or media.endswith("+json"))
    as_form = (name for name, media in plain.items() if media == FORM)
    return next(as_json, None) or next(as_form, None)


def _is_credential(name: str, place: str, credentials: frozenset[str]) -> bool:
    if place not in ("header", "query"):
        return False
    is_usual = is_credential_name(name) if place == "header" else _KEY_OF_QUERY.fullmatch(name) is not None
    return name.lower() in credentials or is_usual


class _Schemas:
    """The schemas of a description with references to `$defs` of a tool, each copied once."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._names, self._name_of = _Names(), dict[str, str]()
        self._reference_of: dict[str, str] = {}
        self._copies: dict[int, dict[str, Any]] = {}
        """By the schema of the description, which stays where it is."""
        self._kept: list[Any] = []
        self._used: dict[int, list[str]] = {}
        """The names that a copy refers to."""
        self._definitions: dict[str, dict[str, Any]] = {}
        self._found: dict[tuple[str, ...], dict[str, Any]] = {}
        """The definitions of a tool, by the names that it refers to itself."""
        self._count = 0

    def copy(self, schema: Any, description: str = "") -> dict[str, Any]:
        """Return the copy of a schema, with a description where it has none of its own."""
        copy = self._copy(schema)
        if not description or "description" in copy:
            return copy
        described = {**copy, "description": _text(description)}
        self._kept.append(described)
        self._used[id(described)] = self._used[id(copy)]
        return described

    def _copy(self, schema: Any) -> dict[str, Any]:
        if id(schema) not in self._copies:
            used = dict[str, None]()
            copied = self._copied(schema, used, 0)
            copy = copied if isinstance(copied, dict) else {}
            self._kept.append(schema)
            self._copies[id(schema)], self._used[id(copy)] = copy, list(used)
        return self._copies[id(schema)]

    def definitions(self, schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return what the references of schemas lead to, by name, and what is referred to there, in turn."""
        waiting = list(dict.fromkeys(name for one in schemas for name in self._used.get(id(one), ())))
        key = tuple(waiting)
        if key in self._found:
            return self._found[key]
        most = _MOST_DEFINITIONS if self._count < _MOST_OF_ALL else _FEW
        found: dict[str, Any] = {}
        while waiting and len(found) < most:
            following = list[str]()
            for name in waiting:
                if name in found or len(found) >= most:
                    continue
                if name not in self._definitions:
                    self._definitions[name] = self.copy(_at(self._document, self._reference_of[name]))
                found[name] = self._definitions[name]
                following += self._used[id(found[name])]
            waiting = following
        self._count += len(found)
        self._found[key] = found | {name: {} for name in waiting if name not in found}
        return self._found[key]

    def _copied(self, node: Any, used: dict[str, None], depth: int) -> Any:
        if depth > _DEEPEST:
            return {}
        if isinstance(node, list):
            return [self._copied(one, used, depth + 1) for one in node]
        if not isinstance(node, Mapping):
            return node
        reference = node.get("$ref")
        if isinstance(reference, str):
            if reference not in self._name_of:
                name = self._names.unique(unquote(reference.rpartition("/")[2]))
                self._name_of[reference], self._reference_of[name] = name, reference
            used[self._name_of[reference]] = None
            return {"$ref": f"#/$defs/{self._name_of[reference]}"}
        out = dict[str, Any]()
        for key, inner in node.items():
            if key in _LEFT_OUT or not _is_readable(str(key)) or str(key).startswith(_EXTENSION):
                continue
            if key in _DATA and not _is_readable_value(inner):
                continue
            if key == "enum" and (inner := _choices(inner)) is None:
                continue
            out[key] = self._member(key, inner, used, depth + 1)
        if isinstance(out.get("required"), list):
            left_out = {*_mapping(node.get("properties"))} - {*_mapping(out.get("properties"))}
            out["required"] = [one for one in out["required"] if one not in left_out]
            if not out["required"]:
                del out["required"]
        return out

    def _member(self, key: str, inner: Any, used: dict[str, None], depth: int) -> Any:
        """Copy a member of a schema: a property may have the name of a keyword, and a value may look like a schema."""
        if key in _DATA or key == "enum":
            return inner
        if key in ("required", "dependentRequired"):
            return _readable_names(inner)
        if key in _BY_NAME and isinstance(inner, Mapping):
            named = ((name, one) for name, one in inner.items() if _is_readable(str(name)))
            return {name: self._copied(one, used, depth + 1) for name, one in islice(named, _MOST_PROPERTIES)}
        return _text(inner) if isinstance(inner, str) else self._copied(inner, used, depth)


def _is_readable(name: str) -> bool:
    """Whether a model reads a name as it is, and can write it."""
    return len(name) <= _LONGEST_ARGUMENT and not {"\n", "\t"} & {*name} and without_unseen(name) == name


def _is_readable_value(value: Any) -> bool:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return False
    return len(text) <= _LONGEST_VALUE and without_unseen(text) == text


def _choices(listed: Any) -> list[Any] | None:
    """Return the values of an enumeration that a model can write; None if they are too many, or none."""
    values = [one for one in listed if _is_readable_value(one)] if isinstance(listed, list) else []
    return values if values and len(json.dumps(values, default=str)) <= _LONGEST_ENUM else None


def _readable_names(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _readable_names(inner) for name, inner in value.items() if _is_readable(str(name))}
    return [one for one in value if _is_readable(str(one))] if isinstance(value, list) else value


def _text(text: str) -> str:
    """Return a text of the description as one line that shows all its characters, and says where it is cut."""
    start = text[: 4 * _LONGEST_DESCRIPTION]
    plain = " ".join(without_unseen(" ".join(start.split())).split())
    if len(plain) <= _LONGEST_DESCRIPTION and len(start) == len(text):
        return plain
    return f"{plain[:_LONGEST_DESCRIPTION]}... (cut, {len(text)} characters)"


def _resolved(document: Mapping[str, Any], node: Any) -> Mapping[str, Any]:
    """Follow references until there is none; an empty object where they lead nowhere."""
    for _ in range(_DEEPEST):
        if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
            break
        node = _at(document, node["$ref"])
    return node if isinstance(node, Mapping) else {}


def _at(document: Mapping[str, Any], reference: str) -> Any:
    node: Any = document
    for part in pointer_parts(unquote(reference.removeprefix("#"))) or () if reference.startswith("#/") else ("",):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node


_POINTER: Final = re.compile(r"(?<![\w/])/(?:body|query|headers|path|method)\b[^\s,;:]*")
_NAME: Final = re.compile(r"\w[\w-]*")
_ANY: Final = "\0"
"""Stands in a path for the segment that is asked for."""
_SEGMENTS: Final[Mapping[str, str]] = {"[^/]+": "string", "-?[0-9]+": "integer"}
"""Patterns of a segment that is asked for, and the type of the argument."""
_IGNORED: Final = frozenset({"accept", "content-type", "content-length", KEY})
"""Headers that no call has to have: those of the body come with it, and each call has a key of its own, if any."""
_MOST_CALLS: Final = 5
_MOST_VALUES: Final = 50
"""Of an enumeration that is looked at to find calls."""
_MOST_LOOKUPS: Final = 200
"""Paths of one answer for which calls are looked for, besides those of steps and of the corrected request."""
_MOST_OFFERS: Final = 50
"""Values that are asked for, and looked for in the answer."""
_LONGEST_PATH: Final = 8192


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Json]

    def __str__(self) -> str:
        return f"{self.name} with {printable(json.dumps(self.arguments, ensure_ascii=False))}"


class ToolsByPath:
    """Tools, found by method and path without a look at all others."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, list[Tool]] = {}
        for tool in tools:
            self._tools.setdefault(tool.path, []).append(tool)
        self._templates = PathTemplates(self._tools)

    def at(self, method: str, path: str) -> list[Tool]:
        """Return the tools that may make a request."""
        return [tool for one in self._templates.fitting(path) for tool in self._tools[one] if tool.method == method]


@dataclass(frozen=True, slots=True)
class Called:
    """A call that was made, and what it may become: `tools` are all that the model has."""

    tool: Tool
    arguments: Mapping[str, Json]
    sent: Request
    """The first request document of the call."""
    tools: ToolsByPath
    base: str = ""
    """The path before those of the tools."""
    own: frozenset[str] = frozenset()
    """Parameters of the query that are no arguments."""
    offers: Callable[[Request], bool] = lambda _: True
    """Whether a request is one of a tool: a path may fit a tool's, and be that of another operation."""

    def call_of(self, request: Request, *, is_new: bool = False) -> ToolCall | None:
        """Return the call that makes a request, of this tool or another one; None if no tool makes it.

        A new request has only the headers that matter; a corrected one has those that were sent, too.
        """
        if len(request.path) > _LONGEST_PATH:
            return None
        after, before = self._below(request), self._below(self.sent) or self.sent
        is_other = (request.method, request.path) != (self.sent.method, self.sent.path)
        if after is None or (is_other and not self.offers(request)):
            return None
        for candidate in (self.tool, *self.tools.at(after.method, after.path)):
            original = self.arguments if candidate is self.tool else {}
            found = candidate.arguments(after, before, original)
            if found is not None and not self._other_headers(candidate, request, is_new):
                return ToolCall(candidate.name, found)
        return None

    def path_below(self, path: str) -> str | None:
        """Return a path as the tools have it; None if it is another one."""
        return path[len(self.base) :] if path.startswith(f"{self.base}/") else None

    def _below(self, request: Request) -> Request | None:
        path = self.path_below(request.path)
        if path is None:
            return None
        query = {name: value for name, value in request.query.items() if name not in self.own}
        return replace(request, path=path, query=query)

    def _other_headers(self, tool: Tool, request: Request, is_new: bool) -> set[str]:
        """Return the headers that a request sets or removes, and that are no argument of the tool."""
        sent = {} if is_new else self.sent.headers
        changed = {name for name in {*sent, *request.headers} if sent.get(name) != request.headers.get(name)}
        ignored = _IGNORED if is_new or request.body is None else {KEY}
        return changed - {one.name.lower() for one in tool.parameters if one.place == "header"} - ignored


class ToolWords:
    """What a text calls the places of a request that a tool made. `request` is the one that was refused."""

    def __init__(self, called: Called, request: Request, answer: Json = None, questions: int = 0) -> None:
        """`answer` is the JSON of the refusal, which may list the values for one of the `questions`."""
        self._called, self._request, self._questions = called, request, questions
        self._lists = named_lists(answer)
        self._lookups, self._offers = _MOST_LOOKUPS, _MOST_OFFERS
        call = called.call_of(request)
        self._arguments = call.arguments if call is not None else dict(called.arguments)

    def place(self, pointer: str) -> str:
        match pointer_parts(pointer):
            case ("body", *rest):
                return _spelled((BODY, *_indexes(rest)))
            case ("query", name, *rest):
                return self._parameter(name, rest)
            case ("headers", name):
                found = (one.argument for one in self._called.tool.parameters if one.name.lower() == name.lower())
                return next(found, f"the header {name_line(name)}")
            case ("path",):
                found = (one.argument for one in self._called.tool.parameters if one.place == "path")
                return ", ".join(found) or "the tool"
            case ("method",):
                return "the tool"
        return name_line(pointer)

    def text(self, text: str) -> str:
        """Return a text in which places have the tool's names."""
        return _POINTER.sub(lambda match: self.place(match[0]), text)

    def edits(self, suggestion: Suggestion) -> Iterator[str]:
        if not suggestion.patch and (suggestion.waits or not suggestion.parameters):
            return
        try:
            after = after_suggestion(suggestion, self._request)
        except NotApplicable:
            yield from self._operations(suggestion)
            return
        yield from self._change(after)

    def steps(self, steps: Sequence[StepRequest]) -> Iterator[str]:
        yield from map(self._step, steps[:MOST_STEPS])
        if len(steps) > MOST_STEPS:
            yield f"and {len(steps) - MOST_STEPS} more requests before it, more than any client sends"

    def _step(self, step: StepRequest) -> str:
        request = Request(step.method, step.path, step.query, step.headers, step.body)
        call = self._called.call_of(request, is_new=True)
        return f"first call {call}" if call is not None else f"first, and not by a tool: {request_line(step)}"

    def question(self, placeholder: Placeholder) -> str:
        schema = placeholder.schema_ or {}
        if placeholder.pointer == "/path":
            return self._path_question(placeholder.ask, schema)
        if placeholder.pointer == "/method":
            methods = dict.fromkeys(_texts(schema.get("enum")))
            return _which(placeholder.ask, [name for one in methods for name in self._names(one)])
        parts = pointer_parts(placeholder.pointer) or ("",)
        member = next((part for part in reversed(parts) if not part.isdecimal()), "")
        refused = value_at(self._request.document(), parts)
        there = None if refused is MISSING else refused
        return self._asked(self.place(placeholder.pointer), member, placeholder.ask, schema, there)

    def _asked(self, place: str, member: str, ask: Ask | None, schema: Mapping[str, Any], refused: Json) -> str:
        """Ask for a value, with those that the answer itself offers."""
        self._offers -= 1
        lists = self._lists if self._offers >= 0 else []
        offer = offered(lists, member, schema, refused, is_only=self._questions == 1)
        if offer is None:
            return question(place, ask, schema)
        return f"{question(place, ask, {'enum': offer.values})} (offered by the API as {name_line(offer.name)})"

    def parameter(self, name: str, value: Json) -> str:
        if name == "path" and isinstance(value, str):
            path, _, query = value.partition("?")
            call = self._called.call_of(Request("GET", path), is_new=True) if not query else None
            if call is not None:
                return f"to read it, call {call}"
        return f"{name_line(name)}: {literal(value)}"

    def done(self, sent: SentAgain) -> str:
        """Return what was sent without the model, as one line."""
        before = self._called.call_of(sent.before)
        steps = (self._called.call_of(step, is_new=True) or request_line(step) for step in sent.steps)
        words = ToolWords(self._called, sent.before) if before is not None else self
        parts = [f"waited {sent.wait_seconds} s"] if sent.wait_seconds else []
        parts += [f"called {step}" if isinstance(step, ToolCall) else f"sent {step}" for step in steps]
        return "; ".join([*parts, *words._change(sent.after)]) or "the same call"

    def _change(self, after: Request) -> Iterator[str]:
        call = self._called.call_of(after)
        if call is None:
            yield f"no tool here makes the corrected request: {call_line(after)}"
        elif call.name != self._called.tool.name:
            yield f"call another tool: {call}"
        else:
            yield from changes(self._arguments, call.arguments, _spelled, moves=True)

    def _operations(self, suggestion: Suggestion) -> Iterator[str]:
        """Yield the edits of a correction that does not fit what was sent."""
        for operation in suggestion.patch:
            place = self.place(operation.path)
            if operation.op in (PatchVerb.MOVE, PatchVerb.COPY):
                yield f"{self.place(operation.from_ or '')}: {operation.op.value} to {place}"
            elif operation.op is not PatchVerb.TEST:
                value = "(removed)" if operation.op is PatchVerb.REMOVE else literal(operation.value)
                yield f"{place}: -> {value}"

    def _parameter(self, name: str, rest: Sequence[str]) -> str:
        for one in self._called.tool.parameters:
            if one.place == "query" and one.name == name:
                return _spelled((one.argument, *_indexes(rest)))
            if one.place == "query" and one.is_deep and name.startswith(f"{one.name}[") and name.endswith("]"):
                return _spelled((one.argument, name[len(one.name) + 1 : -1]))
            members = one.schema.get("properties") if one.place == "query" and one.is_exploded else None
            if isinstance(members, Mapping) and name in members:
                return _spelled((one.argument, name))
        return name_line(name)

    def _path_question(self, ask: Ask | None, schema: Mapping[str, Any]) -> str:
        """Ask for the argument that the path is made of, or for another call."""
        listed = schema.get("enum")
        offered = _texts(listed)
        if not offered:
            return self._segment_question(ask, schema)
        offered = offered[: self._lookups]
        more = " and more" if isinstance(listed, list) and len(listed) > len(offered) else ""
        self._lookups -= len(offered)
        calls = [call for path in offered if (call := self._called.call_of(replace(self._request, path=path)))]
        differing = {
            name for call in calls for name in call.arguments if call.arguments[name] != self._arguments.get(name)
        }
        if calls and {call.name for call in calls} == {self._called.tool.name} and len(differing) == 1:
            (argument,) = differing
            return question(argument, ask, {"enum": [call.arguments[argument] for call in calls]}) + more
        return _which(ask, [str(call) for call in calls])

    def _segment_question(self, ask: Ask | None, schema: Mapping[str, Any]) -> str:
        pattern = schema.get("pattern")
        pattern = pattern if isinstance(pattern, str) else ""
        for segment, kind in _SEGMENTS.items():
            path = re.sub(r"\\(.)", r"\1", pattern.removeprefix("^").removesuffix("$").replace(segment, _ANY))
            below = self._called.path_below(path)
            values = path_values(self._called.tool.path, below) if below is not None and _ANY in path else None
            wanted = [name for name, value in (values or {}).items() if _ANY in value]
            for one in self._called.tool.parameters:
                if wanted == [one.name] and one.place == "path":
                    plain = {name: value for name, value in one.schema.items() if name not in ("title", "description")}
                    refused = self._arguments.get(one.argument)
                    return self._asked(one.argument, one.name, ask, {"type": kind, **plain}, refused)
        if pattern == "^/":
            return _which(ask, [])
        return question(self.place("/path"), ask, None)

    def _names(self, method: str) -> list[str]:
        """Return the tools of another method at the same place."""
        path = self._called.path_below(self._request.path)
        return [tool.name for tool in self._called.tools.at(method, path)] if path is not None else []


def _texts(listed: Any) -> list[str]:
    """Return the texts of an enumeration, as many as are looked at."""
    return [one for one in listed[:_MOST_VALUES] if isinstance(one, str)] if isinstance(listed, list) else []


def _which(ask: Ask | None, calls: Sequence[str]) -> str:
    who = "ask the user which one" if ask is Ask.USER else "choose one"
    shown = "; or ".join(calls[:_MOST_CALLS])
    return f"another call: {who}{f': {shown}' if shown else ' of the other tools does what was meant'}"


def _indexes(parts: Sequence[str]) -> Iterator[str | int]:
    for part in parts:
        yield int(part) if is_index(part) else part


def _spelled(place: Place) -> str:
    """Return a place among arguments as programs write it: `body.guests[0].age`."""
    first, *rest = place
    text = name_line(str(first))
    for part in rest:
        if part == "-":
            text += " (a new element)"
        elif isinstance(part, str) and _NAME.fullmatch(part):
            text += f".{part}"
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return printable(text)
