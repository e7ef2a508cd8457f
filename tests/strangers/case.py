"""The data of a server that was tried without a pack: the truth about each refusal, and what the server answered.

Knows: the form of `cases.json`, templates, wire requests. Does not know: the product's decisions, sockets.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, urlencode

import yaml
from pydantic import BaseModel, ConfigDict, Field

from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.proxy.http.request_reader import read_request
from corrigible.rules.pointer import resolve_segments, segments
from corrigible.schema.document import UNDOCUMENTED, form_pairs, query_pairs, scalar_text
from corrigible.schema.exchange import Json, Protocol, Request, protocol_of

FOLDER: Final = Path(__file__).parent
FOLDS: Final = 12
"""Parts of the servers: what is learned for a part has seen none of its servers."""
_REPAIRABLE: Final = frozenset({"auto", "flagged", "either"})
_FORM: Final = "application/x-www-form-urlencoded"
_SAFE: Final = "/?&=%:@!$'()*+,;~[]-._"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Call(_Data):
    """A request of the truth. `{name}` stands for a value of this run, `{int:name}` for a number."""

    method: str
    path: str
    """With the query."""
    body: Json = None
    media_type: str | None = None
    headers: dict[str, str] = {}
    credentials: str | None = None
    """None: those that the recording was made with; an empty text: none."""
    save: dict[str, str] = {}
    """For a set-up request: values to keep, each by its dotted place in the answer."""

    def wire(self, values: Mapping[str, str]) -> HttpRequest:
        """Return the request as sent, without credentials."""
        body = _filled(self.body, values)
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = self.media_type or "application/json"
        headers |= {name.lower(): _filled(value, values) for name, value in self.headers.items()}
        content = _encoded(body, headers.get("content-type", ""))
        return HttpRequest(self.method, quote(_filled(self.path, values), _SAFE), tuple(headers.items()), content)


class Recorded(_Data):
    """A request as sent, what the server answered, and the look-ups that the product made."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: str = ""
    status: int
    response_headers: list[tuple[str, str]]
    response_body: str
    lookups: dict[str, Json] = {}
    """As in the cases of packs: `GET /path: {answer: {status, body}}`."""

    @property
    def request(self) -> HttpRequest:
        return HttpRequest(self.method, self.target, tuple(self.headers), self.body.encode())


class Case(_Data):
    """One refusal: what was wrong with it, what is right, and what the server answered."""

    name: str
    kind: str
    cls: Literal["auto", "flagged", "either", "ask", "never", "wait", "already"] = Field(alias="class")
    note: str = ""
    setup: list[Call] = []
    request: Call
    right: list[Call] = []
    accepted: list[int] = []
    """The status that the server gave to each of the right requests; 0: not tried."""
    steps: list[Call] = []
    """Requests that mend one fault of several. The server refuses them for another one, which only the caller mends."""
    ask_at: list[str] = []
    terminal_is_right: bool = False
    values: dict[str, str] = {}
    """What the templates stood for in this run."""
    exchanges: list[Recorded] = []
    """The refusal, and the refusals of what was sent next."""

    @property
    def is_repairable(self) -> bool:
        return self.cls in _REPAIRABLE

    def right_requests(self) -> list[Request]:
        """Return the requests of the truth that the server accepts."""
        accepted = self.accepted or [200] * len(self.right)
        calls = [call for call, status in zip(self.right, accepted, strict=True) if status < 400]
        return [document(call.wire(self.values)) for call in calls]

    def single(self) -> list[Request]:
        """Return the requests in which one fault of several is mended."""
        return [document(call.wire(self.values)) for call in self.steps]

    def steps_allowed(self) -> list[Request]:
        """Return the requests of which each change is right, whether or not it is enough."""
        return [*self.right_requests(), *self.single()]


class Figures(_Data):
    """How many of the refusals were answered right."""

    refusals: int
    repairable: int
    repaired: int
    others: int
    answered: int
    """Of the others: told what to ask for, or that there is no way."""
    confirmed: int = 0
    """Of the repaired ones: sent once the caller has said yes, although the wish is certain."""
    harm: int = 0
    flagged_harm: int = 0
    asked_wrong: int = 0

    @property
    def right(self) -> str:
        return f"{self.repaired} of {self.repairable}, {self.answered} of {self.others}"

    @property
    def harms(self) -> str:
        return f"{self.harm} + {self.flagged_harm} flagged" if self.flagged_harm else str(self.harm)


class Stranger(_Data):
    """A server that nobody of this project wrote."""

    server: str
    version: str
    framework: str
    language: str
    licence: str
    """Of the server and its description."""
    date: str
    description: str
    """The file beside this one, as the server gave it."""
    note: str = ""
    first_run: Figures
    """Before the product was changed for any of these cases."""
    cases: list[Case]

    @property
    def is_rpc(self) -> bool:
        """Whether it is tried over gRPC: `method` of a request is `/package.Service/Method`, the path is empty."""
        return self.description.endswith(".binpb")


def names() -> list[str]:
    return sorted(path.parent.name for path in FOLDER.glob("*/cases.json"))


def load(name: str) -> Stranger:
    return Stranger.model_validate_json((FOLDER / name / "cases.json").read_bytes())


OWN: Final = FOLDER / "own"
"""Sentences that no recorded server says, about an API of nobody."""


