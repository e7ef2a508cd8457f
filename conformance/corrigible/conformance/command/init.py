"""`conformance init`: write the config that `conformance check` needs to judge an API.

Reads of the description are tried, and, where somebody agrees, writes that lack what the description requires.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import yaml

from corrigible.conformance.checks import CHECKS
from corrigible.conformance.checks.http.generated_request import base_path, load, parsed, plan
from corrigible.conformance.command import Subparsers, several, subcommand
from corrigible.conformance.model.outcome import CouldNotTell, Missing, NotApplicable, UsageError, usable
from corrigible.conformance.report.terminal import one_line
from corrigible.conformance.suite.requirement import book
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest, HttpResponse, request_document
from corrigible.conformance.validators.openapi import Description
from corrigible.schema.document import pointer_parts
from corrigible.schema.exchange import Json

from .run_target import headers_of

_REFUSED: Final = frozenset({400, 422})
"""The statuses that say that a request is what is wrong, and not who asks, how often, or whether a thing is there."""
_PLACES: Final = ("/openapi.json", "/openapi.yaml", "/v3/api-docs", "/api/openapi.json")
_PER_OPERATION: Final = 2
_GAP: Final = 0.02
"""Seconds between two requests."""
_ASK: Final = ("Prefer", "recovery-feedback=reflective")
_SECRET: Final = ("x-api-key", "conformance-key-in-a-header-88")
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
_TARGET: Final = re.compile(r"/[!-\[\]-~]{0,4000}")
_NAME: Final = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_NOT_GIVEN: Final = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "content-type"}
    | {"accept", "authorization", "cookie", "proxy-authorization", "x-http-method-override", "x-method-override"}
    | {"x-http-method", "x-original-url", "x-rewrite-url"}
)
"""Headers that no description gives: those of the connection, credentials, and those that make it another request."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request that is to be tried."""

    name: str
    operation: str
    sent: HttpRequest
    accepted: bool = False
    """It is as the description says."""
    missing: tuple[str, ...] = ()
    """Required members that its body lacks."""

    @property
    def writes(self) -> bool:
        return self.sent.method != "GET"


@dataclass(slots=True)
class Found:
    """What is written into the config, and what else was seen."""

    provocations: list[dict[str, Json]] = field(default_factory=list)
    accepted: list[dict[str, Json]] = field(default_factory=list)
    others: dict[str, list[str]] = field(default_factory=dict)
    """Names of requests that were answered otherwise, by how."""


