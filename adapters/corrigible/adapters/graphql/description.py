"""The description of an API of GraphQL: its schema, as SDL or as the answer to an introspection query."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import graphql as g
import orjson

from corrigible.adapters.base import Described, InnerCall
from corrigible.adapters.formats.statement import complete, has_word, is_down, is_fault, told_state
from corrigible.adapters.operation import Operations
from corrigible.rules.errors import AuthoringError
from corrigible.rules.errors import Place as FilePlace
from corrigible.rules.pointer import MISSING, escape, segments, value_at
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.json_schema import members
from corrigible.rules.schema_repair.levels import REQUIRED
from corrigible.rules.schema_repair.names import is_other_name, near_names, without
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import Place, SchemaViolation
from corrigible.rules.schema_repair.suggestion import (
    Proposal,
    Repair,
    ask,
    confirmed,
    edit,
    guarded_ops,
    options,
    repair_of,
)
from corrigible.rules.schema_repair.values import repair_value
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind
from corrigible.schema.exchange import Exchange, Json, Request

from .arguments import (
    Arguments,
    Call,
    Edited,
    Variables,
    after,
    definitions,
    json_schema,
    literal,
    needed,
    of_field,
    of_variables,
    printed,
)
from .document import Document, Fix, Problem, in_one_sense, is_equal, is_page, key, meant_instead
from .splice import Splice, at, parsed, removed, span, spliced, written

_MOST_ROUNDS: Final = 8
_MOST_OPTIONS: Final = 5
_PARAMETERS: Final = ("query", "variables", "operationName", "extensions")
_LONGEST_TEST: Final = 256
_LONGEST_MESSAGE: Final = 2000
_SMALLER: Final = "Ask for less: a smaller page, fewer fields, fewer levels."
_OF_SIZE: Final = word_set("depth complexity complex cost aliases directives tokens")
_OF_LIMITS: Final = word_set("limit maximum max allowed exceeds exceeded than many complex")
_DIAGNOSIS: Final = "The schema does not allow what was sent."
_SYNTAX: Final = "The text is no document of GraphQL: mend its syntax."
_VALUE: Final = "A value is not what the schema takes."
_OF_SYNTAX: Final = ("Unexpected", "unexpected", "Expected", "expected", "Syntax", "syntax", "Parse", "parse")
"""Words of errors about a document that is none."""


def load(path: Path) -> GraphQlDescription:
    """Read a schema. Raises AuthoringError where the file has none."""
    try:
        text = path.read_text("utf-8")
        if text.lstrip().startswith("{"):
            told = json.loads(text)
            return GraphQlDescription(g.build_client_schema(told.get("data", told)))
        return GraphQlDescription(g.build_schema(text, assume_valid_sdl=True))
    except g.GraphQLError as problem:
        line = problem.locations[0].line if problem.locations else 1
        raise AuthoringError(FilePlace(path, line), problem.message) from None
    except (OSError, UnicodeError, ValueError, TypeError, KeyError, AttributeError) as problem:
        raise AuthoringError(FilePlace(path), f"no schema of GraphQL can be read: {problem}") from None


class Sent(NamedTuple):
    """A document as it was sent, in a body or in the query of a GET."""

    base: Literal["/body", "/query"]
    text: str
    variables: Mapping[str, Json]
    operation: Json
    is_text: bool = False
    """Whether the variables of a body were sent as JSON in a text."""

    @classmethod
    def of(cls, request: Request) -> Sent | None:
        held = request.body if isinstance(request.body, dict) else request.query if request.body is None else {}
        text, variables = held.get("query"), held.get("variables")
        if not isinstance(text, str) or request.form:
            return None
        base: Literal["/body", "/query"] = "/query" if request.body is None else "/body"
        is_text = isinstance(variables, str)
        if isinstance(variables, str):
            try:
                variables = json.loads(variables)
            except ValueError:
                return None
        sent = variables if isinstance(variables, dict) else {}
        return cls(base, text, sent, held.get("operationName"), is_text and base == "/body")


class GraphQlDescription(Described):
    """Whatever the path is, a request with a document is judged by it."""

    dialect: Final = "graphql"

    def __init__(self, schema: g.GraphQLSchema) -> None:
        self.schema = schema

    @functools.cached_property
    def defined(self) -> Mapping[str, Json]:
        """The input objects, as JSON Schemas."""
        return definitions(self.schema)

    @property
    def operations(self) -> Operations:
        roots = (self.schema.query_type, self.schema.mutation_type, self.schema.subscription_type)
        names = [f"{one.name}.{name}" for one in roots if one is not None for name in one.fields]
        return Operations({f"POST /{name}": name for name in names})

    def mended(self, request: Request, errors: Sequence[Violation], group: str) -> Repair | None:
        """Return the document and variables as the schema takes them; None where it refuses nothing.

        Some servers execute a document first: then one of their errors is about what is wrong with it.
        """
        sent = Sent.of(request)
        if sent is None or not errors:
            said = {word for one in errors for word in words(f"{one.code} {one.message}"[:_LONGEST_MESSAGE])}
            return _of_parts(request, request.body, said) if isinstance(request.body, dict) else None
        mending = Mending(self, request, sent, errors, group)
        made = mending.posted() or mending.repair() or mending.smaller()
        return made if mending.is_told() or not any("path" in one.native for one in errors) else None

    def cautioned(
        self, request: Request, errors: Sequence[Violation], body: Json, suggestions: Sequence[dict[str, Any]]
    ) -> Sequence[dict[str, Any]]:
        """Return suggestions as they are after a mutation of which a part may have run: each has to be confirmed.

        Its fields run in their order (GraphQL specification, October 2021, section 6.2.2).
        """
        sent = Sent.of(request)
        ast = parsed(sent.text) if sent is not None and "mutation" in sent.text else None
        if sent is None or ast is None:
            return suggestions
        document = Document(self.schema, sent.text, ast, sent.variables)
        operation = document.operation(sent.operation)
        if operation is None or operation.operation is not g.OperationType.MUTATION:
            return suggestions
        roots = document.selected([operation])
        called = [key(one) for one in roots]
        paths = [path for one in errors if isinstance(path := one.native.get("path"), list) and path[:1]]
        failed = {str(path[0]) for path in paths}.intersection(called)
        is_run = isinstance(body, dict) and "data" in body and not paths and not self.mended(request, errors, "")
        is_whole = len(roots) == 1 and all(one in roots for error in errors for one in _placed(error, document))
        if not (failed or is_run) or (is_whole and not any(map(document.is_in_answer, paths))):
            return suggestions
        data = body.get("data") if isinstance(body, dict) else None
        return [self._after_a_part(one, request, sent, failed, isinstance(data, dict)) for one in suggestions]

    def _after_a_part(
        self, suggestion: Mapping[str, Any], request: Request, sent: Sent, failed: Collection[str], has_data: bool
    ) -> dict[str, Any]:
        """Return a suggestion that has to be confirmed, without the fields that have run where they are known."""
        out = {**suggestion, "safety": {**suggestion["safety"], "requires_confirmation": True}}
        place, patch = f"{sent.base}/query", list(suggestion.get("patch", ()))
        written = [one for one in patch if one["path"] == place and one["op"] == "replace"]
        text = str(written[0]["value"]) if written else sent.text
        said = _MAY_RUN_AGAIN
        if (patch or "placeholders" in suggestion) and (rest := self._without_run(text, failed, has_data)):
            new = _writing(request, sent.base, rest)
            kept = [one for one in patch if one["op"] == "test" or one["path"] not in [op["path"] for op in new]]
            out["patch"] = sorted([*new, *kept], key=lambda one: one["op"] != "test")
            out["parameters"], said = {}, _LEFT_OUT_AS_RUN
        return {**out, "message": f"{suggestion.get('message', '')} {said}".strip()}

    def _without_run(self, text: str, failed: Collection[str], has_data: bool) -> str:
        """Return a document without the fields that have run; empty where it would be wrong, or none have.

        Where there is data all fields have run. Else a refused field that may not be null has ended those behind it.
        """
        ast = parsed(text)
        document = Document(self.schema, text, ast, {}) if ast is not None else None
        if document is None or len(document.operations) != 1:
            return ""
        roots = document.operations[0].selection_set.selections
        fields = [one for one in roots if isinstance(one, g.FieldNode)]
        if len(fields) < len(roots):
            return ""  # what is in a fragment may stand elsewhere, too
        chosen = filter if has_data else itertools.takewhile
        before = list(chosen(lambda one: key(one) not in failed, fields))
        rest = spliced(text, [removed(one, text) for one in before])
        ast = parsed(rest) if failed and 0 < len(before) < len(roots) else None
        return "" if ast is None or Document(self.schema, rest, ast, {}).problems() else rest

    def inner_call(self, exchange: Exchange, error: Violation) -> InnerCall | None:
        """Return the field whose resolver refuses its arguments, as a call with the status that the code stands for.

        Where no field is named, as where a custom scalar is refused, it is the only one with a value that is repeated.
        """
        request, sent = exchange.request, Sent.of(exchange.request)
        ast = parsed(sent.text) if sent is not None else None
        if sent is None or ast is None:
            return None
        document = Document(self.schema, sent.text, ast, sent.variables)
        path = error.native.get("path")
        placed = [document.answered_by(path)] if isinstance(path, list) else _placed(error, document)
        is_known = isinstance(path, list) or bool(error.code) or told_state(error.message) is not None
        known = [one for one in placed if one is not None and document.contexts[id(one)].definition is not None]
        fields = [one for one in known or document.calls() if isinstance(one, g.FieldNode)]
        calls = [Call(document, one, sent.variables, f"{sent.base}/variables") for one in fields]
        is_alone = bool(placed) or (len(calls) == 1 and not error.code)
        at_variable = ((call, one) for call in calls for one in call.values() if error.pointer)
        held = [(call, one.pointer) for call, one in at_variable if call.place(one.pointer)[1] == error.pointer]
        named = (one for one in calls if (placed and is_known) or (is_alone and one.is_named_in(error.message)))
        calls = [call for call, _ in held] or [*named] or [one for one in calls if one.is_repeated_in(error.message)]
        if len(calls) != 1:
            return None
        call = calls[0]
        told = error.native.get("extensions")
        every = {**error.native, **(told if isinstance(told, dict) else {})}
        left_out = _NOT_TOLD if str(every.get("name")) in call.names else {*_NOT_TOLD, "name"}
        more = {name: one for name, one in every.items() if name not in left_out}
        body: dict[str, Json] = {**more, "message": error.message}
        place = held[0][1] if held else call.told_by({*words(error.message)})
        body |= {"pointer": place.removeprefix("/body")} if place else {}
        inner = replace(
            exchange,
            request=call.request(),
            status=_status(error.code or _of_database(told), more, call, error.message),
            headers={"content-type": "application/json"},
            body=orjson.dumps(body),
        )
        mending = Mending(self, request, sent, [error], "")
        return InnerCall(
            inner,
            body,
            of_field(call.definition, call.name, self.defined),
            lambda suggestion: mending.outward(suggestion, call),
        )


def _of_parts(request: Request, body: Mapping[str, Json], said: set[str]) -> Repair | None:
    """Return what mends a body whose parts are not where, or what, GraphQL over HTTP has them (section 6.2.1)."""
    texts = [name for name, one in body.items() if isinstance(one, str) and parsed(one) is not None]
    absent = SchemaViolation("/body/query", "required", {"type": "string"}, MISSING)
    if request.form or said.isdisjoint({*_PARAMETERS, *texts}):
        return None
    if "query" in body:
        variables = SchemaViolation("/body/variables", "type", {"type": "object"}, body.get("variables"))
        is_of_them = isinstance(variables.value, str) and "variables" in said
        made = ask(variables, request, "Send the variables as an object.") if is_of_them else Proposal([])
    elif len(texts) == 1:
        ops: list[dict[str, Any]] = [{"op": "move", "from": f"/body/{escape(texts[0])}", "path": "/body/query"}]
        made = Proposal([edit(absent, request, ops, "Send the document as query.", requires_confirmation=True)])
    else:
        made = ask(absent, request, "Send the document, too.")
    return repair_of(made, "The body is not as GraphQL has it.", "NO_DOCUMENT") if made.suggestions else None


_MAY_RUN_AGAIN: Final = "A part of this mutation may have run already, and would run again."
_LEFT_OUT_AS_RUN: Final = "The fields of the mutation that have run already are left out."
_NOT_TOLD: Final = frozenset({"stacktrace", "exception", "trace", "debugMessage", "locations", "path", "extensions"})
"""Members of an error that say nothing of the call, or are read elsewhere. So does the name of its class."""
_NO_ROUTE: Final = 404
_CONFLICT: Final = 409
_FAULT: Final = 500
_STATUSES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("UNAUTHENTICATED", "UNAUTHORIZED", "AUTHENTICATION_ERROR"), 401),
    **dict.fromkeys(("FORBIDDEN", "PERMISSION_DENIED", "ACCESS_DENIED"), 403),
    **dict.fromkeys(("TOO_MANY_REQUESTS", "RATE_LIMITED", "THROTTLED", "RATE_LIMIT_EXCEEDED"), 429),
    **dict.fromkeys(("INTERNAL_SERVER_ERROR", "INTERNAL", "INTERNAL_ERROR"), _FAULT),
    **dict.fromkeys(("SERVICE_UNAVAILABLE", "UNAVAILABLE"), 503),
    **dict.fromkeys(("GATEWAY_TIMEOUT", "DEADLINE_EXCEEDED", "TIMEOUT"), 504),
}
"""By the code of an error: the status of HTTP that says the same."""
_SQLSTATES: Final[Mapping[str, str]] = {
    **{"42501": "FORBIDDEN", "28": "UNAUTHENTICATED", "55": "STATE", "25": "STATE", "53": "LIMIT", "54": "LIMIT"},
    **dict.fromkeys(("08", "57", "58", "XX", "F0"), "INTERNAL"),
}
"""By classes of a database's codes (ISO 9075-2, section 24.1; PostgreSQL, appendix A): a code that says the same."""
_OF_INPUT: Final = word_set(
    "input argument arguments validation valid invalid bad request parse format range required missing unknown found"
    " type value error graphql user malformed unsupported constraint"
)
_OF_STATE: Final = word_set("state status conflict precondition limit quota")
"""Words of codes. A code of a server's own that has none of the first is about a state."""
_LEAST_STATUS: Final = 400


