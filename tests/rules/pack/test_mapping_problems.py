"""Mistakes under `error`, `operation` and `lookups` of pack.yaml, each with its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.rules.errors import AuthoringError
from corrigible.rules.pack.load import load_pack
from tests._support.rows import rows

NOT_LISTED = '"PostMesage" is none of the operations of pack.yaml; did you mean "PostMessage"?'


@rows(
    ("manifest", "problems"),
    [
        ("error:\n  cod: /a", ['7: unknown key "cod" in error; did you mean "code"?']),
        ("error:\n  style: dotted", ["6: error needs code or message"]),
        ("error:\n  code: {pointer: /a, header: b}", ["7: code says exactly one of pointer, header"]),
        ("error:\n  code: a", ["7: \"code\": string should match pattern '^(/.*)?$'"]),
        (
            "error:\n  code: /a\n  details:\n    each: /errors",
            ["9: \"each\": string should match pattern '^(/[^/]*)*/\\*$'"],
        ),
        ("error:\n  code: /a\n  style: doted", ['8: "style" is doted, expected dotted, pointer or bracketed; did you']),
        ("operations: {PutItem: PutItem}", ['6: "PutItem" is no method and path; a name needs "operation"']),
        ("operation:\n  - {after: x}", ["7: operation says exactly one of header, body, query"]),
        (
            "operation:\n  - {query: a}\n  - {header: Authorization}",
            ['8: "Authorization" is a credential, which rules never see'],
        ),
        (
            "operations: {POST /: PostMessage}\nerror:\n  refused: {operations: PostMesage, pointer: /ok, equals: 1}",
            [f"8: {NOT_LISTED}"],
        ),
        (
            "operations: {POST /: A}\nerror:\n  refused: {operations: A, pointer: /ok}",
            ["8: refused says exactly one of equals, exists, begins"],
        ),
        (
            "dialect: a2a\noperations: {POST /: A}\nerror:\n  refused: {operations: A, pointer: /ok, exists: true}",
            ['9: the dialect "a2a" says which successes are refusals'],
        ),
        (
            'lookups:\n  - "POST /flows/{id}"',
            ['7: "POST /flows/{id}": the last part of a path that is read by POST is fixed'],
        ),
    ],
)
def test_a_mapping_that_is_wrong(write_pack: Callable[..., Path], manifest: str, problems: list[str]) -> None:
    folder = write_pack(manifest=manifest)
    with pytest.raises(AuthoringError) as caught:
        load_pack(folder)
    lines = str(caught.value).replace(f"{folder}/pack.yaml:", "").splitlines()
    assert len(lines) == len(problems)
    assert all(line.startswith(problem) for line, problem in zip(lines, problems, strict=True)), lines


def test_a_look_up_by_post_that_is_not_listed(write_pack: Callable[..., Path]) -> None:
    rule = "lookup:\n  x: {post: \"'/flows/filter'\"}\nsuggest: [{action: ESCALATE, actor: you, message: m}]\n"
    with pytest.raises(AuthoringError, match=r'7: "POST /flows/filter" fits none of the lookups'):
        load_pack(write_pack(manifest="lookups: [/flows/filter]\n", a=rule))
    load_pack(write_pack(manifest='lookups: ["POST /flows/filter"]\n', a=rule))
