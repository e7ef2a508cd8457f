"""Errors inside of a stream that began as a success: the event that has one goes out with the correction.

Knows: the JSON of such an event, what model APIs call their errors. Does not know: mitmproxy, sockets, rules. Sources:
https://platform.claude.com/docs/en/build-with-claude/streaming, https://openrouter.ai/docs/api/reference/streaming.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from corrigible.proxy.access_log.entry import Entry, with_outcome
from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER, run_with_lookups_sync

_LONGEST: Final = 1 << 16
_JSON: Final = [("content-type", "application/json")]
_STATUSES: Final = {
    **{"authentication_error": 401, "permission_error": 403, "not_found_error": 404, "request_too_large": 413},
    **{"rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 429, "api_error": 500},
    **{"server_error": 500, "timeout_error": 504, "overloaded_error": 529, "server_is_overloaded": 503},
}
"""By the type or code of an error: the status that it has where no stream has begun. All others are 400."""

logger = logging.getLogger(__name__)


class ErrorEvents:
    """The events of one answer. The first error ends what is said, and no later event is read.

    Nothing raises, and no look-up is made: an event without an error passes as it came.
    """

    def __init__(self, corrector: HttpCorrector, request: RequestHead, body: bytes, recorder: Recorder) -> None:
        self._corrector, self._request, self._body, self._recorder = corrector, request, body, recorder
        self._has_ended = False

    def __call__(self, data: bytes) -> bytes:
        """Return the data of an event as the client gets it."""
        if self._has_ended or b'"error"' not in data or len(data) > _LONGEST:
            return data
        try:
            event = json.loads(data)
            error = _error_of(event) if isinstance(event, dict) else {}
            if not isinstance(error, dict) or not isinstance(error.get("message"), str):
                return data
            self._has_ended = True
            return self._corrected(data, status_of(error))
        except (ValueError, RecursionError):
            return data
        except Exception:  # our own failure: the event passes
            logger.exception("a mistake of ours, the event passes")
            return data

    def _corrected(self, data: bytes, status: int) -> bytes:
        id, started = uuid4().hex, time.time()
        native = HttpExchange(self._request, self._body, ResponseHead(status, _JSON), data)
        steps = self._corrector.correct(native, id=id, started=started)
        outcome = run_with_lookups_sync(steps, lambda lookup: NO_ANSWER, self._corrector.limits)
        seconds = time.time() - started
        head = (self._request.method, self._request.path, status)
        entry = Entry(started, id, *head, "untouched", seconds * 1000, correction=seconds)
        self._recorder.write(with_outcome(entry, outcome))
        return data if outcome.rewrite is None else outcome.rewrite.body


def _error_of(event: Mapping[str, Any]) -> Any:
    """Return the error of an event: its member, that of its `response` (the Responses API), or the event itself."""
    inner = event.get("response")
    beside = inner.get("error") if isinstance(inner, dict) else None
    return event.get("error", beside or (event if event.get("type") == "error" else {}))


def status_of(error: Mapping[str, Any]) -> int:
    """Return the status that an error has where no stream has begun."""
    code = error.get("code")
    if type(code) is int and 400 <= code < 600:
        return code
    known = (_STATUSES.get(word) for word in (error.get("type"), code) if isinstance(word, str))
    return next((status for status in known if status is not None), 400)
