"""Google's CEL runtime as the oracle of ours: what an expression gives there, with the functions of packs.

What packs write shorter than CEL has it is written out in the text, by rules of its own: it shares nothing with the
evaluator that it judges but the functions of packs.
"""

from __future__ import annotations

import ctypes
import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from corrigible.rules.language.expression import DEFINITIONS, OWN
from corrigible.rules.language.standard import Type
from corrigible.rules.pointer import escape

if sys.version_info < (3, 12):  # cel-expr-python 0.1.3 hands out `None` without a reference of its own
    ctypes.c_ssize_t.from_address(id(None)).value += 1 << 60

Functions = Mapping[str, tuple[Sequence[str], str]]
"""The functions of a pack: parameters and body by name."""
ERROR: Final = ("error",)

_LITERAL = re.compile(r"""(?P<q>'''|\"\"\"|'|")(?:\\.|(?!(?P=q)).)*(?P=q)""", re.DOTALL)
_MEMBER = r"(?:\.[A-Za-z_]\w*|\[(?:'_*'|\"_*\")\])"
_TYPED = re.compile(rf"(?<![\w.])(body|query|headers)({_MEMBER}+)(?P<call>\()?")
_OPTIONAL = re.compile(
    r"(?<![\w.])(?P<root>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[[^\[\]()]*\])*)"
    r"(?P<path>\.\?[A-Za-z_]\w*(?:\.\??[A-Za-z_]\w*)*?)\.(?P<end>orValue\(|hasValue\(\))"
)
_CALLED = re.compile(r"(?<![\w.])(\w+)\s*\(")
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(.*?)\]")
_SIMPLE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|'_*'|\"_*\"|\d+")


def oracle(text: str, values: Mapping[str, Any], functions: Functions | None = None) -> Any:
    """Return what the runtime gives, with the types of numbers and booleans; `ERROR` where it gives an error."""
    code = written_out(text, functions or {})
    try:
        value = _compiled(code, frozenset(values)).eval(_env(frozenset(values)).Activation(dict(values)))
        plain = value.plain_value()
    except (RuntimeError, TypeError):
        return ERROR
    return ERROR if type(plain) is str and value.type() == cel.Type.ERROR else typed(plain)


def typed(value: Any) -> Any:
    """Return a value in which true is not 1 and 1 is not 1.0."""
    if isinstance(value, list):
        return [typed(one) for one in value]
    if isinstance(value, dict):
        return {(type(name).__name__, name): typed(one) for name, one in value.items()}
    if isinstance(value, float) and value != value:
        return ("float", "nan")
    if isinstance(value, str | int | float | None):
        return (type(value).__name__, value)
    name = value.name if isinstance(value, Type) else str(value).partition("<")[0].lower()
    return ("type", "null_type" if name == "null" else name)


def by_name(value: Any) -> Any:
    """Return maps by name: the runtime loses their order."""
    if isinstance(value, dict):
        return {name: by_name(value[name]) for name in sorted(value, key=str)}
    return [by_name(one) for one in value] if isinstance(value, list) else value


def _with_order(called: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: called(*map(by_name, arguments))


@functools.cache
def _env(names: frozenset[str]) -> Any:
    dyn = cel.Type.DYN
    ours = [
        cel.FunctionDecl(
            name, [cel.Overload(f"corrigible_{name}", dyn, [dyn] * len(OWN[name].arguments), False, called)]
        )
        for name, called in ((name, _with_order(one)) for name, one in DEFINITIONS.items())
    ]
    return cel.NewEnv(
        variables=dict.fromkeys(names, dyn),
        extensions=[
            cel.CelExtension("corrigible", ours),
            *(ext_bindings.ExtBindings(), ext_math.ExtMath(), ext_optional.ExtOptional(), ext_strings.ExtStrings()),
        ],
    )


@functools.lru_cache(10_000)
def _compiled(code: str, names: frozenset[str]) -> Any:
    return _env(names).compile(code, disable_check=True)


def takes(text: str, names: frozenset[str]) -> bool:
    """Whether the runtime takes an expression, with the checks of its types."""
    try:
        _env(names).compile(written_out(text, {}))
    except RuntimeError:
        return False
    return True


@functools.lru_cache(10_000)
def _masked(text: str) -> str:
    return _LITERAL.sub(lambda m: m["q"] + "_" * (len(m[0]) - 2 * len(m["q"])) + m["q"], text)


def written_out(text: str, functions: Functions) -> str:
    """Return plain CEL for an expression."""
    number = 0
    while (match := next((m for m in _CALLED.finditer(_masked(text)) if m[1] in functions), None)) is not None:
        arguments, end = _arguments(text, match.end())
        number += 1
        text = text[: match.start()] + _call(functions[match[1]], arguments, number) + text[end:]
    while (m := _OPTIONAL.search(_masked(text))) is not None:
        root = text[slice(*m.span("root"))]
        pointer = "".join("/" + name for name in re.findall(r"[A-Za-z_]\w*", m["path"]))
        value = f"at({root}, '{pointer}')"
        new = f"or_value({value}, " if m["end"] == "orValue(" else f"({value} != null)"
        text = text[: m.start()] + new + text[m.end() :]
    return _typed_members(text)


def _call(function: tuple[Sequence[str], str], arguments: Sequence[str], number: int) -> str:
    parameters, body = function
    names, bound = {}, []
    for parameter, argument in zip(parameters, arguments, strict=True):
        root = re.match(r"\w*", argument)
        captured = root is not None and re.search(rf"\(\s*{re.escape(root[0])}\s*,", _masked(body)) is not None
        if _SIMPLE.fullmatch(_masked(argument)) and not captured:
            names[parameter] = argument
        else:
            names[parameter] = f"{parameter}__{number}"
            bound.append((names[parameter], argument))
    if names:
        words = re.compile(rf"(?<![\w.])({'|'.join(names)})(?!\w)")
        body = _replaced(body, [(*m.span(), names[m[1]]) for m in words.finditer(_masked(body))])
    for name, argument in reversed(bound):
        body = f"cel.bind({name}, {argument}, {body})"
    return f"({body})"


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    masked, depth, begin = _masked(text), 0, start
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
    raise ValueError("a call has no closing bracket")


def _typed_members(text: str) -> str:
    masked = _masked(text)
    edits: list[tuple[int, int, str]] = []
    for m in _TYPED.finditer(masked):
        end = m.end(2)
        if m["call"]:  # the last name is a method's
            dot = masked.rfind(".", m.start(2), end)
            if dot < m.start(2) or masked[end - 1] == "]":
                continue
            end = dot
        steps = (step[1] or step[2][1:-1] for step in _STEP.finditer(text[m.start(2) : end]))
        pointer = "".join("/" + escape(step) for step in steps)
        if not pointer:
            continue
        value = "at({}, '{}')".format(m[1], pointer.replace("\\", "\\\\").replace("'", "\\'"))
        if masked[: m.start()].endswith("has(") and masked[end : end + 1] == ")":
            edits.append((m.start() - 4, end + 1, f"({value} != null)"))
        else:
            edits.append((m.start(), end, value))
    return _replaced(text, edits)


def _replaced(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text
