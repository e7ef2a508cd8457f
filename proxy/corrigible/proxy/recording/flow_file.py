"""mitmproxy flow files as recorded exchanges."""

from __future__ import annotations

from pathlib import Path

from mitmproxy import exceptions, http, io

from corrigible.proxy.http.messages import RequestHead, ResponseHead
from corrigible.rules.errors import AuthoringError, Place

from .reader import Recorded


def read_flows(path: Path) -> list[Recorded]:
    """Read the HTTP flows that have a response. Raises AuthoringError if the file is malformed."""
    exchanges: list[Recorded] = []
    with path.open("rb") as file:
        try:
            for flow in io.FlowReader(file).stream():
                if isinstance(flow, http.HTTPFlow) and flow.response is not None:
                    exchanges.append(_recorded(flow, flow.response))
        except exceptions.FlowReadException as problem:
            raise AuthoringError(Place(path), f"not a flow file: {problem}") from None
        except (
            AttributeError,
            KeyError,
            TypeError,
            ValueError,
        ) as problem:  # mitmproxy's reader raises these for other data
            message = f"not a flow file: {type(problem).__name__}: {problem}"
            raise AuthoringError(Place(path), message) from None
    return exchanges


def _recorded(flow: http.HTTPFlow, response: http.Response) -> Recorded:
    request = flow.request
    return Recorded(
        f"{request.method} {request.path}",
        RequestHead(request.method, request.path, _pairs(request.headers)),
        request.raw_content or b"",
        ResponseHead(response.status_code, _pairs(response.headers)),
        response.raw_content or b"",
        request.timestamp_start,
    )


def _pairs(headers: http.Headers) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields]