def _of_database(extensions: Json) -> str:
    """Return a code for the one of a database that the extensions have of an exception; empty where they have none."""
    raised = extensions.get("exception") if isinstance(extensions, dict) else None
    state = str(raised.get("errcode") or raised.get("sqlState") or "") if isinstance(raised, dict) else ""
    return _SQLSTATES.get(state, _SQLSTATES.get(state[:2], ""))


def _status(code: str, extensions: Mapping[str, Json], call: Call, message: str) -> int:
    inner = [one for one in (extensions.get("http"), extensions.get("originalError")) if isinstance(one, dict)]
    told = [one.get(name) for one in (extensions, *inner) for name in ("status", "statusCode")]
    stated = [one for one in told if isinstance(one, int) and _LEAST_STATUS <= one < 600]
    stated += [_STATUSES[one.upper()] for one in (code, *extensions.values()) if str(one).upper() in _STATUSES]
    if stated:
        return stated[0] if stated[0] != _NO_ROUTE else _LEAST_STATUS  # the field is there
    in_code = frozenset(words(code))
    if is_down(message) or (is_fault(message) and _OF_INPUT.isdisjoint(in_code)):
        return _FAULT
    every = [one for held in extensions.values() for one in (held if isinstance(held, list) else [held])]
    told_names = [one.rpartition(".")[2] for one in every if isinstance(one, str)]
    is_told = not call.names.isdisjoint(told_names)
    is_named = is_told or call.is_named_in(message[:_LONGEST_MESSAGE])
    is_named |= told_state(message) is None and call.is_repeated_in(message)
    is_state = not _OF_STATE.isdisjoint(in_code) and not is_told
    is_state |= _OF_INPUT.isdisjoint(in_code) and not is_named
    if not code:
        is_state = not is_named and told_state(message) in (Kind.STATE, Kind.IN_USE, Kind.FIXED)
    return _CONFLICT if is_state else _LEAST_STATUS


