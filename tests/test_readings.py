"""A text of an answer is read in one place: by rows of wordings, and by the table of forms of their own.

Elsewhere a regular expression may be about names, paths, values and forms that a protocol defines.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
READER: Final = (
    "adapters/corrigible/adapters/formats",
    "adapters/corrigible/adapters/reader",
    "proxy/corrigible/proxy/core",
    "rules/corrigible/rules/schema_repair",
)
TABLES: Final = {
    "formats/text_shapes.py": "forms that frameworks print their errors in, data in brackets",
}
"""The table of texts that say their place in a form of their own, and what compiles lists of patterns."""
OF_OTHER_TEXTS: Final = {
    "formats/error_shapes.py": "names of parts of a request",
    "formats/graphql_errors.py": "operations and fragments in paths of errors",
    "formats/pointers.py": "steps of paths that a format tells",
    "formats/google_rpc.py": "steps of paths, durations and codes of google.rpc",
    "formats/keywords.py": "codes of frameworks, numbers",
    "formats/statement.py": "names of headers",
    "core/alternative.py": "variables of templates of paths",
    "core/body_form.py": "media types, names of elements",
    "core/limits.py": "blanks of a body",
    "core/engine.py": "codes of an answer, names of headers",
    "core/feedback.py": "what is invisible in our own texts",
    "core/loop/detector.py": "names of headers",
    "core/loop/fingerprint.py": "fingerprints of what varies",
    "core/mode.py": "the header Prefer",
    "schema_repair/body.py": "media types",
    "schema_repair/first_violation.py": "counts of patterns of schemas",
    "schema_repair/json_schema.py": "patterns of schemas",
    "schema_repair/names.py": "names of members",
    "schema_repair/route.py": "paths",
    "schema_repair/suggestion.py": "names of members",
    "schema_repair/values.py": "values",
}


def patterns() -> dict[str, int]:
    """Return how many calls of a library for regular expressions each module of the reader has."""
    found = {}
    for root in READER:
        for path in sorted((ROOT / root).rglob("*.py")):
            calls = sum(map(_is_pattern, ast.walk(ast.parse(path.read_text("utf-8")))))
            if calls:
                found[str(path.relative_to((ROOT / root).parent))] = calls
    return found


def _is_pattern(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re" | "re2"), attr=name)):
            return name != "escape"
    return False


def test_no_module_more_reads_messages() -> None:
    known = {*TABLES, *OF_OTHER_TEXTS}
    assert patterns().keys() - known == set(), "a sentence is a row of rules/wordings, with an example"


def test_each_module_of_the_lists_has_patterns() -> None:
    found = patterns()
    assert [name for name in {**TABLES, **OF_OTHER_TEXTS} if name not in found] == []
