"""The syntax of CEL as trees: what of it is evaluated in Python is read here, all else is not.

Knows: CEL's grammar (language definition, "Syntax"). Does not know: values, functions, the runtime, which checks every
expression first: what comes here is valid CEL.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple


class Literal(NamedTuple):
    value: str | int | float | bool | None


class Name(NamedTuple):
    name: str


class Member(NamedTuple):
    owner: Any
    name: str


class Index(NamedTuple):
    owner: Any
    index: Any


class Call(NamedTuple):
    """A function, or a method or macro where there is an owner."""

    owner: Any
    name: str
    arguments: tuple[Any, ...]


class Unary(NamedTuple):
    sign: str
    operand: Any


class Binary(NamedTuple):
    sign: str
    left: Any
    right: Any


class Choice(NamedTuple):
    condition: Any
    then: Any
    otherwise: Any


class ListOf(NamedTuple):
    items: tuple[Any, ...]


class MapOf(NamedTuple):
    entries: tuple[tuple[Any, Any], ...]


Tree = Literal | Name | Member | Index | Call | Unary | Binary | Choice | ListOf | MapOf


class NotRead(Exception):
    """The expression has something that is not read here."""


_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<odd>[rRbB]{0,2}(?:'{3}(?s:\\.|(?!'{3}).)*?'{3}|"{3}(?s:\\.|(?!"{3}).)*?"{3})
        |[bB][rR]?(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
    | (?P<raw>[rR](?:'[^'\n]*'|"[^"\n]*"))
    | (?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    | (?P<number>\d+(?:\.\d+)?(?![\w.]))
    | (?P<amount>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]|\d*\.?\d+(?:[eE][-+]?\d+)?)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%!<>?:.,()\[\]{}])
    )""",
    re.ASCII | re.VERBOSE,
)
_ESCAPES: Final = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r"}
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_LEVELS: Final = ({"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/", "%"})
"""Signs between two operands, those that bind least first. All of them bind to the left."""
_LONGEST: Final = 4000
_DEEPEST: Final = 60
ODD: Final = "'"
"""The name of the call that stands for a literal which only the runtime reads. Its argument has no fewer letters."""
OPTIONAL: Final = "?"
"""The name of the call that stands for an optional member, element or entry."""
_DIGITS: Final = 18
"""Of an integer: more may not fit into 64 bits."""


def read(text: str) -> Tree:
    """Return the tree of an expression. Raises NotRead."""
    if len(text) > _LONGEST:
        raise NotRead("too long")
    reader = _Reader(_tokens(text))
    tree = reader.expression()
    if reader.at < len(reader.tokens):
        raise NotRead(str(reader.tokens[reader.at]))
    return tree


def count(tree: Any) -> int:
    """Return how many parts a tree has."""
    if isinstance(tree, Literal | Name) or not isinstance(tree, tuple):
        return 1
    return 1 + sum(count(part) for part in tree if isinstance(part, tuple))


class _Token(NamedTuple):
    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise NotRead(text[at : at + 10])
        tokens.append(_Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return tokens


class _Reader:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def _next(self) -> _Token:
        if self.at >= len(self.tokens):
            raise NotRead("the end")
        self.at += 1
        return self.tokens[self.at - 1]

    def _is(self, sign: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] == ("sign", sign)

    def _takes(self, sign: str) -> bool:
        if self._is(sign):
            self.at += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise NotRead(f"no {sign}")

    def expression(self) -> Tree:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotRead("too deep")
        condition = self._level(0)
        if self._takes("?"):
            then = self._level(0)
            self._expect(":")
            condition = Choice(condition, then, self.expression())
        self.depth -= 1
        return condition

    def _level(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self._unary()
        tree = self._level(level + 1)
        while self.at < len(self.tokens) and self.tokens[self.at].text in _LEVELS[level]:
            token = self.tokens[self.at]
            if token.kind != "sign" and token != ("name", "in"):
                break
            self.at += 1
            tree = Binary(token.text, tree, self._level(level + 1))
        return tree

    def _unary(self) -> Tree:
        for sign in ("!", "-"):
            if self._takes(sign):
                return Unary(sign, self._unary())
        return self._member()

    def _member(self) -> Tree:
        tree = self._primary()
        while True:
            if self._takes("."):
                is_optional = self._takes("?")
                kind, name = self._next()
                if kind != "name":
                    raise NotRead(name)
                if is_optional:
                    tree = Call(tree, OPTIONAL, (Literal(name),))
                    continue
                tree = Call(tree, name, self._arguments(")")) if self._takes("(") else Member(tree, name)
            elif self._takes("["):
                is_optional = self._takes("?")
                index = self.expression()
                tree = Call(tree, OPTIONAL, (index,)) if is_optional else Index(tree, index)
                self._expect("]")
            else:
                return tree

    def _arguments(self, end: str) -> tuple[Tree, ...]:
        found: list[Tree] = []
        while not self._takes(end):
            if found:
                self._expect(",")
                if self._takes(end):  # a comma may stand behind the last one
                    break
            is_optional = end == "]" and self._takes("?")
            item = self.expression()
            found.append(Call(item, OPTIONAL, ()) if is_optional else item)
        return tuple(found)

    def _primary(self) -> Tree:
        kind, text = self._next()
        match kind, text:
            case "text", _:
                if any(one not in _ESCAPES for one in _ESCAPE.findall(text)):
                    return Call(None, ODD, (Literal(text),))
                return Literal(_ESCAPE.sub(lambda match: _ESCAPES[match[1]], text[1:-1]))
            case "odd" | "amount", _:
                return Call(None, ODD, (Literal(text),))
            case "raw", _:
                return Literal(text[2:-1])
            case "number", _:
                if len(text) > _DIGITS:
                    return Call(None, ODD, (Literal(text),))
                return Literal(float(text) if "." in text else int(text))
            case "name", _ if text in _CONSTANTS:
                return Literal(_CONSTANTS[text])
            case "name", _:
                return Call(None, text, self._arguments(")")) if self._takes("(") else Name(text)
            case "sign", "(":
                tree = self.expression()
                self._expect(")")
                return tree
            case "sign", "[":
                return ListOf(self._arguments("]"))
            case "sign", "{":
                return MapOf(self._entries())
        raise NotRead(text)

    def _entries(self) -> tuple[tuple[Tree, Tree], ...]:
        found: list[tuple[Tree, Tree]] = []
        while not self._takes("}"):
            if found:
                self._expect(",")
                if self._takes("}"):
                    break
            is_optional = self._takes("?")
            key = self._level(0)
            self._expect(":")
            value = self.expression()
            found.append((key, Call(value, OPTIONAL, ()) if is_optional else value))
        return tuple(found)