_OF_A_VARIABLE: Final = 2
"""Slashes of the place of a variable: those that nothing declares are no mistake."""


class Mending:
    """The mending of one request: what is sure is done one after the other, until something is left to ask."""

    def __init__(
        self, description: GraphQlDescription, request: Request, sent: Sent, errors: Sequence[Violation], group: str
    ) -> None:
        self._description, self._request, self._sent = description, request, sent
        self._errors, self._group = errors, group
        self._text, self._variables = sent.text, dict(sent.variables)
        self._ops: list[dict[str, Json]] = []
        self._asked: list[tuple[str, Mapping[str, Json]]] = []
        self._said: list[str] = []
        self._marks: list[Any] = []
        """Nodes, names and values that are wrong in what was sent: an error of the server names one of them."""
        self._told = frozenset(
            word.strip("'\"`?.,")
            for one in errors
            for word in one.message[:_LONGEST_MESSAGE].partition("Did you mean")[2].split()
        )
        """What the server asks back about."""
        self._is_sure = True
        self._kind = ""
        """What all operations of the document are."""
        self._is_first = True

    def repair(self) -> Repair | None:
        if self._sent.is_text and not any(one.native.get("path") for one in self._errors):
            self._note("Send the variables as an object.")
            self._marks.append("variables")
            self._ops.append({"op": "replace", "path": "/body/variables", "value": dict(self._variables)})
        if (ast := parsed(self._text)) is None and (more := written(self._text)):
            self._note("Write it in the syntax of GraphQL: quotation marks, brackets, keywords.", more)
            self._marks += _OF_SYNTAX
            ast = parsed(more)
        if ast is None:
            return repair_of(self._question(_SYNTAX), "The document cannot be read.", "NO_DOCUMENT")
        self._kind = self._document(self._text, ast).kind
        if (named := self._named(ast)) is not None:
            return repair_of(named, "The request names no single operation of the document.", "NO_OPERATION")
        for _ in range(_MOST_ROUNDS):
            ast = parsed(self._text)
            if ast is None:
                return None
            document = self._document(self._text, ast)
            problems = document.problems()
            if self._is_first:
                self._marks += [node for one in problems for node in one.nodes]
                self._marks += [name for one in problems for fix in one.fixes for name, _ in fix.asked]
            proposal = self._by_problems(document, problems) if problems else self._by_values(document)
            self._is_first = False
            if proposal is not None:
                return repair_of(proposal, _DIAGNOSIS, "NOT_AS_IN_SCHEMA") if proposal.suggestions else None
        return repair_of(self._left([]), _DIAGNOSIS, "NOT_AS_IN_SCHEMA") if not self._is_sure else None

    def _document(self, text: str, ast: g.DocumentNode) -> Document:
        return Document(self._description.schema, text, ast, self._variables, self._told)

    def posted(self) -> Repair | None:
        """Return a mutation that was sent by GET as a POST: GET only reads (GraphQL over HTTP, section 6.3.1)."""
        ast = parsed(self._text) if self._sent.base == "/query" else None
        if ast is None or self._document(self._text, ast).kind != "mutation":
            return None
        body = {name: self._request.query[name] for name in _PARAMETERS if self._request.query.get(name)}
        body |= {"variables": dict(self._variables)} if self._variables else {}
        patch: list[dict[str, Any]] = [{"op": "replace", "path": "/method", "value": "POST"}]
        patch += [{"op": "remove", "path": f"/query/{name}"} for name in _PARAMETERS if name in self._request.query]
        patch.append({"op": "add", "path": "/body", "value": body})
        said = "Send a mutation in the body of a POST."
        made = edit(self._violation, self._request, patch, said, requires_confirmation=True)
        return repair_of(Proposal([made]), "A mutation is not sent by GET.", "MUTATION_BY_GET")

    def smaller(self) -> Repair | None:
        """Ask for a smaller page, else for another document, where all of one is too deep or costs too much."""
        said = [{*words(one.message[:_LONGEST_MESSAGE])} for one in self._errors if not one.native.get("path")]
        told = [one for one in said if not (_OF_SIZE.isdisjoint(one) or _OF_LIMITS.isdisjoint(one))]
        ast = parsed(self._text)
        if ast is None or not told:
            return None
        document = self._document(self._text, ast)
        calls = [Call(document, one, self._variables, f"{self._sent.base}/variables") for one in document.calls()]
        pages = [(call, one) for call in calls for one in call.values() if is_page(one.pointer, one.value)]
        asked = self._question(_SMALLER)
        if pages and not any("depth" in one for one in told):
            call, one = max(pages, key=lambda page: int(page[1].value))
            page = SchemaViolation(one.pointer, "maximum", {"type": "integer"}, one.value)
            made = (self.outward(each, call) for each in ask(page, call.request(), _SMALLER).suggestions)
            asked = Proposal([*filter(None, made)])
        return repair_of(asked, "The document asks for too much at once.", "TOO_MUCH")

    # The document

    def _named(self, ast: g.DocumentNode) -> Proposal | None:
        """Name the operation that is run; return the choice where it is unclear."""
        operations = [one for one in ast.definitions if isinstance(one, g.OperationDefinitionNode)]
        kinds = {one.name.value: one.operation.value for one in operations if one.name is not None}
        names = list(kinds)
        name, place = self._sent.operation, f"{self._sent.base}/operationName"
        if name in names or (not name and len(operations) == 1) or not names:
            return None
        self._marks += [name, "operationName", "operation"]
        near = near_names(name, names) if isinstance(name, str) else []
        verb: dict[str, Json] = {"op": "replace" if name is not None else "add", "path": place}
        meant = near or names
        edits = [
            self._edit(
                "Run this operation.",
                more=({**verb, "value": one},),
                is_sure=len(meant) == 1 and (len(names) == 1 or kinds[one] == "query"),
            )
            for one in meant
        ]
        return Proposal(edits) if len(edits) == 1 else options(edits[:_MOST_OPTIONS], self._group)

    def _by_problems(self, document: Document, problems: Sequence[Problem]) -> Proposal | None:
        """Do what is sure about the first rule that finds something; return what is left, if anything is."""
        first = [one for one in problems if one.rule == problems[0].rule]
        splices, left = list[Splice](), list[Problem]()
        for one in first:
            if len(one.fixes) == 1 and one.fixes[0].is_sure:
                splices += self._taken(one.fixes[0], splices)
            else:
                left.append(one)
        if splices:
            self._text = spliced(self._text, splices)
            return None
        if not left:
            return Proposal([])
        problem = left[0]
        if len(problem.fixes) == 1:
            self._text = spliced(self._text, self._taken(problem.fixes[0], ()))
            self._is_sure = False
            return None
        made = [self._with(self._edited(one), one.message) for one in problem.fixes[:_MOST_OPTIONS]]
        return options(made, self._group) if made else self._question(problem.question)

    def _taken(self, fix: Fix, before: Sequence[Splice]) -> Sequence[Splice]:
        """Return the splices of a fix that is sure; none where another one edits the same place."""
        if any(start < stop and begin < end for start, end, _ in fix.splices for begin, stop, _ in before):
            return ()
        self._said.append(fix.message)
        self._asked += self._edited(fix).asked
        return fix.splices

    def _edited(self, fix: Fix) -> Edited:
        asked = [(f"{self._sent.base}/variables/{name}", json_schema(kind)) for name, kind in fix.asked]
        return Edited(fix.splices, (), tuple(asked))

    # Values

    def _by_values(self, document: Document) -> Proposal | None:
        """Do what is sure about variables and literals; return what is left, or all that was done."""
        left: list[tuple[Repair, Call]] = []
        asked = {place for place, _ in self._asked}
        for violation, made, call in self._repairs(document):
            if (place := call.place(violation.pointer)[1]) in asked:
                continue
            self._marks.append(place)
            if self._is_first:
                ops = made.suggestions[0].get("patch", ()) if made is not None and made.suggestions else ()
                places = [violation.pointer, *(str(op["path"]) for op in ops if op["op"] == "move")]
                self._marks += [violation.value, *(one.rpartition("/")[2] for one in places)]
            if made is None:
                continue
            only = made.suggestions[0] if len(made.suggestions) == 1 else {"placeholders": ()}
            if "placeholders" not in only and self._is_applied(call.outward(only), only, violation):
                return None
            left.append((made, call))
        if not left and (splices := list(self._kinds(document))):
            self._text = spliced(self._text, splices)
            return None
        if not left and document.wrong_values():
            return self._question(_VALUE)
        return self._left(left)

    def _repairs(self, document: Document) -> Iterator[tuple[SchemaViolation, Repair | None, Call]]:
        description, variables, base = self._description, self._variables, f"{self._sent.base}/variables"
        operation = document.operation(self._sent.operation) or document.operations[0]
        of_all = of_variables(operation, description.schema, description.defined)
        judged: list[tuple[Call, Arguments]] = [(Variables(document, variables, base), of_all)]
        for node in document.calls():
            call = Call(document, node, variables, base)
            judged.append((call, of_field(call.definition, call.name, description.defined)))
        for call, arguments in judged:
            request = call.request()
            for violation in arguments.schema_violations(request, ""):
                is_unknown = violation.keyword == "additionalProperties"
                at_name = violation.pointer.rpartition("/")[0] if is_unknown else violation.pointer
                if call.place(at_name)[1] and not isinstance(call, Variables):
                    continue  # of the variables it is judged, too
                is_free = isinstance(call, Variables) and violation.pointer.count("/") == _OF_A_VARIABLE
                meant = _meant_there(violation, request) if not is_free else {}
                name = _last(violation.pointer)
                if violation.keyword == "required" and name in meant.values():
                    continue  # asked for instead of the unknown one
                made = _other_value(violation, request, meant[name], self._told) if name in meant else None
                yield violation, made or _compared(violation, request) or repair(violation, request, self._group), call

    def _is_applied(self, edited: Edited | None, suggestion: Mapping[str, Any], violation: SchemaViolation) -> bool:
        """Do what a suggestion says of a value; False where it cannot be said of this request.

        A number that becomes a text may be no text that was meant: of a write that is asked about.
        """
        if edited is None or edited.asked:
            return False
        part = self._sent.base[1:]
        made = after({part: {"variables": self._variables}}, edited.ops)
        if made is None:
            return False
        self._text, self._variables = spliced(self._text, edited.splices), made[part]["variables"]
        self._ops += edited.ops
        self._said.append(str(suggestion["message"]))
        safety = suggestion["safety"]
        ops, old = suggestion["patch"], violation.value
        is_made_text = any(isinstance(op.get("value"), str) and not isinstance(old, str) for op in ops)
        moves = [(_last(op["from"]), _last(op["path"])) for op in ops if op["op"] == "move"]
        is_kept = not safety.get("requires_confirmation") and not safety["changes_intent"]
        is_kept = is_kept and not any(is_other_name(*one) for one in moves)
        self._is_sure = self._is_sure and is_kept and not (is_made_text and self._kind != "query")
        return True

    def _kinds(self, document: Document) -> Iterator[Splice]:
        """Yield literals in the form of their type; a number keeps its digits where an error wants a text."""
        told = [stated for one in self._errors if self._is_first for stated in complete(one)]
        places = [place for one in told if one.stated.get("type") == "string" for place in _located(one)]
        for context in document.contexts.values() if places else ():
            kind, node = g.get_named_type(context.expected), context.node
            is_number = isinstance(node, g.IntValueNode | g.FloatValueNode)
            if is_number and at(node) in places and g.is_scalar_type(kind) and not g.is_specified_scalar_type(kind):
                self._note("Write the number as a text.")
                self._marks.append(node)
                self._is_sure = self._is_sure and self._kind == "query"
                yield *span(node), f'"{node.value}"'
        for node, kind in document.wrong_values():
            value, schema = literal(node), json_schema(kind)
            schema["$defs"] = needed(schema, self._description.defined)
            keyword = first_violation(value, schema)
            ways = [] if keyword is None else repair_value(keyword, value, schema, Place())
            if len(ways) == 1 and not ways[0].assumption:
                value = ways[0].value
            elif keyword is not None or not isinstance(value, str | float):
                continue
            self._note(f"Write it as {kind}.")
            if self._is_first:
                self._marks += [node, literal(node)]
            yield *span(node), printed(int(value) if isinstance(value, float) and "Int" in str(kind) else value, kind)

    def _left(self, left: Sequence[tuple[Repair, Call]]) -> Proposal:
        """Return what is done, with what is left to ask: values together, of alternatives the first."""
        splices, ops, asked = list[Splice](), list[dict[str, Json]](), list[tuple[str, Mapping[str, Json]]]()
        is_kept = True
        for made, call in left:
            outward = [(call.outward(one), one) for one in made.suggestions]
            known = [(one, suggestion) for one, suggestion in outward if one is not None]
            if len(known) > 1:
                edits = [self._with(one, str(suggestion["message"])) for one, suggestion in known]
                return options(edits, self._group) if made.type == "intent_disambiguation" else Proposal(edits)
            if not known:
                return self._question(_VALUE)
            splices += known[0][0].splices
            ops += known[0][0].ops
            asked += known[0][0].asked
            safety = known[0][1]["safety"]
            is_kept = is_kept and not safety.get("requires_confirmation") and not safety.get("loses")
            self._said.append(str(known[0][1]["message"]))
        if not (left or self._said or self._asked):
            return Proposal([])
        made_of_all = self._edit("", spliced(self._text, splices), more=ops, asked=asked)
        return Proposal([made_of_all if is_kept else confirmed(made_of_all)])

    def _with(self, edited: Edited, message: str) -> dict[str, Json]:
        text = spliced(self._text, edited.splices)
        return self._edit(message, text, more=edited.ops, asked=edited.asked, is_sure=False)

    # What is sent

    def _note(self, message: str, text: str = "") -> None:
        self._said.append(message)
        self._text = text or self._text

    @property
    def _violation(self) -> SchemaViolation:
        return SchemaViolation(f"{self._sent.base}/query", "graphql", {"type": "string"}, self._sent.text)

    def _question(self, message: str) -> Proposal:
        return ask(self._violation, self._request, message)

    def is_told(self) -> bool:
        """Whether an error of the server is about something that is wrong by the schema, too."""
        places, words = list[tuple[Json, Json]](), set[str]()
        for mark in self._marks:
            if isinstance(mark, g.Node) and mark.loc is not None:
                places.append(at(mark))
                name = getattr(mark, "name", None) or getattr(getattr(mark, "variable", None), "name", None) or mark
                words.add(str(getattr(name, "value", "")))
            elif isinstance(mark, str | int | float):
                words.add(str(mark))
        located = (one for error in self._errors for one in _located(error))
        named = ((error, one) for error in self._errors for one in words if one)
        return any(one in places for one in located) or any(
            one == error.pointer or has_word(error.message, one) for error, one in named
        )

    def _edit(
        self,
        message: str,
        text: str = "",
        *,
        more: Sequence[dict[str, Json]] = (),
        asked: Sequence[tuple[str, Mapping[str, Json]]] = (),
        is_sure: bool = True,
    ) -> dict[str, Json]:
        ops = [*self._ops, *more]
        asked = [*self._asked, *asked]
        patch = self._patch(text or self._text, ops, asked)
        said = " ".join(dict.fromkeys([*self._said, *([message] if message else [])]))
        sure = is_sure and self._is_sure and self.is_told() and (self._sent.base == "/body" or not (ops or asked))
        confirm = not self._is_sure or not (sure or asked)
        out = edit(self._violation, self._request, patch, said, requires_confirmation=confirm)
        ast = parsed(text) if text else None
        if self._kind == "query" and (ast is None or self._document(text, ast).kind != "mutation"):
            out["safety"]["side_effects"] = "none"
        if asked or len(self._text) > _LONGEST_TEST:
            out["parameters"] = {}  # a long document is written once
        if asked:
            out["applicability"] = "HAS_PLACEHOLDERS"
            out["placeholders"] = [{"pointer": place, "ask": "user", "schema": dict(one)} for place, one in asked]
        if not patch:
            del out["patch"]
        return out

    def _patch(
        self, text: str, ops: Sequence[dict[str, Json]], asked: Sequence[tuple[str, Mapping[str, Json]]]
    ) -> list[dict[str, Json]]:
        """Return the operations that write the document, and those on variables behind them."""
        base = self._sent.base
        patch: list[dict[str, Json]] = []
        if text != self._sent.text:
            short = len(self._sent.text) <= _LONGEST_TEST and _plain(self._sent.text) == self._sent.text
            patch += [{"op": "test", "path": f"{base}/query", "value": self._sent.text}] if short else []
            patch += _writing(self._request, base, text)
        held = self._request.body if base == "/body" else self._request.query
        lacks = isinstance(held, Mapping) and not isinstance(held.get("variables"), dict)
        places = [*(str(one["path"]) for one in ops), *(place for place, _ in asked)]
        if self._sent.is_text and ops and ops[0]["path"] != "/body/variables":
            patch.append({"op": "replace", "path": "/body/variables", "value": dict(self._sent.variables)})
        elif lacks and not self._sent.is_text and any(one.startswith(f"{base}/variables") for one in places):
            patch.append({"op": "add", "path": f"{base}/variables", "value": {}})
        return [*patch, *ops]

    def outward(self, suggestion: Mapping[str, Any], call: Call) -> dict[str, Json] | None:
        """Return a suggestion for a call as one for the request; None where the request cannot say it."""
        if not (suggestion.get("patch") or suggestion.get("placeholders")) or suggestion.get("steps"):
            return None if suggestion.get("steps") else dict(suggestion)
        edited = call.outward(suggestion)
        if edited is None or (self._sent.base == "/query" and (edited.ops or edited.asked)):
            return None
        ast = parsed(text := spliced(self._text, edited.splices))
        if ast is None or self._document(text, ast).wrong_values():
            return None
        out = {name: one for name, one in suggestion.items() if name not in ("patch", "placeholders", "verification")}
        out["parameters"] = {}
        if patch := self._patch(text, edited.ops, edited.asked):
            out["patch"] = patch
        if edited.asked:
            whom = next(str(one["ask"]) for one in suggestion["placeholders"])
            out["placeholders"] = [{"pointer": place, "ask": whom, "schema": one} for place, one in edited.asked]
        if isinstance(evidence := out.get("evidence"), dict) and "pointer" in evidence:
            out["evidence"] = {**evidence, "pointer": f"{self._sent.base}/query"}
        return out


