"""What authors may write shorter than CEL has it, rewritten to CEL before an expression is compiled.

* `body.card.number`: null where a member is missing, or the body is no object. `query` and `headers` too.
* `intent.?charge.?id.orValue('none')`: CEL's optionals, with null as good as missing at every step.
* `is_near(a, b)`: a function of pack.yaml.
* `at(spec, x)`: the function looks at the document by its name, since to hand over a large one takes milliseconds.

Knows: CEL's text and literals. Does not know: values, rules, the runtime.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.errors import CorrigibleError
from corrigible.rules.pointer import escape

TYPED: Final = ("body", "query", "headers")
"""Parts of the request whose members are null where they are missing."""
BY_NAME: Final = ("at", "edits", "find", "names")
"""Functions whose first argument is a document."""
DOCUMENTS: Final = ("request", "response", "spec", "tables", *TYPED)

LONGEST: Final = 4000
"""Characters of an expression with the pack's functions written out: functions of functions could double each time."""

_LITERAL = re.compile(r"""(?P<q>'''|\"\"\"|'|")(?:\\.|(?!(?P=q)).)*(?P=q)""", re.DOTALL)
_BY_NAME = re.compile(rf"(?<![\w.])({'|'.join(BY_NAME)})\(\s*({'|'.join(DOCUMENTS)})\s*,")
_MEMBER = r"(?:\.[A-Za-z_]\w*|\[(?:'_*'|\"_*\")\])"
_TYPED = re.compile(rf"(?<![\w.])({'|'.join(TYPED)})({_MEMBER}+)(?P<call>\()?")
_OPTIONAL = re.compile(
    r"(?<![\w.])(?P<root>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[[^\[\]()]*\])*)"
    r"(?P<path>\.\?[A-Za-z_]\w*(?:\.\??[A-Za-z_]\w*)*?)\.(?P<end>orValue\(|hasValue\(\))"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMBER_NAME = re.compile(r"(?<=[\w)\]}'\"])(?<!\bin)\.\??[A-Za-z_]\w*")
_CALLED = re.compile(r"(?<![\w.])(\w+)\s*\(")
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(.*?)\]")
_SIMPLE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|'_*'|\"_*\"|\d+")
_SIGNATURE = re.compile(r"\s*([a-z][a-z0-9_]*)\s*\(\s*([a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*)?\s*\)\s*")


class ShorthandError(CorrigibleError):
    """A call of a pack's function cannot be written out."""


@dataclass(frozen=True, slots=True)
class PackFunction:
    """A named expression of pack.yaml, calls of earlier functions written out."""

    name: str
    parameters: tuple[str, ...]
    body: str


Functions = Mapping[str, PackFunction]


def words(text: str) -> frozenset[str]:
    """Return the identifiers of an expression."""
    return frozenset(_WORD.findall(without_literals(text)))


def roots(code: str) -> frozenset[str]:
    """Return the identifiers of an expression, in CEL itself, except those after the `.` of something."""
    return frozenset(_WORD.findall(_MEMBER_NAME.sub(" ", without_literals(code))))


