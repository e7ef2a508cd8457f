"""What Envoy answers in the API's place: where that does not answer, or its answer is too large to be held back.

Knows: Envoy's schema (v3), what the filters keep in metadata. Does not know: routes, processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .clusters import HELD

Json = dict[str, Any]

_STATUSES: Final = (*range(400, 432), 451, *range(500, 512))
"""Of refusals that may be held back. One that is too large and has another status becomes a 500."""
REQUEST_LATE: Final = "the request took too long"
_TEXT: Final = "text/plain; charset=utf-8"


def local_replies() -> Json:
    """Return the pages for an API that does not answer. They bear a mark, which the filter takes off."""
    mark = {"header": {"key": "x-corrigible-own", "value": "1"}}

    def mapper(flags: Sequence[str], text: str, status: int = 502, tells: Json | None = None) -> Json:
        return {
            "filter": tells or {"response_flag_filter": {"flags": list(flags)}},
            "status_code": status,
            **({"headers_to_add": [mark]} if flags else {}),  # without a head no filter would take it off
            "body_format_override": {
                "text_format_source": {"inline_string": f"corrigible: {text}\n"},
                "content_type": _TEXT,
            },
        }

    def comparison(status: int) -> Json:
        return {
            "status_code_filter": {"comparison": {"op": "EQ", "value": {"default_value": status, "runtime_key": "x"}}}
        }

    any_error = {
        "status_code_filter": {"comparison": {"op": "GE", "value": {"default_value": 400, "runtime_key": "x"}}}
    }
    return {
        "mappers": [
            mapper(["UC", "UR"], "the upstream closed the connection without an answer"),
            mapper(["UPE"], "the upstream's answer is not valid HTTP"),
            mapper(["UF", "UH"], "no connection to the upstream: %UPSTREAM_TRANSPORT_FAILURE_REASON%"),
            mapper(["UT"], "the upstream did not answer in time", 504),
            mapper([], REQUEST_LATE, 408, comparison(408)),
            *map(_too_large, _STATUSES),
            {"filter": any_error, "headers_to_add": [mark]},
        ]
    }


def _too_large(status: int) -> Json:
    """Return the page for a refusal that became too large to be held back. Its status is the API's own."""
    text = f"corrigible: the API's answer has no length, and is over {HELD >> 20} MiB\n"
    return {
        "filter": {
            "and_filter": {
                "filters": [
                    {
                        "status_code_filter": {
                            "comparison": {"op": "EQ", "value": {"default_value": 500, "runtime_key": "x"}}
                        }
                    },
                    {
                        "metadata_filter": {
                            "matcher": {
                                "filter": "corrigible",
                                "path": [{"key": "held"}],
                                "value": {"string_match": {"exact": str(status)}},
                            },
                            "match_if_key_not_found": False,
                        }
                    },
                ]
            }
        },
        "status_code": status,
        "body_format_override": {
            "text_format_source": {"inline_string": text},
            "content_type": _TEXT,
        },
    }