def _located(error: Violation) -> list[tuple[Json, Json]]:
    """Return the lines and columns that an error tells."""
    listed = error.native.get("locations")
    places = listed if isinstance(listed, list) else ()
    return [(one.get("line"), one.get("column")) for one in places if isinstance(one, dict)]


def _placed(error: Violation, document: Document) -> list[g.FieldNode]:
    """Return the fields at the place of an error without a path; for a right or a limit the only root field."""
    if error.code.upper().startswith("GRAPHQL_"):
        return []
    roots = document.selected(document.operations)
    is_right = not error.code and told_state(error.message) in (Kind.RIGHT, Kind.CREDENTIALS)
    is_of_all = len(roots) == 1 and (is_right or error.code.upper() in _STATUSES)
    return document.called_at(_located(error)) or (roots if is_of_all else [])


def _plain(text: str) -> str:
    """Return a document without a byte order mark, with line feeds only: nothing of it means another thing."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _writing(request: Request, base: str, text: str) -> list[dict[str, Json]]:
    """Return the operations that write a document, and its hash where it was sent as a persisted one."""
    text = _plain(text)
    out: list[dict[str, Json]] = [{"op": "replace", "path": f"{base}/query", "value": text}]
    match request.body:
        case {"extensions": {"persistedQuery": {"sha256Hash": str()}}} if base == "/body":
            value = hashlib.sha256(text.encode()).hexdigest()
            out.append({"op": "replace", "path": "/body/extensions/persistedQuery/sha256Hash", "value": value})
    return out


def _meant_there(violation: SchemaViolation, request: Request) -> Mapping[str, str]:
    """Return the unknown members of an object, each with the one that it may be about in other terms."""
    held = value_at(request, violation.pointer.rpartition("/")[0])
    if violation.keyword not in ("additionalProperties", "required") or not isinstance(held, Mapping):
        return {}
    schema = violation.parent_schema or {} if violation.keyword == "required" else violation.schema
    free = [one for one in members(schema) if one not in held]
    required = [one for one in _required(schema) if one in free]
    unknown = [one for one in held if one not in members(schema)]
    is_text = {one: "string" in str(members(schema)[one].get("type")) for one in free}
    found = {one: (*in_one_sense(one, is_text), meant_instead(one, free, required))[0] for one in unknown}
    return {one: meant for one, meant in found.items() if meant}


def _compared(violation: SchemaViolation, request: Request) -> Repair | None:
    """Return a value inside of the operator of a filter that compares with what is equal, where there is one."""
    names = [one for one in members(violation.schema) if violation.keyword == "type" and is_equal(one)]
    if len(names) != 1 or first_violation(violation.value, members(violation.schema)[names[0]]) is not None:
        return None
    op: dict[str, Any] = {"op": "replace", "path": violation.pointer, "value": {names[0]: violation.value}}
    ops = guarded_ops(request, violation.pointer, violation.value, op)
    made = edit(violation, request, ops, f"Compare by {names[0]}.", requires_confirmation=True)
    return repair_of(Proposal([made]), _DIAGNOSIS, "NOT_AS_IN_SCHEMA") if ops else None


def _required(schema: Mapping[str, Any]) -> Sequence[str]:
    return schema.get(REQUIRED) or schema.get("required") or ()


def _other_value(violation: SchemaViolation, request: Request, meant: str, told: Collection[str]) -> Repair | None:
    """Ask for a member instead of an unknown one that says it in other terms, or offer to leave it out.

    Where the server asks back about the member, and the unknown one has no unit of its own, its value is offered.
    """
    place = f"{violation.pointer.rpartition('/')[0]}/{escape(meant)}"
    ops = guarded_ops(request, violation.pointer, violation.value, {"op": "remove", "path": violation.pointer})
    message = f"Give {meant}, if it is what was meant: its value may be another one."
    name, schema = _last(violation.pointer), violation.schema
    asked = ask(violation, request, message, places=[(place, members(schema).get(meant, {}))])
    made = [{**one, "patch": ops} for one in asked.suggestions] if ops else []
    is_same = bool(in_one_sense(name, {meant: False}))
    if ops and (is_same or (meant in told and {*words(name)} < {*words(meant)})):
        moved = [*ops[:-1], {"op": "move", "from": violation.pointer, "path": place}]
        one = edit(violation, request, moved, f"Send it as {meant}, if it is.", requires_confirmation=True)
        made = [one] if is_same else [one, *made]
    if meant not in _required(schema) and not is_same:
        made += without(violation, request, "Leave it out, if the call may do without it.").suggestions
    return repair_of(Proposal(made), _DIAGNOSIS, "NOT_AS_IN_SCHEMA") if made else None


def _last(pointer: Json) -> str:
    return segments(str(pointer))[-1]