def load_sentences(file: str) -> Stranger:
    """Read sentences of our own as a server's refusals, each in one of the usual shapes of an answer."""
    read = yaml.load((OWN / file).read_bytes(), Loader=yaml.CSafeLoader)
    cases = [_sentence(number, one, read["requests"][one["to"]]) for number, one in enumerate(read["sentences"])]
    return _of_our_own(file, "town.yaml", cases)


def load_described(file: str, folder: Path) -> list[Stranger]:
    """Read sentences that stand with the API that each group of them is about; descriptions go to a folder."""
    servers = []
    for number, group in enumerate(yaml.load((OWN / file).read_bytes(), Loader=yaml.CSafeLoader)):
        description = folder / f"{number}.json"
        description.write_text(json.dumps(group["api"]), "utf-8")
        cases = [_sentence(number, one, one["to"]) for number, one in enumerate(group["sentences"])]
        servers.append(_of_our_own(group["api"]["info"]["title"], str(description), cases))
    return servers


def _of_our_own(name: str, description: str, cases: list[Case]) -> Stranger:
    about = {"server": name, "version": "", "framework": "", "language": "", "licence": "", "date": ""}
    first_run = Figures(refusals=0, repairable=0, repaired=0, others=0, answered=0)
    return Stranger(**about, description=description, first_run=first_run, cases=cases)


def _sentence(number: int, one: Mapping[str, Json], request: Mapping[str, Json]) -> Case:
    sent = _changed(request, one.get("with", {}))
    text = one["says"] if "says" in one else json.dumps(one["answer"])
    shapes: tuple[Json, ...] = (
        *({"error": text}, {"message": text}, {"detail": text}, {"errors": [{"message": text}]}),
        *({"error": {"code": f"E{number}", "message": text}}, {"status": "failed", "reason": text}),
    )
    wire = Call(**sent).wire({})
    headers = {"content-type": "application/json", **one.get("headers", {})}
    recorded = Recorded(
        method=wire.method,
        target=wire.target,
        headers=list(wire.headers),
        body=wire.body.decode(),
        status=one.get("status", 403),
        response_headers=list(headers.items()),
        response_body=json.dumps(one["answer"] if "answer" in one else shapes[number % len(shapes)]),
        lookups=one.get("lookups", {}),
    )
    return Case(
        name=text,
        kind=one.get("kind", ""),
        cls=one.get("class", "ask" if "at" in one else "never"),
        request=Call(**sent),
        right=[Call(**_changed(sent, one["fix"]))] if "fix" in one else [],
        ask_at=one.get("at", []),
        terminal_is_right=one.get("term", False),
        exchanges=[recorded],
    )


def _changed(request: Mapping[str, Json], changes: Mapping[str, Json]) -> dict[str, Json]:
    changed = copy.deepcopy(dict(request))
    for pointer, value in changes.items():
        *above, name = segments(pointer)
        inner = resolve_segments(changed, above)
        if value is None:
            inner.pop(name, None)
        else:
            inner[int(name) if isinstance(inner, list) else name] = value
    return changed


def fold(name: str) -> int:
    """Return the fold of a server, whatever others are added. Two recordings of one product are in the same."""
    return int.from_bytes(hashlib.sha256(product(name).encode()).digest()[:3]) % FOLDS


def product(name: str) -> str:
    """Return what a recording is of: `cerbos_grpc` is of `cerbos`."""
    return name.partition("_")[0]


def save(name: str, stranger: Stranger) -> None:
    """Write the data, each member of a case on its own line."""
    head = stranger.model_dump(exclude={"cases"}, exclude_defaults=True)
    cases = [case.model_dump(by_alias=True, exclude_defaults=True) for case in stranger.cases]
    text = "{\n" + "".join(f"{_member(*one)},\n" for one in head.items()) + '"cases": [\n'
    text += ",\n".join("{\n" + ",\n".join(_member(*one) for one in case.items()) + "\n}" for case in cases)
    (FOLDER / name / "cases.json").write_text(text + "\n]}\n", "utf-8")


def _member(name: str, value: Json) -> str:
    return f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"


def wire_request(request: Request) -> HttpRequest:
    """Return a request document as it is sent."""
    headers = {name: scalar_text(value) for name, value in request.headers.items()}
    if request.body is not None:
        headers.setdefault("content-type", _FORM if request.form else "application/json")
    target = quote(request.path, _SAFE)
    if request.query:
        target += f"?{urlencode(list(query_pairs(request.query)))}"
    # JSON under the media type of a form stays JSON.
    content = _encoded(request.body, headers.get("content-type", "") if request.form else "")
    return HttpRequest(request.method, target, tuple(headers.items()), content)


def document(request: HttpRequest) -> Request:
    """Return the document of a request, as the product reads it."""
    headers = [(name, value) for name, value in request.headers if name.lower() not in UNDOCUMENTED]
    if protocol_of(request.method) is Protocol.GRPC:
        return Request(request.method, "", headers=dict(headers), body=json.loads(request.body or "null"))
    return read_request(request.method, request.target, headers, request.body)


def _encoded(body: Json, media_type: str) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if media_type == _FORM:
        return urlencode(list(form_pairs(body))).encode()
    return json.dumps(body).encode()


def _filled(template: Json, values: Mapping[str, str]) -> Json:
    match template:
        case str():
            if (number := re.fullmatch(r"\{int:(\w+)\}", template)) is not None:
                return int(values[number[1]])
            return re.sub(r"\{(\w+)\}", lambda name: values.get(name[1], name[0]), template)
        case dict():
            return {name: _filled(value, values) for name, value in template.items()}
        case list():
            return [_filled(value, values) for value in template]
    return template
