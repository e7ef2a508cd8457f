"""CEL expressions, compiled once. Google's runtime, its strings and math extensions, and the functions of ours."""

from __future__ import annotations

import functools
import inspect
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from corrigible.rules.budget import Oversized, begin_expression, spend, take, walk
from corrigible.rules.errors import CorrigibleError, suggest_spelling
from corrigible.rules.functions.builtin import (
    at,
    base64,
    base64_meant,
    find,
    flat,
    fresh_key,
    includes,
    integer,
    is_base64,
    names,
    or_value,
    respell,
    unix,
)
from corrigible.rules.functions.edits import edits
from corrigible.rules.functions.quantity import quantity, quantity_text
from corrigible.rules.pointer import parameter_pointer
from corrigible.rules.repair_functions.registry import repair_functions
from corrigible.rules.safety.nearness import nearest

from .cel_bound import Bound
from .cel_release import keep_none, release, releasing
from .cel_syntax import NotRead, read
from .plain_expression import ODD, Evaluator, plain
from .plain_methods import ordered
from .shorthand import BY_NAME, DOCUMENTS, Functions, ShorthandError, expand, rewrite, roots

SCOPE: Mapping[str, str] = {
    "body": "map: the body of the request; `{}` if there is none, or if it is no object. A missing member is null.",
    "captures": "map of strings: the named groups of `match.message`.",
    "error": "map: the error: `code`, `message`, `pointer`, `constraint`, `type`, `param`, `number`, and the further "
    "members that the format reads.",
    "errors": "list of maps: all errors of the answer, each with its `number`.",
    "exchange": "map: `id`, `started` (seconds since 1970) and `elapsed` (seconds).",
    "headers": "map of strings: the headers of the request, names in small letters, no credentials. A missing one is "
    "null.",
    "operation": "string: the name of the operation, empty if it is unknown.",
    "params": "map of strings: the parameters of the path.",
    "query": "map: the parameters of the query. A missing one is null.",
    "request": "map: the request document: `method`, `path`, `query`, `headers`, `body`.",
    "response": "map: the answer: `status`, `headers`, `body`.",
    "spec": "map: the JSON Schema that the API's description has for the body, else for the query.",
    "tables": "map: the tables of the pack, by name: `tables/NAME.yaml` is `tables.NAME`.",
}
"""The names every expression may use, and what each is; look-ups and `let` add their own."""

RESERVED = frozenset(
    {
        *(
            "bool",
            "bytes",
            "double",
            "duration",
            "int",
            "list",
            "map",
            "null_type",
            "string",
            "timestamp",
            "type",
            "uint",
        ),
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("uint", "package", "namespace", "null", "return", "true", "var", "void", "while"),
    }
)
"""Names that CEL takes for itself (language definition, "Syntax" and the standard types)."""

_LONGER_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]+")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_ERROR = cel.Type.ERROR
_A_CALL = 8
"""Steps that a call into the runtime takes."""

_UNDER_WAY = threading.local()
"""The values of the expression that is evaluated: functions look at documents by their name."""


class ExpressionError(CorrigibleError):
    """The text is no CEL expression, or uses a name that is not in scope."""


class EvaluationError(CorrigibleError):
    """A compiled expression failed on these values."""


class Bindings(NamedTuple):
    """What the runtime is handed of a scope: converting a value costs by its size."""

    names: frozenset[str]
    tables: frozenset[str] | None = None
    """The tables that are handed, all of them where None."""

    def select(self, scope: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: scope[name] for name in self.names if name in scope}
        if self.tables is not None and "tables" in values:
            values["tables"] = {name: table for name, table in values["tables"].items() if name in self.tables}
        return values


class Activation:
    """Values under names. Handed to the runtime when an expression first needs it there."""

    __slots__ = ("_bindings", "_env", "_handed", "values")

    def __init__(self, values: Mapping[str, Any], bindings: Bindings | None = None) -> None:
        """`bindings` are what the runtime itself looks at, everything where None."""
        self.values = values
        self._bindings = bindings
        self._env: cel.Env | None = None
        self._handed: cel.Activation | None = None

    def changed(self) -> None:
        """Have what the values are now handed to the runtime when it needs them next."""
        self._handed = None

    def handed(self, env: cel.Env) -> cel.Activation:
        """Return the values as the runtime takes them, for expressions compiled in this environment."""
        if self._handed is None or self._env is not env:
            values = self.values if self._bindings is None else self._bindings.select(self.values)
            walk()
            self._handed, self._env = env.Activation(values), env
        return self._handed