def signature(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Split `name(a, b)`; None where it is no signature."""
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        return None
    return match[1], tuple(part.strip() for part in match[2].split(",")) if match[2] else ()


def without_literals(text: str) -> str:
    """Return the expression with `_` for each character inside a literal text."""
    if "'" not in text and '"' not in text:
        return text
    return _LITERAL.sub(lambda m: m["q"] + "_" * (len(m[0]) - 2 * len(m["q"])) + m["q"], text)


def rewrite(text: str) -> str:
    """Return plain CEL for an expression, calls of a pack's functions written out already."""
    text = _optionals(text)
    text = _typed_members(text)
    masked = without_literals(text)
    return _replace(text, [(*m.span(), f"{m[1]}_{m[2]}(") for m in _BY_NAME.finditer(masked)])


def expand(text: str, functions: Functions) -> str:
    """Write out the calls of a pack's functions. Raises ShorthandError for a wrong number of arguments."""
    if len(text) > LONGEST:
        raise ShorthandError(f"an expression of {len(text):,} characters, {LONGEST:,} are the most")
    if not functions:
        return text
    number = 0
    masked = without_literals(text)
    while (match := _first_call(masked, functions)) is not None:
        function = functions[match[1]]
        arguments, end = _arguments(text, masked, match.end())
        if len(arguments) != len(function.parameters):
            wanted = f"{function.name}({', '.join(function.parameters)})"
            raise ShorthandError(f"{function.name} is called with {len(arguments)} arguments, pack.yaml has {wanted}")
        number += 1
        text = text[: match.start()] + _call(function, arguments, number) + text[end:]
        if len(text) > LONGEST:
            raise ShorthandError(f"more than {LONGEST:,} characters with the pack's functions written out")
        masked = without_literals(text)
    return text


def _first_call(masked: str, functions: Functions) -> re.Match[str] | None:
    return next((match for match in _CALLED.finditer(masked) if match[1] in functions), None)


def _call(function: PackFunction, arguments: Sequence[str], number: int) -> str:
    body, masked = function.body, without_literals(function.body)
    names = {}
    bound = []
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        root = re.match(r"\w*", argument)
        captured = root is not None and re.search(rf"\(\s*{re.escape(root[0])}\s*,", masked) is not None
        if _SIMPLE.fullmatch(without_literals(argument)) and not captured:
            names[parameter] = argument
        else:
            names[parameter] = f"{parameter}__{number}"
            bound.append((names[parameter], argument))
    if names:
        words = re.compile(rf"(?<![\w.])({'|'.join(names)})(?!\w)")
        body = _replace(body, [(*m.span(), names[m[1]]) for m in words.finditer(masked)])
    for name, argument in reversed(bound):
        body = f"cel.bind({name}, {argument}, {body})"
    return f"({body})"


def _arguments(text: str, masked: str, start: int) -> tuple[list[str], int]:
    """Return the arguments of a call whose `(` stands before `start`, and where the call ends."""
    depth, begin = 0, start
    out: list[str] = []
    for index in range(start, len(masked)):
        mark = masked[index]
        if mark in "([{":
            depth += 1
        elif mark in ")]}" and depth:
            depth -= 1
        elif mark == ")":
            last = text[begin:index].strip()
            return [*out, last] if last or out else [], index + 1
        elif mark == "," and not depth:
            out.append(text[begin:index].strip())
            begin = index + 1
    raise ShorthandError("a call has no closing bracket")


def _optionals(text: str) -> str:
    while (m := _OPTIONAL.search(without_literals(text))) is not None:
        root = text[slice(*m.span("root"))]
        pointer = "".join("/" + name for name in re.findall(r"[A-Za-z_]\w*", m["path"]))
        value = f"at({root}, '{pointer}')"
        new = f"or_value({value}, " if m["end"] == "orValue(" else f"({value} != null)"
        text = text[: m.start()] + new + text[m.end() :]
    return text


def _typed_members(text: str) -> str:
    masked = without_literals(text)
    edits: list[tuple[int, int, str]] = []
    for m in _TYPED.finditer(masked):
        end = m.end(2)
        if m["call"]:  # the last name is a method's
            dot = masked.rfind(".", m.start(2), end)
            if dot < m.start(2) or masked[end - 1] == "]":
                continue
            end = dot
        pointer = "".join("/" + escape(_name(step)) for step in _STEP.finditer(text[m.start(2) : end]))
        if not pointer:
            continue
        value = f"at_{m[1]}({_quoted(pointer)})"
        if masked[: m.start()].endswith("has(") and masked[end : end + 1] == ")":
            edits.append((m.start() - 4, end + 1, f"({value} != null)"))
        else:
            edits.append((m.start(), end, value))
    return _replace(text, edits)


def _name(step: re.Match[str]) -> str:
    return step[1] if step[1] is not None else step[2][1:-1]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _replace(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text
