"""Calls an API's operations as tools; a refused call is answered with a short correction for the model.

Knows: how a result is told to a model. Does not know: agents' frameworks: those have modules of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx

from corrigible.schema.document import SENDERS_OWN, form_pairs, query_pairs
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Feedback
from corrigible.schema.printable import printable
from corrigible.schema.reader import Next, apply

from .correction import Outcome
from .httpx import EXTENSION, AsyncCorrigibleTransport, CorrigibleTransport
from .policy import Policy
from .tool import ArgumentProblem, Tool, tools_of

_LONGEST_RESULT: Final = 20_000
_LONGEST_ERROR: Final = 2_000
"""Characters of an error without feedback: pages of gateways are long."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a model is told."""

    text: str
    is_error: bool = False
    status: int = 0
    """Of HTTP; 0 if nothing was sent."""
    feedback: Feedback | None = None
    corrected: ToolCall | None = None
    """The call that the correction amounts to, if it is complete."""
    needs_confirmation: bool = False
    """Whether the user has to agree to the corrected call."""


class Toolset:
    """The operations of an API, called through Corrigible: `base_url` is the proxy's address."""

    def __init__(
        self,
        description: Mapping[str, Any],
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        names: Iterable[str] | None = None,
        transport: httpx.BaseTransport | None = None,
        async_transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`description` is an OpenAPI 3 document. `names` are the tools that are wanted; by default all.

        `policy` says what is sent again without the model; by default nothing. Raises ValueError for a description of
        another kind and for names that it has not, and TypeError for a description that is no mapping.
        """
        if not isinstance(description, Mapping):
            kind = type(description).__name__
            raise TypeError(
                f"description: give the OpenAPI document as a dict (json.load, yaml.safe_load), not a {kind}"
            )
        if not str(description.get("openapi", "")).startswith("3."):
            raise ValueError("the description is no OpenAPI 3 document")
        tools = {tool.name: tool for tool in tools_of(description)}
        if names is not None:
            wanted = list(names)
            missing = [name for name in wanted if name not in tools]
            if missing:
                raise ValueError(f"the description has no operation {', '.join(missing)}")
            tools = {name: tools[name] for name in wanted}
        self.tools: Final = tools
        self._base = base_url.rstrip("/") + _base_path(description, base_url)
        self._headers = dict(headers or {})
        self._own = {*map(str.lower, self._headers), *SENDERS_OWN} - {"accept"}
        self._policy = policy
        self._transport, self._async_transport = transport, async_transport

    def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Call an operation. Whatever goes wrong is told in the result."""
        try:
            tool, sent = self._request(name, arguments)
        except ArgumentProblem as problem:
            return ToolResult(str(problem), is_error=True)
        transport = CorrigibleTransport(self._policy, transport=self._transport)
        try:
            with httpx.Client(transport=transport) as client:
                response = client.send(self._native(name, sent, client))
        except ArgumentProblem as problem:
            return ToolResult(str(problem), is_error=True)
        except httpx.HTTPError as problem:
            return _unanswered(name, problem)
        return self._result(tool, sent, arguments, response)

    async def acall(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """The same without blocking."""
        try:
            tool, sent = self._request(name, arguments)
        except ArgumentProblem as problem:
            return ToolResult(str(problem), is_error=True)
        transport = AsyncCorrigibleTransport(self._policy, transport=self._async_transport)
        try:
            async with httpx.AsyncClient(transport=transport) as client:
                response = await client.send(self._native(name, sent, client))
        except ArgumentProblem as problem:
            return ToolResult(str(problem), is_error=True)
        except httpx.HTTPError as problem:
            return _unanswered(name, problem)
        return self._result(tool, sent, arguments, response)

    def _request(self, name: str, arguments: Mapping[str, Json]) -> tuple[Tool, Request]:
        tool = self.tools.get(name)
        if tool is None:
            raise ArgumentProblem(f"There is no tool {name}. The tools are: {', '.join(self.tools)}.")
        try:
            return tool, tool.request(arguments)
        except ArgumentProblem:
            raise
        except (ValueError, RecursionError):  # no Unicode, or a number of thousands of digits
            raise _unsendable(name) from None

    def _native(self, name: str, sent: Request, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        try:
            query = urlencode(list(query_pairs(sent.query)))
            content = None
            if sent.body is not None:
                is_form = sent.form
                text = urlencode(list(form_pairs(sent.body))) if is_form else json.dumps(sent.body, ensure_ascii=False)
                content = text.encode()
            url = f"{self._base}{sent.path}{'?' if query else ''}{query}"
            headers = httpx.Headers({"accept": "application/json", **self._headers})
            headers.update({key: value for key, value in sent.headers.items() if key not in self._own})
            return client.build_request(sent.method, url, headers=headers, content=content)
        except (ValueError, RecursionError, httpx.InvalidURL):
            raise _unsendable(name) from None

    def _result(self, tool: Tool, sent: Request, arguments: Mapping[str, Json], response: httpx.Response) -> ToolResult:
        outcome: Outcome | None = response.extensions.get(EXTENSION)
        status = response.status_code
        feedback = outcome.feedback if outcome is not None else None
        if feedback is None and status < 400:
            text = _cut(_decoded(response), _LONGEST_RESULT) or f"{status} {response.reason_phrase}"
            corrections = outcome.corrections if outcome is not None else ()
            history = [f"Corrected and sent again: {correction}" for correction in corrections]
            return ToolResult("\n".join([*history, text]), status=status)
        refused = f"{tool.name} was refused ({status} {response.reason_phrase})"
        if outcome is None or feedback is None:
            return ToolResult(f"{refused}: {_cut(_decoded(response), _LONGEST_ERROR)}", is_error=True, status=status)
        base = urlsplit(self._base).path
        document = Request(
            sent.method, base + sent.path, query=sent.query, headers=sent.headers, body=sent.body, form=sent.form
        )
        corrected, needs_confirmation = self._corrected(tool, document, arguments, feedback, base)
        lines = [f"{refused}.", outcome.explanation]
        if corrected is not None:
            start = "If the user agrees, call" if needs_confirmation else "Call"
            text = json.dumps(corrected.arguments, ensure_ascii=False)
            lines.append(printable(f"{start} {corrected.name} with {text}"))
        return ToolResult("\n".join(lines), True, status, feedback, corrected, needs_confirmation)

    def _corrected(
        self, tool: Tool, document: Request, arguments: Mapping[str, Json], feedback: Feedback, base: str
    ) -> tuple[ToolCall | None, bool]:
        """Return the call that the corrected request is, of this tool or another one, and whether it is asked about."""
        following = apply(feedback, document, confirm=True)
        if not isinstance(following, Next) or following.steps:
            return None, False
        needs_confirmation = any(feedback.suggestions[index].needs_confirmation for index in following.applied)
        after = _below(following.request, base)
        if after is None:
            return None, False
        before = _below(document, base) or document
        for candidate in (tool, *self.tools.values()):
            original = arguments if candidate is tool else {}
            found = candidate.arguments(after, before, original)
            if found is not None:
                is_more = candidate.method != tool.method and (tool.method == "GET" or candidate.method == "DELETE")
                return ToolCall(candidate.name, found), needs_confirmation or is_more
        return None, False


def _below(request: Request, base: str) -> Request | None:
    if not request.path.startswith(f"{base}/"):
        return None
    path = request.path[len(base) :]
    return Request(request.method, path, query=request.query, headers=request.headers, body=request.body)


def _base_path(description: Mapping[str, Any], base_url: str) -> str:
    """Return the path of the description's first server, unless the address has one of its own."""
    servers = description.get("servers")
    url = servers[0].get("url") if isinstance(servers, list) and servers and isinstance(servers[0], dict) else None
    if not isinstance(url, str) or "{" in url or urlsplit(base_url).path not in ("", "/"):
        return ""
    path = urlsplit(url).path.rstrip("/")
    return path if path.startswith("/") else ""  # behind an address, `@other.example` would be another host


def _unsendable(name: str) -> ArgumentProblem:
    return ArgumentProblem(f"The arguments of {name} cannot be sent: too long, too deep, or no valid text.")


def _unanswered(name: str, problem: httpx.HTTPError) -> ToolResult:
    # An error of what we would have sent quotes it, with the credentials.
    why = "" if isinstance(problem, httpx.LocalProtocolError) else f": {_cut(str(problem), _LONGEST_ERROR)}"
    return ToolResult(f"{name} was not answered: {type(problem).__name__}{why}", is_error=True)


def _decoded(response: httpx.Response) -> str:
    try:
        return response.text
    except Exception:  # `charset=zlib` and others name codecs that are no encodings of text
        return response.content.decode("utf-8", "replace")


def _cut(text: str, longest: int) -> str:
    plain = printable(text)
    return plain if len(plain) <= longest else f"{plain[:longest]}... (cut, {len(plain)} characters)"
