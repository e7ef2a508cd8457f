"""What is wrong with `error:` and `operation:` of a pack, beyond the shape of each."""

from __future__ import annotations

from collections.abc import Iterator

from corrigible.rules.errors import AuthoringError, suggest_spelling
from corrigible.rules.language.pack_model import PackText
from corrigible.rules.language.yaml_source import Source

from .operation_names import is_path

_CREDENTIALS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "api-key"})
"""Headers that are no part of a request or an answer as rules see them."""


def mapping_problems(manifest: Source, text: PackText) -> Iterator[AuthoringError]:
    for key in text.operations:
        if not is_path(key) and not text.operation:
            yield manifest.error(("operations", key), f'"{key}" is no method and path; a name needs "operation"')
    is_single = isinstance(manifest.data.get("operation"), dict)
    for index, source in enumerate(text.operation):
        trail = ("operation", "header") if is_single else ("operation", index, "header")
        if source.header is not None and source.header.lower() in _CREDENTIALS:
            yield manifest.error(trail, f'"{source.header}" is a credential, which rules never see')
    if text.error is None:
        return
    if text.error.refused and text.dialect is not None:
        yield manifest.error(("error", "refused"), f'the dialect "{text.dialect}" says which successes are refusals')
    known = set(text.operations.values())
    for refused in text.error.refused:
        for name in refused.operations:
            if name not in known:
                hint = suggest_spelling(name, known)
                yield manifest.error(("error", "refused"), f'"{name}" is none of the operations of pack.yaml{hint}')