class Expression:
    """A checked expression. Compiled when it is first needed: most rules of a large pack never match.

    (A compiled expression holds about 8 KB and an environment 80 KB; compiling again costs some 50 microseconds once.)
    """

    __slots__ = ("_compiled", "_env", "_limit", "_plain", "_scope", "code", "expanded", "text", "type")

    def __init__(self, text: str, scope: Environment, functions: Functions = MappingProxyType({})) -> None:
        """Raises ShorthandError for a wrong call of one of the pack's functions."""
        self.text = text
        """As the author wrote it."""
        self.expanded = expand(text, functions)
        """With the pack's functions written out."""
        self.code = rewrite(self.expanded)
        """As the runtime compiles it."""
        self.type = ""
        """CEL's type of its value: `BOOL`, `LIST<INT>`; `DYN` where only the values tell."""
        self._scope = scope
        self._compiled: cel.Expression | None = None
        self._env: cel.Env | None = None
        self._limit: Bound | None = None
        self._plain: Evaluator | None = self._first

    def _first(self, values: Mapping[str, Any]) -> Any:
        """Evaluate for the first time: what is never evaluated is never read."""
        self._plain = evaluator = plain(self.expanded, _CALLED, _LOOKING)
        return ODD if evaluator is None else evaluator(values)

    def evaluate(self, activation: Activation) -> Any:
        """Return a plain Python value. Raises EvaluationError (a missing key, no such overload, overflow, ...)."""
        if self._plain is not None:
            spend()
            begin_expression()
            try:
                value = self._plain(activation.values)
            except Oversized as problem:
                raise EvaluationError(f"{self.text}: {problem}") from problem
            if value is not ODD:
                return value
        return self.evaluate_by_runtime(activation)

    def evaluate_by_runtime(self, activation: Activation) -> Any:
        """Do as `evaluate` does, however plain the expression is.

        The runtime counts nothing: what it could make of these values at the most is found out first.
        """
        begin_expression()
        try:
            take(self._bound().units(activation.values))
        except (Oversized, NotRead) as problem:
            raise EvaluationError(f"{self.text}: not evaluated, it {problem}") from problem
        begin_expression()  # for the functions that it calls
        compiled = self._compiled
        if compiled is None:
            self._env = running(self._scope.names)
            compiled = self._compiled = self._env.compile(self.code)
        spend(_A_CALL)
        _UNDER_WAY.values = activation.values
        try:
            value = compiled.eval(activation.handed(self._env))
            plain_value = value.plain_value()
        except RuntimeError as problem:
            raise EvaluationError(f"{self.text}: {problem}") from problem
        finally:
            release()
        # The runtime hands errors back as values whose plain form is their text.
        if type(plain_value) is str and value.type() == _ERROR:
            raise EvaluationError(f"{self.text}: {plain_value}")
        return ordered(plain_value)

    def _bound(self) -> Bound:
        if self._limit is None:
            try:
                self._limit = Bound(read(self.code))
            except NotRead as problem:
                raise NotRead(f"cannot be bounded: {problem}") from None
        return self._limit

    def holds(self, activation: Activation) -> bool:
        """Return whether the expression is true; anything but a boolean is an EvaluationError."""
        value = self.evaluate(activation)
        if value is True or value is False:
            return value
        raise EvaluationError(f"{self.text}: gives {type(value).__name__}, not a boolean")


class Environment:
    """The names in scope of one rule. Cheap to ask for: environments are shared by their names."""

    __slots__ = ("_env", "_types", "names")

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self._env: cel.Env | None = None
        self._types: dict[str, str] = {}
        """What expressions give that compile: rules of a pack repeat each other."""

    @property
    def env(self) -> cel.Env:
        if self._env is None:
            keep_none()
            self._env = cel.NewEnv(
                variables={name: cel.Type.DYN for name in self.names},
                extensions=[
                    _ours(),
                    ext_bindings.ExtBindings(),
                    ext_math.ExtMath(),
                    ext_optional.ExtOptional(),
                    ext_strings.ExtStrings(),
                ],
            )
        return self._env

    def release(self) -> None:
        """Give back the memory of checking; what is needed at run time is made again then."""
        self._env = None

    def compile(self, text: str, functions: Functions = MappingProxyType({})) -> Expression:
        """Compile one expression. Raises ExpressionError with the reason on one line."""
        try:
            expression = Expression(text, self, functions)
            expression.type = self._type_of(expression.code)
            return expression
        except ShorthandError as problem:
            raise ExpressionError(str(problem)) from None
        except RuntimeError as problem:
            message = str(problem).removeprefix("INVALID_ARGUMENT: ").splitlines()[0].removeprefix("ERROR: ")
            message = re.sub(r"^<input>:\d+:(\d+): ", r"column \1: ", message).replace(" (in container '')", "")
            named = _UNDECLARED.search(message)
            hint = _hint(named[1], [*self.names, *FUNCTIONS, *functions]) if named else _hint_of_syntax(message)
            if not hint and _WORDS.fullmatch(text):
                hint = f"; a text has quotes of its own: \"'{text}'\""
            raise ExpressionError(f"CEL: {message.removesuffix(' [INVALID_ARGUMENT]')}{hint}") from None

    def _type_of(self, code: str) -> str:
        """Check an expression, and return CEL's type of its value. Raises RuntimeError with what is wrong with it.

        To make an environment ready takes a millisecond. So expressions are checked in one that rules share; in their
        own only if that could say something else: what a rule does not have must not stand for what another one has.
        """
        shared = _SHARED[-1] if _SHARED else self
        if self.names <= shared.names and (shared.names - self.names).isdisjoint(roots(code)):
            with suppress(RuntimeError):
                return shared._checked(code)
        return self._checked(code)

    def _checked(self, code: str) -> str:
        if code not in self._types:
            self._types[code] = str(self.env.compile(code).return_type())
        return self._types[code]

    def activation(self, values: Mapping[str, Any], bindings: Bindings | None = None) -> Activation:
        return Activation(values, bindings)


