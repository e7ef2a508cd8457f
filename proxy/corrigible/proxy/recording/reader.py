"""Reads recorded exchanges: HAR 1.2, mitmproxy flow files, and JSON captures."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import orjson

from corrigible.proxy.core.limits import Limits
from corrigible.proxy.http.messages import RequestHead, ResponseHead
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.lookup import Lookup, LookupAnswer, kept_headers
from corrigible.schema.content_encoding import coding
from corrigible.schema.document import form_pairs
from corrigible.schema.extra import install_line


@dataclass(frozen=True, slots=True)
class Recorded:
    """One exchange as messages, with a name."""

    name: str
    request: RequestHead
    request_body: bytes
    response: ResponseHead
    response_body: bytes
    started: float = 0.0


@dataclass(frozen=True, slots=True)
class Recording:
    exchanges: tuple[Recorded, ...]
    reads: Mapping[str, LookupAnswer]
    """Successful GETs of the same recording, by path and query. They answer look-ups."""

    def fetch(self, lookup: Lookup) -> LookupAnswer:
        return self.reads.get(lookup.path, LookupAnswer(0)) if lookup.method == "GET" else LookupAnswer(0)


def read_recording(path: Path) -> Recording:
    """Read a file of any of the three kinds. Raises AuthoringError if it is malformed."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(path, 0), f"cannot be read: {problem.strerror}") from None
    try:
        document = orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as problem:
        if _is_access_log(data):
            raise AuthoringError(Place(path), _NO_BODIES) from None
        if _looks_like_flows(data):
            try:
                from .flow_file import read_flows
            except ImportError:
                raise AuthoringError(Place(path), f"this is a flow file: {install_line('mitmproxy')}") from None
            try:
                return recording([_checked(recorded) for recorded in read_flows(path)])
            except AuthoringError:
                raise
            except Exception as wrong:  # from mitmproxy's reader, whatever it is
                raise AuthoringError(Place(path), f"malformed: {type(wrong).__name__}: {wrong}") from None
        raise AuthoringError(Place(path, problem.lineno), f"neither JSON nor a flow file: {problem.msg}") from None
    try:
        if isinstance(document, dict) and isinstance(document.get("log"), dict):
            return recording(list(_entries(document["log"])))
        if isinstance(document, dict) and "request" in document and "response" in document:
            return capture(document, path.stem)
    except RecursionError:
        raise AuthoringError(Place(path), "malformed: nested too deep") from None
    except _Malformed as problem:
        raise AuthoringError(Place(path), f"malformed: {problem}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise AuthoringError(Place(path), f"malformed: {type(problem).__name__}: {problem}") from None
    if _is_access_log(data):  # of one line
        raise AuthoringError(Place(path), _NO_BODIES)
    raise AuthoringError(Place(path), 'expected HAR ("log"), or a capture ("request" and "response"), or a flow file')


def recording(exchanges: Sequence[Recorded]) -> Recording:
    """Return a recording whose own reads answer look-ups."""
    reads = {
        recorded.request.target: LookupAnswer(
            200,
            decoded(recorded.response.headers, recorded.response_body),
            kept_headers(recorded.response.headers),
        )
        for recorded in exchanges
        if recorded.request.method == "GET" and recorded.response.status == 200
    }
    return Recording(tuple(exchanges), reads)


def decoded(headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    """Return a body without its Content-Encoding, or unchanged if the coding is unknown."""
    for name, value in headers:
        if name.lower() == "content-encoding" and (scheme := coding(value)) is not None:
            with suppress(ValueError):
                return scheme.decode(body, Limits().body)
    return body


_NO_BODIES: Final = (
    "this is a log of corrigible proxy --log: it has no bodies; record with mitmdump -w FILE or a HAR export"
)


def _is_access_log(data: bytes) -> bool:
    """Whether the first line is an entry of the access log."""
    try:
        entry = orjson.loads(data.partition(b"\n")[0])
    except orjson.JSONDecodeError:
        return False
    return isinstance(entry, dict) and (entry.keys() >= {"time", "method", "outcome"} or entry.keys() == _DROPPED)


_DROPPED: Final = {"time", "dropped"}


def _looks_like_flows(data: bytes) -> bool:
    """A flow file is a tnetstring: a length, a colon, and so on."""
    head = data[:12].partition(b":")
    return bool(head[1]) and head[0].isdigit()


class _Malformed(ValueError):
    """A part of a recording has the wrong type. The message names the part."""


def _entries(log: Mapping[str, Any]) -> Iterator[Recorded]:
    """Read the entries of a HAR file. An error names the number of the entry."""
    for number, entry in enumerate(log["entries"]):
        try:
            yield from map(_checked, _har([entry], number))
        except RecursionError:
            raise _Malformed(f"nested too deep (log/entries/{number})") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            message = str(problem) if isinstance(problem, _Malformed) else f"{type(problem).__name__}: {problem}"
            raise _Malformed(f"{message} (log/entries/{number})") from None


def _checked(recorded: Recorded) -> Recorded:
    """Return the exchange. Raises _Malformed if a part has the wrong type."""
    for whose, headers in (("request", recorded.request.headers), ("response", recorded.response.headers)):
        for name, value in headers:
            if not isinstance(name, str) or not isinstance(value, str):
                raise _Malformed(f"{whose}/headers/{name} is not text")
    for field, text in (("request/method", recorded.request.method), ("request/path", recorded.request.target)):
        if not isinstance(text, str):
            raise _Malformed(f"{field} is not text")
    if not 0 <= recorded.response.status <= 999:
        raise _Malformed(f"response/status {recorded.response.status} is not a status")
    return recorded


def _har(entries: Sequence[Mapping[str, Any]], first: int) -> Iterator[Recorded]:
    for number, entry in enumerate(entries, start=first):
        request, response = entry["request"], entry["response"]
        parts = urlsplit(request["url"])
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        posted = request.get("postData") or {}
        text = posted.get("text") or urlencode([(p["name"], p.get("value", "")) for p in posted.get("params", ())])
        content = response.get("content") or {}
        body = content.get("text") or ""
        if content.get("encoding") == "base64":
            plain = base64.b64decode("".join(body.split()), validate=True)
        else:
            plain = body.encode()
        headers = _pairs(request.get("headers", ()))
        if posted.get("mimeType") and not any(name.lower() == "content-type" for name, _ in headers):
            headers.append(("Content-Type", posted["mimeType"]))
        yield Recorded(
            f"{number + 1} {request['method']} {target}",
            RequestHead(request["method"], target, headers),
            text.encode(),
            # HAR 1.2 section content: the text is stored decoded, so the header no longer describes it.
            ResponseHead(
                int(response["status"]), _decoded_headers(_pairs(response.get("headers", ())), content.get("mimeType"))
            ),
            plain,
            _unix(entry.get("startedDateTime")),
        )


def _unix(date: str | None) -> float:
    try:
        return datetime.fromisoformat(date).timestamp() if date else 0.0
    except ValueError:
        return 0.0


def _pairs(listed: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    return [(item["name"], item["value"]) for item in listed if not item["name"].startswith(":")]


def _decoded_headers(headers: list[tuple[str, str]], media: str | None) -> list[tuple[str, str]]:
    remaining = [
        (n, v) for n, v in headers if n.lower() not in ("content-encoding", "content-length", "transfer-encoding")
    ]
    if media and not any(name.lower() == "content-type" for name, _ in remaining):
        remaining.append(("Content-Type", media))
    return remaining


def capture(document: Mapping[str, Any], name: str) -> Recording:
    """Read a JSON capture: `request` and `response`, and lists of further pairs in `setup` and `fix`."""
    main = _captured(document["request"], document["response"], document.get("case") or name)
    further = [
        _captured(pair["request"], pair["response"], "read")
        for key in ("setup", "fix")
        for pair in document.get(key) or ()
        if isinstance(pair, dict) and "request" in pair and isinstance(pair.get("response"), dict)
    ]
    return Recording((main,), recording(further).reads)


def _captured(request: Mapping[str, Any], response: Mapping[str, Any], name: str) -> Recorded:
    headers = list((request.get("headers") or {}).items())
    form = any(n.lower() == "content-type" and "form-urlencoded" in v for n, v in headers)
    response_headers = list((response.get("headers") or {}).items()) or [("Content-Type", "application/json")]
    return _checked(
        Recorded(
            str(name),
            RequestHead(request["method"], request["path"], headers),
            _bytes(request.get("body"), form=form),
            ResponseHead(int(response["status"]), _decoded_headers(response_headers, None)),
            _bytes(response.get("body"), form=False),
        )
    )


def _bytes(body: Any, *, form: bool) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    return urlencode(list(form_pairs(body))).encode() if form else orjson.dumps(body)
