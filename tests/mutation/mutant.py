"""Small changes to a module, each of which some test should notice.

Knows: syntax trees. Does not know: files, processes, tests.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
TWINS = {"any": "all", "all": "any", "min": "max", "max": "min", "startswith": "endswith", "endswith": "startswith"}
UNREAD = ("spend", "walk", "add_values", "_note")
"""Functions whose calls count and whose arguments do not: how many steps some work takes is measured, and what `pack
try` notes about a rule is for people."""
LARGE = 256
"""A limit from here on protects time or memory: one more is the same limit, a thousand times as much is none."""


@dataclass(frozen=True)
class Mutant:
    """One changed module."""

    line: int
    before: str
    after: str
    source: str


class Module:
    """A module, and the changes that can be made to it."""

    def __init__(self, source: str) -> None:
        self._original = ast.parse(source)
        self._lines = ast.unparse(self._original).splitlines()
        self.changes = [
            (index, number)
            for index, (node, parent) in enumerate(places(self._original))
            for number in range(len(changes(node, parent)))
        ]
        """Which node, and which change of it."""

    def mutant(self, index: int, number: int) -> Mutant:
        """Return the module with one of its changes made."""
        tree = copy.deepcopy(self._original)
        node, parent = next(islice(places(tree), index, None))
        line = getattr(node, "lineno", getattr(parent, "lineno", 0))
        changes(node, parent)[number]()
        source = ast.unparse(ast.fix_missing_locations(tree))
        before, after = differing(self._lines, source.splitlines())
        return Mutant(line, before, after, source)


def differing(before: list[str], after: list[str]) -> tuple[str, str]:
    """Return the lines that are not the same in both, blanks put together."""
    start = next((i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before))
    end = next(
        (i for i, pair in enumerate(zip(reversed(before), reversed(after), strict=False)) if pair[0] != pair[1]), 0
    )
    end = min(end, len(before) - start, len(after) - start)
    return (
        " ".join(" ".join(before[start : len(before) - end]).split()),
        " ".join(" ".join(after[start : len(after) - end]).split()),
    )


def places(tree: ast.AST, parent: ast.AST | None = None) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield every node that can be changed, with its parent: no annotations, docstrings, messages or imports."""
    if parent is not None:
        yield tree, parent
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases", "msg"):
            continue
        if name == "args" and isinstance(tree, ast.Call) and called(tree) in UNREAD:
            continue
        if name == "args" and isinstance(tree, ast.Call) and called(tree) in ("encode", "decode"):
            value = value[1:]  # the name of a codec: what is no letter or digit of it is ignored
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not untested(child):
                yield from places(child, tree)


def called(call: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def untested(node: ast.AST) -> bool:
    """Return whether no test can be expected to notice a change here."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Raise() | ast.Assert():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True  # tested in a process of its own, which reads the file and not what is changed of it
        case ast.Compare(left=ast.Attribute(value=ast.Name(id="sys"), attr="version_info")):
            return True  # one interpreter has one version: another bound says the same of it
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.AnnAssign(value=None):
            return True
        case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "NewType")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="logger" | "LOG"))):
            return True
        case ast.Constant(value=str(text)):
            return is_sentence(text)
        case ast.keyword(arg="strict" | "score_cutoff" | "examples"):
            return True  # an assertion of ours that two lists are as long; a limit that only saves work; a text to read
    return False


def is_sentence(text: str) -> bool:
    """Return whether a text is a message to people: its wording is checked by reading, as that of f-strings is."""
    return text[:1].isalpha() and text.count(" ") > 1


def changes(node: ast.AST, parent: ast.AST) -> list[Any]:
    """Return functions, each of which changes the node in another way."""
    match node:
        case ast.Compare(ops=[op]):
            return [lambda: setattr(node, "ops", [SWAPPED[type(op)]()])]
        case ast.Compare(ops=[first, *rest]):
            return [lambda: setattr(node, "ops", [SWAPPED[type(first)](), *rest])]
        case ast.BoolOp():
            dropped = [lambda index=index: node.values.pop(index) for index in range(len(node.values))]
            return [lambda: setattr(node, "op", SWAPPED[type(node.op)]()), *dropped]
        case ast.BinOp() | ast.AugAssign() if type(node.op) in SWAPPED:
            return [lambda: setattr(node, "op", SWAPPED[type(node.op)]())]
        case ast.UnaryOp(op=ast.Not()):
            return [lambda: replaced(parent, node, node.operand)]
        case ast.If() | ast.IfExp() | ast.While() if not isinstance(node.test, ast.Compare | ast.UnaryOp):
            return [lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))]
        case ast.comprehension(ifs=[_, *_]):
            return [lambda: setattr(node, "ifs", [])]
        case ast.match_case(guard=ast.expr()):
            return [lambda: setattr(node, "guard", None)]
        case ast.Constant(value=bool()):
            return [lambda: setattr(node, "value", not node.value)]
        case ast.Constant(value=int(limit)) if limit >= LARGE and isinstance(parent, ast.Assign | ast.AnnAssign):
            return [lambda: setattr(node, "value", limit * 1000)]
        case ast.Constant(value=int() | float()):
            return [lambda: setattr(node, "value", node.value + 1)]  # type: ignore[operator]
        case ast.Constant(value=str(text)) if not isinstance(parent, ast.MatchValue) and text:
            return [lambda: setattr(node, "value", text + "~")]
        case ast.Return(value=ast.expr()) if not (isinstance(node.value, ast.Constant) and not node.value.value):
            return [lambda: setattr(node, "value", ast.Constant(None))]
        case ast.Break() | ast.Continue():
            return [lambda: replaced(parent, node, SWAPPED[type(node)]())]
        case ast.Expr(value=ast.Call()):
            return [lambda: replaced(parent, node, ast.Pass())]
        case ast.Name(id=name) if name in TWINS and isinstance(parent, ast.Call) and parent.func is node:
            return [lambda: setattr(node, "id", TWINS[name])]
        case ast.Attribute(attr=name) if name in TWINS and isinstance(parent, ast.Call) and parent.func is node:
            return [lambda: setattr(node, "attr", TWINS[name])]
        case ast.keyword(arg=str(), value=ast.Name() | ast.Attribute()) if isinstance(parent, ast.Call):
            return [lambda: parent.keywords.remove(node)]
    return []


def replaced(parent: ast.AST, node: ast.AST, new: ast.AST) -> None:
    """Put a node in the place of another."""
    for name, value in ast.iter_fields(parent):
        if value is node:
            setattr(parent, name, new)
        elif isinstance(value, list) and node in value:
            value[value.index(node)] = new