_RENAMED = {"covers": "includes", "wildcards": "find"}


_WORDS = re.compile(r"[A-Za-z][\w-]*(?: [\w-]+)*")


def _hint_of_syntax(message: str) -> str:
    if "token recognition error at: '= '" in message:
        return "; whether two values are equal is asked by =="
    return "; and, or, not are written &&, ||, !" if _WORD_OF_LOGIC.search(message) else ""


_WORD_OF_LOGIC = re.compile(r"input '(?:and|or|not)'")


def _hint(name: str, names: list[str]) -> str:
    return f'; it is now called "{_RENAMED[name]}"' if name in _RENAMED else suggest_spelling(name, names)


@functools.cache
def environment(extra: frozenset[str] = frozenset()) -> Environment:
    """Return the environment with the common scope and some further names."""
    _NAMES.update(extra)
    return Environment(frozenset(SCOPE) | extra)


_NAMES: set[str] = set(SCOPE)
"""Every name that any rule has added to the scope so far."""
_RUNNING: list[Environment] = []
_SHARED: list[Environment] = []


def running(names: frozenset[str]) -> cel.Env:
    """Return an environment to run expressions in, that has these names and all others.

    Each rule may use its own names alone. To run, one environment is enough: making one takes milliseconds, and the
    first refusal that a rule matches should not pay for them.
    """
    if not _RUNNING or not names <= _RUNNING[-1].names:
        _RUNNING[:] = [Environment(frozenset(_NAMES | names))]
    return _RUNNING[-1].env


def share(names: Iterable[str]) -> None:
    """Make one environment to check rules in that add these names to the scope.

    A single letter is a variable of `map` or `filter` in most rules: it is left to the rules that add it.
    """
    wanted = frozenset(SCOPE) | {name for name in names if _LONGER_NAME.fullmatch(name) and name not in RESERVED}
    if not _SHARED or not wanted <= _SHARED[-1].names:
        _SHARED[:] = [Environment(wanted)]


_LOOKING = {"at": at, "edits": edits, "find": find, "names": names}
"""Those whose first argument is a document, which they look at themselves where it is named: see `shorthand`."""
assert tuple(_LOOKING) == BY_NAME


def _with_order(called: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is given maps by name: the runtime has lost their order."""
    return lambda *arguments: called(*map(ordered, arguments))


DEFINITIONS: Mapping[str, Callable[..., Any]] = {
    **{
        one.__name__: one
        for one in (
            *(at, base64, base64_meant, edits, find, flat, fresh_key, includes, integer, is_base64, names, nearest),
            *(or_value, quantity, quantity_text, respell, unix),
        )
    },
    "pointer_of": parameter_pointer,
    **repair_functions(),
}
"""What expressions may call, as Python has it."""
FUNCTIONS = tuple(DEFINITIONS)
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **{name: tuple(inspect.signature(one).parameters) for name, one in DEFINITIONS.items()},
    "pointer_of": ("name",),
}
_CALLED: Mapping[str, Callable[..., Any]] = {
    **DEFINITIONS,
    "find": _with_order(find),
    "names": lambda document, pointer: sorted(names(document, pointer), key=str),
    **{name: _with_order(called) for name, called in repair_functions().items()},
}
"""As the runtime calls them. What comes from the runtime has lost its order: see `ordered`."""
_GIVES = {
    **dict.fromkeys(("includes", "is_base64"), cel.Type.BOOL),
    **dict.fromkeys(("base64", "base64_meant", "fresh_key", "pointer_of", "respell"), cel.Type.STRING),
}


def _looked_up(looks: Callable[[Any, Any], Any], name: str, argument: Any) -> Any:
    return looks(_UNDER_WAY.values[name], argument)


@functools.cache
def _ours() -> cel.CelExtension:
    dyn = cel.Type.DYN

    def function(name: str, arguments: int, gives: cel.Type, called: Callable[..., Any]) -> cel.FunctionDecl:
        return cel.FunctionDecl(
            name, [cel.Overload(f"corrigible_{name}", gives, [dyn] * arguments, False, releasing(called))]
        )

    return cel.CelExtension(
        "corrigible",
        [
            *(function(name, len(ARGUMENTS[name]), _GIVES.get(name, dyn), called) for name, called in _CALLED.items()),
            *(
                function(f"{called}_{name}", 1, dyn, functools.partial(_looked_up, looks, name))
                for called, looks in _LOOKING.items()
                for name in DOCUMENTS
            ),
        ],
    )
