"""GitHub's error object, `{"message", "errors": [...], "documentation_url", "status"}`, and the bare one of others.

Locates facts; rules judge them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.rules.pointer import MISSING, escape, parameters_at, to_pointer, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

_TOP = frozenset({"message", "documentation_url", "status", "errors", "metadata", "block", "request_id"})
"""Members of GitHub's error object. One with others is of another server."""
_DERIVED = frozenset(
    {("PullRequest", "head_sha"), ("PullRequest", "base_sha"), ("PullRequest", "head_repo"), ("Repository", "owner_id")}
)
"""What GitHub itself works out from the request: no request has such a member."""
_REPOSITORY = re.compile(r"(?P<base>/api/v3)?(?P<repo>/repos/[^/]+/[^/]+)?(?:/orgs/(?P<org>[^/]+))?(?:/|$)")

_NAME = r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*"
_MISSING = re.compile(
    rf"^(?:Invalid request\.\s+)?(?P<names>\"{_NAME}\"(?:, \"{_NAME}\")*) (?:wasn't|weren't) supplied\."
)
_REQUIRED = re.compile(
    rf"^(?:Validation Failed: )?(?P<name>{_NAME})(?: array)? is required(?: when [a-z_]+ is [a-z_]+)?\.?$"
)
_UNPERMITTED = re.compile(
    r"^(?:Invalid request\.\s+)?(?P<names>\"[^\"]{1,80}\"(?:, \"[^\"]{1,80}\")*)"
    r" (?:is not a permitted key|are not permitted keys)"
)
_PROPERTY = re.compile(r"^(?:Invalid request\.\s+)?For '(?P<place>[\w/.~-]{1,200})', (?P<problem>.{1,400})", re.DOTALL)
_MUST = re.compile(rf"^(?P<name>{_NAME}) must be (?P<kind>.{{1,80}})$")
_INVALID = re.compile(rf"^(?:Validation Failed: i|I)nvalid (?P<name>{_NAME})(?: parameter)?\.?$")
_QUOTED = re.compile(r'"([^"]{1,80})"')
_KIND = re.compile(r"is not an? (?P<kind>string|integer|number|boolean|array|object|null)\b")


@dataclass(frozen=True, slots=True)
class GitHubFormat:
    name: str = "github"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        if exchange.status < 400 or not isinstance(body, Mapping) or not _TOP.issuperset(body):
            return ()
        message = body.get("message")
        if not isinstance(message, str) or not message:
            return ()
        request = exchange.request
        native = {**_whereabouts(request), "top": message, "documentation_url": body.get("documentation_url") or ""}
        listed = body.get("errors")
        entries = listed if isinstance(listed, list) else [listed] if isinstance(listed, str) else []
        violations = [
            _listed(request, entry, message, native)
            for entry in entries
            if isinstance(entry, Mapping) or (isinstance(entry, str) and bool(entry))
        ]
        return violations or list(_read_sentence(request, message, native))


def _whereabouts(request: Request) -> dict[str, Json]:
    """Return the path's beginning as far as the API's base, and as far as the repository, both as they were sent.

    `where` is what a person calls the place: `owner/name`, the organization, else the path.
    """
    match = _REPOSITORY.match(request.path)
    base = (match["base"] if match else None) or ""
    repo = (match["repo"] if match else None) or ""
    return {
        "base": base,
        "repo": base + repo if repo else "",
        "where": repo.removeprefix("/repos/") or (match["org"] if match else None) or request.path,
        "resource": "",
        "field": "",
        "value": None,
        "index": None,
    }


def _listed(request: Request, entry: Mapping[str, Json] | str, top: str, native: Mapping[str, Json]) -> Violation:
    """Read one of `errors[]`, an object or a sentence."""
    if isinstance(entry, str):
        return next(_read_sentence(request, entry, native))
    resource, field, message = (_text(entry, name) for name in ("resource", "field", "message"))
    pointer = _pointer(request, field)
    # `data`, `base`, `head_sha`: GitHub names its own members too. What is missing cannot be there, the rest must be.
    derived = (resource, field) in _DERIVED or (
        not _text(entry, "code").startswith("missing") and value_at(request, pointer) is MISSING
    )
    extras = {name: inner for name, inner in entry.items() if name not in ("code", "message")}
    return Violation(
        code=_text(entry, "code"),
        message=message or top,
        pointer="" if derived else pointer,
        type=resource,
        param=field,
        native={**native, "field": field, **extras},
    )


def _read_sentence(request: Request, message: str, native: Mapping[str, Json]) -> Iterator[Violation]:
    """Read the places that a sentence names: one violation for each missing name."""
    if match := _MISSING.search(message):
        for name in _QUOTED.findall(match["names"]):
            yield _violation(request, message, native, "missing_field", name)
    elif match := _REQUIRED.search(message):
        yield _violation(request, message, native, "missing_field", match["name"])
    elif match := _UNPERMITTED.search(message):
        for name in _QUOTED.findall(match["names"]):
            yield _violation(request, message, native, "unpermitted", name)
    elif match := _PROPERTY.search(message):
        parts = [part for part in match["place"].split("/") if part not in ("properties", "items", "links", "schema")]
        name = ".".join(part for part in parts if not re.fullmatch(r"(?:any|all|one)Of|\d+", part))
        kind = _KIND.search(match["problem"])
        code = "missing_field" if match["problem"].startswith("nil is not") else "invalid"
        yield _violation(request, message, native, code, name, f"type:{kind['kind']}" if kind else "")
    elif match := _MUST.search(message):
        code = "invalid" if _has(request, match["name"]) else "missing_field"
        yield _violation(request, message, native, code, match["name"], match["kind"])
    elif (match := _INVALID.search(message)) and _has(request, match["name"]):
        yield _violation(request, message, native, "invalid", match["name"])
    else:
        yield Violation(message=message, native=native)


def _violation(
    request: Request, message: str, native: Mapping[str, Json], code: str, name: str, constraint: str = ""
) -> Violation:
    return Violation(
        code=code,
        message=message,
        pointer=_pointer(request, name),
        constraint=constraint,
        param=name,
        native={**native, "field": name},
    )


def _pointer(request: Request, name: str) -> str:
    """Return the pointer of a named member, present or not."""
    if not name:
        return ""
    parts = name.split(".")
    body = request.body if isinstance(request.body, Mapping) else {}
    if parameters_at(request) == "/query" or (name in request.query and name not in body):
        return f"/query/{escape(name)}"
    if len(parts) > 1 and parts[0] not in body and parts[-1] in body:
        parts = parts[-1:]  # `pull_request_review_thread.line` is the request's `line`
    return to_pointer(("body", *parts))


def _has(request: Request, name: str) -> bool:
    return name in request.query or (isinstance(request.body, Mapping) and name.partition(".")[0] in request.body)


def _text(entry: Mapping[str, Json], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def _gateway_facts(exchange: Exchange, violation: Violation) -> Mapping[str, Json]:
    return {**_whereabouts(exchange.request), "top": "", "documentation_url": ""}


GITHUB = GitHubFormat()
GATEWAY = GenericFormat(_gateway_facts)
"""Errors of a validating gateway in front of the API, with what GitHub's own errors know of the path."""