def add(subparsers: Subparsers) -> None:
    parser = subcommand(
        subparsers,
        "init",
        run,
        "write the config that `conformance check` needs to judge an API",
        "Read an API's OpenAPI description, try which requests it refuses and accepts, and write a config "
        "for `conformance check --config`. Reads are sent; a POST, PUT or PATCH only with an empty JSON object where "
        "the description requires members, and only with --yes or after a question. Never DELETE. Without URL "
        "nothing is sent.",
    )
    parser.add_argument(
        "url", metavar="URL", nargs="?", help="a running API: http://host:port, or its description there"
    )
    parser.add_argument("--spec", metavar="FILE", type=Path, help="the description; default: /openapi.json of the API")
    parser.add_argument(
        "--out", metavar="FILE", type=Path, default=Path("conformance.yaml"), help="the config; default: %(default)s"
    )
    parser.add_argument("--requests", metavar="N", type=int, default=100, help="maximum number; default: %(default)s")
    several(
        parser,
        "--header",
        metavar="'NAME: VALUE'",
        help="header of every request, such as credentials; it is not written into the config; may be repeated",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be sent, and send nothing")
    parser.add_argument("--yes", action="store_true", help="send the writes without a question")


def run(args: argparse.Namespace) -> int:
    """Try, write the config, and return the exit status: 0 something was refused, 2 nothing is known of the API."""
    if args.url is None and args.spec is None:
        raise UsageError("give the API's URL, its description with --spec FILE, or both")
    if args.requests < 1:
        raise UsageError(f"--requests {args.requests}: a number above 0")
    client, headers = _client(args.url), headers_of(args.header)
    for path in (args.out, *([] if args.spec else [_description_path(args.out)])):
        if path.exists() and not args.dry_run:
            raise UsageError(f"{path} is there already: give another file with --out")
    spec, text = _description(args, client, headers)
    document = load(spec) if text is None else parsed(text, args.url)
    attempts = planned(document, args.requests)
    if args.dry_run or client is None:
        found = Found()
        _print_plan(attempts, "would be sent" if args.dry_run else "not tried: no URL was given")
    else:
        found = tried(client, headers, _agreed(attempts, args))
    if args.dry_run:
        return 0
    if text is not None:
        _write(spec, text)
    _write(args.out, config(client.url if client else None, spec, args.out, document, found, attempts))
    refused, accepted = len(found.provocations), len(found.accepted)
    print(f"{args.out}: {refused} requests that the API refuses, {accepted} that it accepts")
    for how, names in found.others.items():
        print(f"{len(names)} of the requests {how}, such as {one_line(names[0], 100)}")
    print(f"next: conformance check --config {args.out}" + " --header ..." * bool(headers))
    return 0 if refused or client is None else 2


def _client(url: str | None) -> HttpClient | None:
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise UsageError("credentials do not belong in the URL: give them with --header")
    try:
        return HttpClient(f"{parts.scheme}://{parts.netloc}")
    except ValueError as problem:
        raise UsageError(str(problem)) from None


def _description_path(out: Path) -> Path:
    return out.with_name(f"{out.stem}.openapi.yaml")


def _description(
    args: argparse.Namespace, client: HttpClient | None, headers: Mapping[str, str]
) -> tuple[Path, str | None]:
    """Return the description's file and, where it comes from the API and is still to be written, its text."""
    if args.spec is not None or client is None:
        return args.spec, None
    path = urlsplit(args.url).path
    for place in (path,) if path.strip("/") else _PLACES:
        response = client.send(HttpRequest("GET", place, tuple(headers.items())))
        if response.error is not None:
            raise UsageError(response.error)
        if response.status == 200:
            return _description_path(args.out), response.body.decode("utf-8", "replace")
    looked = path if path.strip("/") else ", ".join(_PLACES)
    raise UsageError(f"{client.url} has no description at {looked}: give it with --spec FILE")


# what is tried


def planned(document: Mapping[str, Json], most: int) -> list[Attempt]:
    """Return what is to be tried: reads as described, reads that are not, writes that lack what is required.

    Raises UsageError for a description that is none: the packages that read it raise whatever they meet in it.
    """
    try:
        return _planned(document, most)
    except UsageError:
        raise
    except Exception as problem:
        raise UsageError(f"the description is no OpenAPI: {one_line(f'{type(problem).__name__}: {problem}')}") from None


def _planned(document: Mapping[str, Json], most: int) -> list[Attempt]:
    description = Description(document)
    base = base_path(document)
    writes = [attempt for attempt in _bad_writes(description, base) if _is_sendable(attempt.sent)][: (most + 1) // 2]
    reads = [*_good_reads(description, base), *_bad_reads(document, most)]
    sendable = {attempt.sent: attempt for attempt in reads if _is_sendable(attempt.sent)}
    return [*list(sendable.values())[: most - len(writes)], *writes]


def _is_sendable(sent: HttpRequest) -> bool:
    """Whether nothing that a description says leaves its place in the request, or belongs to the connection."""
    return _TARGET.fullmatch(sent.target) is not None and all(
        _NAME.fullmatch(name) and _VALUE.fullmatch(value) and (name.lower() not in _NOT_GIVEN or sent.method != "GET")
        for name, value in sent.headers
    )


def _operations(description: Description) -> Iterator[tuple[str, str, list[Mapping[str, Any]]]]:
    """Yield method, path below the server's, and parameters."""
    for template, item in description.document["paths"].items():
        for method, operation in item.items():
            if method in ("get", "post", "put", "patch") and isinstance(operation, Mapping):
                parameters = [*(item.get("parameters") or ()), *(operation.get("parameters") or ())]
                resolved = [description.resolved(each) for each in parameters if isinstance(each, Mapping)]
                yield method.upper(), template, [each for each in resolved if isinstance(each.get("name"), str)]


def _good_reads(description: Description, base: str) -> Iterator[Attempt]:
    """Yield reads whose required values the description gives."""
    for method, template, parameters in _operations(description):
        required = [each for each in parameters if each.get("required") or each.get("in") == "path"]
        values = {(each.get("in"), str(each.get("name"))): _example(description, each) for each in required}
        if method != "GET" or None in values.values():
            continue
        texts = {place: str(value) for place, value in values.items()}
        query = [(name, value) for (place, name), value in texts.items() if place == "query"]
        headers = tuple((name, value) for (place, name), value in texts.items() if place == "header")
        path = base + _filled(template, {name: v for (place, name), v in texts.items() if place == "path"})
        sent = HttpRequest(method, path + (f"?{urlencode(query)}" if query else ""), headers)
        yield Attempt(f"{method} {template}", f"{method} {template}", sent, accepted=True)


def _example(description: Description, parameter: Mapping[str, Any]) -> Json:
    """Return a value that the description gives for a parameter; None where it gives none."""
    schema, examples = _schema(description, parameter), parameter.get("examples")
    listed = [each.get("value") for each in examples.values()] if isinstance(examples, Mapping) else []
    values = [parameter.get("example"), *listed, schema.get("example"), schema.get("default"), schema.get("const")]
    values += [value for name in ("examples", "enum") for value in schema.get(name) or ()]
    return next((value for value in values if isinstance(value, str | int | float) and value != ""), None)


def _schema(description: Description, parameter: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = parameter.get("schema")
    return description.resolved(schema) if isinstance(schema, Mapping) else {}


def _filled(template: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return template


def _bad_reads(document: Mapping[str, Json], most: int) -> Iterator[Attempt]:
    counts = Counter[str]()
    for generated in plan(document, most=4 * most).requests:
        counts[generated.operation] += 1
        if generated.sent.method == "GET" and counts[generated.operation] <= 2 * _PER_OPERATION:
            yield Attempt(f"{generated.operation}: {generated.what}", generated.operation, generated.sent)


def _bad_writes(description: Description, base: str) -> Iterator[Attempt]:
    """Yield writes with an empty object, where the description requires members that no default stands for."""
    for method, template, parameters in _operations(description):
        if method == "GET":
            continue
        strangers = {each["name"]: _stranger(description, each) for each in parameters if each.get("in") == "path"}
        path = base + _filled(template, strangers)
        if (sent := _empty(description, method, path)) is None:
            continue
        request = request_document(sent)
        places = [each.pointer for each in description.breaches_of(request) or () if each.keyword == "required"]
        schemas = {place: description.schema_at(request, place) or {} for place in places if place.count("/") == 2}
        needed = [place for place, schema in schemas.items() if not {"default", "readOnly"} & set(schema)]
        missing = tuple((pointer_parts(place) or ("",))[-1] for place in needed)
        if missing and places[0].startswith("/body/"):
            name = f"{method} {template} without {', '.join(missing)}"
            yield Attempt(name, f"{method} {template}", sent, missing=missing)


def _empty(description: Description, method: str, path: str) -> HttpRequest | None:
    """Return a request whose body is an object without members; None where the operation takes none."""
    route = description.route(method, path) if "{" not in path else None
    body = description.resolved(route.item.get("requestBody") or {}) if route is not None else {}
    kinds = [str(kind).partition(";")[0].strip().lower() for kind in body.get("content") or ()]
    if (json := next((kind for kind in kinds if kind == _JSON or kind.endswith("+json")), None)) is not None:
        return HttpRequest(method, path, (("Content-Type", json),), b"{}")
    return HttpRequest(method, path, (("Content-Type", _FORM),)) if _FORM in kinds else None


def _stranger(description: Description, parameter: Mapping[str, Any]) -> str:
    """Return the id of a thing that is not there."""
    schema = _schema(description, parameter)
    if schema.get("format") == "uuid":
        return "00000000-0000-4000-8000-000000000000"
    return "999999999" if schema.get("type") in ("integer", "number") else "conformance-is-not-there"


def _agreed(attempts: Sequence[Attempt], args: argparse.Namespace) -> list[Attempt]:
    """Return what may be sent. Writes need a yes."""
    writes = [attempt for attempt in attempts if attempt.writes]
    if not writes or args.yes:
        return list(attempts)
    _print_plan(writes, "writes that the description forbids: what the API does not refuse, it does")
    if sys.stdin.isatty() and input(f"Send them to {args.url}? [y/n] ").strip().lower() in ("y", "yes"):
        return list(attempts)
    print("the writes are not sent: --yes sends them", file=sys.stderr)
    return [attempt for attempt in attempts if not attempt.writes]


def _print_plan(attempts: Sequence[Attempt], what: str) -> None:
    print(f"{len(attempts)} requests, {what}:")
    for attempt in attempts:
        body = f"  {attempt.sent.body.decode()}" if attempt.sent.body else ""
        print(f"  {attempt.sent.method} {one_line(attempt.sent.target)}{body}")


def tried(client: HttpClient, headers: Mapping[str, str], attempts: Iterable[Attempt]) -> Found:
    """Send them, and return what was refused for what it says, and what was accepted."""
    found, by_operation = Found(), dict[str, int]()
    for attempt in attempts:
        if not attempt.accepted and by_operation.get(attempt.operation, 0) >= _PER_OPERATION:
            continue
        sent = attempt.sent.adding(*headers.items(), _ASK)
        response = client.send(sent)
        if response.status == 429:
            found.others.setdefault("and those after it were not sent, since the API wanted no more (429)", []).append(
                attempt.name
            )
            break
        if attempt.accepted and response.status in range(200, 300):
            found.accepted.append(_as_config(attempt.sent))
        elif not attempt.accepted and response.status in _REFUSED:
            by_operation[attempt.operation] = by_operation.get(attempt.operation, 0) + 1
            found.provocations.append(_provocation(attempt, response))
            secretive = sent.adding(_SECRET) if sent.header(_SECRET[0]) is None else None
            if len(found.provocations) == 1 and secretive and client.send(secretive).status == response.status:
                found.provocations.append(_secretive(attempt))
        else:
            found.others.setdefault(_how(attempt, response), []).append(attempt.name)
        time.sleep(_GAP)
    return found


def _how(attempt: Attempt, response: HttpResponse) -> str:
    if response.status == 0 or response.error is not None:
        return "got no whole answer"
    if response.status in (401, 403):
        return f"got {response.status}: credentials are given with --header"
    forbidden = not attempt.accepted and response.status < 400
    return f"got {response.status}" + (", though the description forbids them" if forbidden else "")


def _as_config(sent: HttpRequest) -> dict[str, Json]:
    request = request_document(sent)
    members = {"query": dict(request.query), "headers": dict(request.headers), "body": request.body}
    if members["headers"].get("content-type") in (_JSON, _FORM):
        del members["headers"]["content-type"]
    given = {name: value for name, value in members.items() if value or (name == "body" and value is not None)}
    return {"method": request.method, "path": request.path, **({"form": True} if request.form else {}), **given}


def _provocation(attempt: Attempt, response: HttpResponse) -> dict[str, Json]:
    """Return what the config says of a request that was refused. Faults are counted where the API names each."""
    answer = response.body.decode("utf-8", "replace")
    named = len(attempt.missing) > 1 and all(f'"{name}"' in answer for name in attempt.missing)
    return {
        "name": attempt.name,
        **({"faults": len(attempt.missing)} if named else {}),
        "request": _as_config(attempt.sent),
    }


def _secretive(attempt: Attempt) -> dict[str, Json]:
    """Return the same request with a key that nobody gave out, which no answer may repeat."""
    name, value = _SECRET
    return {
        "name": f"{attempt.name}, with a key",
        "secrets": [value],
        "request": _as_config(attempt.sent.adding((name, value))),
    }


# what is written


def config(
    target: str | None,
    spec: Path,
    out: Path,
    document: Mapping[str, Json],
    found: Found,
    attempts: Sequence[Attempt] = (),
) -> str:
    """Return the config, with comments that say what is missing and which requirements that blocks."""
    relative = spec.absolute()
    if relative.is_relative_to(out.absolute().parent):
        relative = relative.relative_to(out.absolute().parent)
    untried = [] if target else [_provocation(each, _NOTHING) for each in attempts if not each.accepted]
    settings = {
        name: value
        for name, value in (("provocations", found.provocations or untried), ("accepted", found.accepted))
        if value
    }
    subject = {
        "role": "producer",
        "target": target or "http://127.0.0.1:8080",
        "spec": str(relative),
        **({"settings": settings} if settings else {}),
    }
    info = document.get("info")
    title = str(info.get("title") or "my API") if isinstance(info, Mapping) else "my API"
    whole = {"subject": title, "subjects": {"http-json": subject}}
    lines = [
        "# For `conformance check --config`. Providers in the docs explains each member.",
        "# `provocations`: requests that the API refuses. The suite judges what it says of them. `way` says what a",
        "# caller is left with: mends (a request that works), asks (for a value), chooses, ends. With `way: mends` the",
        "# suite sends what the feedback makes of the request, also where that writes.",
        "# `accepted`: requests that the API accepts; they must carry no feedback.",
        *(["# Nothing was tried: set `target`, and take out what the API does not refuse."] if target is None else []),
        "",
        yaml.safe_dump(whole, sort_keys=False, width=110),
    ]
    lines += missing(settings | {"spec": str(spec.absolute())})
    return "\n".join(lines).rstrip() + "\n"


_NOTHING: Final = HttpResponse(0, "", (), b"")


def missing(settings: Mapping[str, Json]) -> list[str]:
    """Return comments that say what is not run with these settings, and which requirements that leaves open."""
    blocked: dict[str, list[str]] = {}
    for check in CHECKS:
        if "producer" not in check.roles or "http-json" not in check.profiles:
            continue
        try:
            list(check.run(Subject("producer", "http-json", config=settings)))
        except Missing as problem:
            blocked.setdefault(str(problem), []).extend(check.requirements)
        except (CouldNotTell, NotApplicable):
            continue
    if not blocked:
        return ["# Nothing is missing."]
    known = {requirement.id: requirement for requirement in book().requirements}
    lines = ["# Still missing:"]
    for what, requirements in blocked.items():
        ids = sorted(set(requirements))
        levels = sorted({known[id].level for id in ids if known[id].must})
        lines.append(f"# - {one_line(what)}")
        lines += [f"#   Without it {levels[0]} is not given. Not run:"] if levels else ["#   Not run:"]
        lines += [f"#   {', '.join(ids[start : start + 8])}" for start in range(0, len(ids), 8)]
    return lines


def _write(path: Path, text: str) -> None:
    with usable(path), path.open("x", encoding="utf-8") as file:
        file.write(text)
