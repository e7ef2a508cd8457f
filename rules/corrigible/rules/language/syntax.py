"""The syntax of CEL: an expression as a tree, each part with its place in the text.

Knows: CEL's grammar (language definition, "Syntax"), and how to write what packs may not use of it. Does not know:
values, functions, names in scope.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, NoReturn

from corrigible.rules.errors import CorrigibleError

LONGEST: Final = 4000
"""Characters of an expression with the pack's functions written out: functions of functions could double each time."""
_DEEPEST: Final = 60
"""Brackets inside of each other."""
_NO_NAMES: Final = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "namespace"),
        *("package", "return", "var", "void", "while"),
    }
)
RESERVED: Final = _NO_NAMES | {
    *("false", "in", "null", "true", "bool", "bytes", "double", "duration", "int", "list", "map", "null_type"),
    *("string", "timestamp", "type", "uint"),
}
"""Names that CEL takes for itself (language definition, "Syntax" and the standard types)."""


class ExpressionError(CorrigibleError):
    """The text is no CEL expression, or uses what is not in scope."""

    def __init__(self, at: int, problem: str) -> None:
        super().__init__(f"CEL: column {at + 1}: {problem}")


class Literal(NamedTuple):
    value: str | int | float | bool | None
    at: int


class Name(NamedTuple):
    name: str
    at: int


class Member(NamedTuple):
    owner: Any
    name: str
    is_optional: bool
    """Whether it is written `.?name`."""
    at: int


class Index(NamedTuple):
    owner: Any
    index: Any
    at: int


class Call(NamedTuple):
    """A function, or a method or macro where there is an owner."""

    owner: Any
    name: str
    arguments: tuple[Any, ...]
    at: int


class Unary(NamedTuple):
    sign: str
    operand: Any
    at: int


class Binary(NamedTuple):
    sign: str
    left: Any
    right: Any
    at: int


class Choice(NamedTuple):
    condition: Any
    then: Any
    otherwise: Any
    at: int


class ListOf(NamedTuple):
    items: tuple[Any, ...]
    at: int


class MapOf(NamedTuple):
    entries: tuple[tuple[Any, Any], ...]
    at: int


Tree = Literal | Name | Member | Index | Call | Unary | Binary | Choice | ListOf | MapOf

_BLANK: Final = re.compile(r"(?:[\t\n\f\r ]|//[^\n]*)*")
_TOKEN: Final = re.compile(
    r"""(?P<text>(?P<prefix>[bB]?[rR]?)(?P<quote>'{3}|"{3})(?:\\.|(?!(?P=quote))[^\\])*(?P=quote)
        |[bB]?[rR](?:'[^'\n\r]*'|"[^"\n\r]*") | [bB]?(?:'(?:[^'\\\n\r]|\\[^\n\r])*'|"(?:[^"\\\n\r]|\\[^\n\r])*"))
    | (?P<number>0[xX][0-9a-fA-F]+[uU]? | \d*\.\d+(?:[eE][-+]?\d+)? | \d+(?:[eE][-+]?\d+|[uU])?)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%!<>?:.,()\[\]{}])""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|)", re.DOTALL
)
_ESCAPES: Final = dict(zip("abfnrtv\\?\"'`", "\a\b\f\n\r\t\v\\?\"'`", strict=True))
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_LEVELS: Final = {
    **{"||": 1, "&&": 2, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5},
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
}
"""How closely signs between two operands bind. All of them bind to the left."""
_LARGEST: Final = 2**63
_OTHERWISE: Final = {
    "=": "whether two values are equal is asked by ==",
    "&": "and is written &&",
    "|": "or is written ||",
    "`": "write a['b-c'] for a member with other characters in its name",
    "'": "the text has no end",
    '"': "the text has no end",
}
"""What was probably meant by a character that begins nothing in CEL."""


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def read(text: str) -> Tree:
    """Return the tree of an expression. Raises ExpressionError."""
    if len(text) > LONGEST:
        raise ExpressionError(LONGEST, f"an expression of {len(text):,} characters, {LONGEST:,} are the most")
    reader = _Reader(_tokens(text))
    tree = reader.expression()
    reader.end()
    return tree


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = _BLANK.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(at, _OTHERWISE.get(text[at], f"{text[at]!r} is no sign of CEL"))
        kind = match.lastgroup if match.lastgroup != "quote" and match.lastgroup != "prefix" else "text"
        tokens.append(_Token(kind or "", match[0], at))
        at = _BLANK.match(text, match.end()).end()  # type: ignore[union-attr]
    tokens.append(_Token("end", "", len(text)))
    return tokens


class _Reader:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def end(self) -> None:
        kind, text, at = self._tokens[self._next]
        if kind != "end":
            hint = "; and, or, not are written &&, ||, !" if text in ("and", "or", "not") else ""
            self._wrong(f'"{text}" does not fit here{hint}', at)

    def _wrong(self, problem: str, at: int) -> NoReturn:
        raise ExpressionError(at, problem)

    def _takes(self, sign: str) -> bool:
        kind, text, _ = self._tokens[self._next]
        if text == sign and kind == "sign":
            self._next += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            kind, text, at = self._tokens[self._next]
            there = "the expression ends" if kind == "end" else f'there is "{text}"'
            hint = "; and, or, not are written &&, ||, !" if text in ("and", "or", "not") else ""
            self._wrong(f'{there} where "{sign}" is needed{hint}', at)

    def expression(self) -> Tree:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._wrong(f"nested deeper than {_DEEPEST} levels: move a part to a let", self._tokens[self._next].at)
        tree = self._binary(1)
        at = self._tokens[self._next].at
        if self._takes("?"):
            then = self._binary(1)
            self._expect(":")
            tree = Choice(tree, then, self.expression(), at)
        self._depth -= 1
        return tree

    def _binary(self, least: int) -> Tree:
        tree = self._unary()
        while True:
            kind, text, at = self._tokens[self._next]
            level = _LEVELS.get(text, 0)
            if level < least or kind == "text":
                return tree
            self._next += 1
            tree = Binary(text, tree, self._binary(level + 1), at)

    def _unary(self) -> Tree:
        signs = []
        while (token := self._tokens[self._next]).text in ("!", "-") and token.kind == "sign":
            self._next += 1
            signs.append(token)
        if len(signs) > _DEEPEST:
            self._wrong(f"more than {_DEEPEST} signs before a value", signs[0].at)
        if signs and signs[-1].text == "-" and self._tokens[self._next].kind == "number":
            tree = self._members(self._number("-"))
            signs.pop()
        else:
            tree = self._members(self._primary())
        for sign in reversed(signs):
            tree = Unary(sign.text, tree, sign.at)
        return tree

    def _members(self, tree: Tree) -> Tree:
        while True:
            at = self._tokens[self._next].at
            if self._takes("."):
                is_optional = self._takes("?")
                kind, name, at = self._tokens[self._next]
                if kind != "name" or name in _CONSTANTS or name == "in":
                    self._wrong("a name is needed behind the dot", at)
                self._next += 1
                if not is_optional and self._takes("("):
                    tree = Call(tree, name, self._arguments(")"), at)
                else:
                    tree = Member(tree, name, is_optional, at)
            elif self._takes("["):
                if self._takes("?"):
                    self._wrong("[?...] is not of packs: write or_value(at(a, '/0/name'), default)", at)
                tree = Index(tree, self.expression(), at)
                self._expect("]")
            else:
                return tree

    def _arguments(self, end: str) -> tuple[Tree, ...]:
        found: list[Tree] = []
        while not self._takes(end):
            if found:
                self._expect(",")
                if end == "]" and self._takes(end):  # a comma may stand behind the last one
                    break
            self._refuse_optional()
            found.append(self.expression())
        return tuple(found)

    def _refuse_optional(self) -> None:
        if self._takes("?"):
            at = self._tokens[self._next - 1].at
            self._wrong("?... is not of packs: choose by a.?b.hasValue() ? [a.b] : []", at)

    def _primary(self) -> Tree:
        kind, text, at = self._tokens[self._next]
        if kind == "number":
            return self._number("")
        self._next += 1
        if kind == "text":
            return Literal(_unescaped(text, at), at)
        if kind == "name":
            if text in _CONSTANTS:
                return Literal(_CONSTANTS[text], at)
            if self._takes("("):
                return Call(None, text, self._arguments(")"), at)
            if self._tokens[self._next].text == "{":
                self._wrong("messages are not of packs: write a map, {'name': value}", at)
            if text in _NO_NAMES:
                self._wrong(f'"{text}" is a word of CEL itself', at)
            if text != "in":
                return Name(text, at)
        if text == "(":
            tree = self.expression()
            self._expect(")")
            return tree
        if text == "[":
            return ListOf(self._arguments("]"), at)
        if text == "{":
            return MapOf(self._entries(), at)
        if text == ".":
            self._wrong(
                f"undeclared reference to '.{self._tokens[self._next].text}': write the name without the dot", at
            )
        self._wrong("a value is missing at the end" if kind == "end" else f'a value is missing before "{text}"', at)

    def _number(self, sign: str) -> Literal:
        _, text, at = self._tokens[self._next]
        self._next += 1
        if text[-1] in "uU":
            self._wrong(f"JSON has no unsigned numbers: write {sign}{text[:-1]}", at)
        if text[:2] in ("0x", "0X"):
            number = int(sign + text, 16)
        elif text.isdecimal():
            number = int(sign + text)
        else:
            return Literal(float(sign + text), at)
        if not -_LARGEST <= number < _LARGEST:
            self._wrong("an integer has 64 bits at the most", at)
        return Literal(number, at)

    def _entries(self) -> tuple[tuple[Tree, Tree], ...]:
        found: list[tuple[Tree, Tree]] = []
        while not self._takes("}"):
            if found:
                self._expect(",")
                if self._takes("}"):
                    break
            self._refuse_optional()
            key = self._binary(1)
            self._expect(":")
            found.append((key, self.expression()))
        return tuple(found)


def _unescaped(text: str, at: int) -> str:
    """Return what a literal text stands for, quotes left out."""
    prefix = len(text) - len(text.lstrip("bBrR"))
    if text[:prefix].lower().startswith("b"):
        raise ExpressionError(at, "bytes are not of packs: write a text, or base64(text)")
    quotes = 3 if text[prefix : prefix + 3] in ("'''", '"""') and len(text) >= prefix + 6 else 1
    inner = text[prefix + quotes : -quotes]
    if prefix or "\\" not in inner:
        return inner

    def character(match: re.Match[str]) -> str:
        letter, *codes, octal = match.groups()
        if letter is not None:
            return _ESCAPES[letter]
        code = next((int(one, 16) for one in codes if one is not None), int(octal, 8) if octal else -1)
        if code < 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
            problem = f"{inner[match.start() : match.start() + 2]} stands for nothing in a text: a backslash is \\\\"
            raise ExpressionError(at + prefix + quotes + match.start(), problem)
        return chr(code)

    return _ESCAPE.sub(character, inner)


_QUOTED: Final = re.compile(r"""(?P<q>'''|\"\"\"|'|")(?:\\.|(?!(?P=q))[^\\])*(?P=q)""", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_SIGNATURE: Final = re.compile(r"\s*([a-z][a-z0-9_]*)\s*\(\s*([a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*)?\s*\)\s*")


def words(text: str) -> frozenset[str]:
    """Return the identifiers of an expression."""
    return frozenset(_WORD.findall(without_literals(text)))


def without_literals(text: str) -> str:
    """Return the expression with `_` for each character inside a literal text."""
    if "'" not in text and '"' not in text:
        return text
    return _QUOTED.sub(lambda m: m["q"] + "_" * (len(m[0]) - 2 * len(m["q"])) + m["q"], text)


def signature(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Split `name(a, b)`; None where it is no signature."""
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        return None
    return match[1], tuple(part.strip() for part in match[2].split(",")) if match[2] else ()
