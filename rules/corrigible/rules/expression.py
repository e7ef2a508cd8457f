"""CEL expressions, compiled once. Google's runtime, its strings and math extensions, and eight functions of ours."""

from __future__ import annotations

import functools
import re
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_strings
from rapidfuzz.distance import Indel

from .failure import CorrigibleError, meant
from .pointer import MISSING, parameter_pointer, resolve

SCOPE = (
    "captures",
    "error",
    "errors",
    "exchange",
    "operation",
    "params",
    "request",
    "response",
    "spec",
    "tables",
)
"""The names every expression may use; look-ups and `let` add their own."""

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

_CHAIN = re.compile(
    r"(?P<value>(?!(?:true|false|null)$)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|has\((?P<has>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)\)"
)
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_ERROR = cel.Type.ERROR
_KEYS = uuid.UUID("6f0f7c02-6b0e-5a53-9f52-0b6f2a7f3a11")


# The runtime hands a Python function its whole argument, converted. `at(spec, pointer)` would convert the description
# of an operation, milliseconds of it, to look at one member: so the function is told the name and looks itself.
_BY_NAME = re.compile(r"\b(at|names)\(\s*(request|response|spec|tables)\s*,")
_UNDER_WAY = threading.local()


def by_name(text: str) -> str:
    """Return what is compiled for an expression: `at(spec, x)` as `at_spec(x)`."""
    return _BY_NAME.sub(r"\1_\2(", text)


class ExpressionError(CorrigibleError):
    """The text is no CEL expression, or uses a name that is not in scope."""


class EvaluationError(CorrigibleError):
    """A compiled expression failed on these values."""


class Activation:
    """Values under names. Handed to the runtime when an expression first needs it there."""

    __slots__ = ("_env", "_handed", "_hands", "values")

    def __init__(self, env: Environment, values: Mapping[str, Any], hands: frozenset[str] | None) -> None:
        """`hands` are the names that the runtime itself looks at, all of them where None."""
        self.values = values
        self._env = env
        self._hands = hands
        self._handed: cel.Activation | None = None

    @property
    def handed(self) -> cel.Activation:
        if self._handed is None:
            values = self.values
            if self._hands is not None:
                values = {name: value for name, value in values.items() if name in self._hands}
            self._handed = self._env.env.Activation(values)
        return self._handed


class Expression:
    """A checked expression. Compiled when it is first needed: of a large pack most rules never speak.

    (A compiled expression holds about 8 KB and an environment 80 KB; compiling again costs some 50 microseconds once.)
    """

    __slots__ = ("_asks", "_chain", "_compiled", "_scope", "text")

    def __init__(self, text: str, scope: Environment) -> None:
        self.text = text
        self._scope = scope
        self._compiled: cel.Expression | None = None
        # Half of all expressions only name a value, or ask whether it is there. Walking there costs a tenth of a call
        # into the runtime, which still judges whatever is odd.
        plain = _CHAIN.fullmatch(text)
        self._chain = tuple((plain["has"] or plain["value"]).split(".")) if plain is not None else None
        self._asks = plain is not None and plain["has"] is not None

    def evaluate(self, activation: Activation) -> Any:
        """Return a plain Python value. Raises EvaluationError (a missing key, no such overload, overflow, ...)."""
        if self._chain is not None:
            here: Any = activation.values
            for name in self._chain:
                if type(here) is not dict:
                    break
                if name not in here:
                    if self._asks and name is self._chain[-1]:
                        return False
                    break
                here = here[name]
            else:
                return True if self._asks else here
        compiled = self._compiled
        if compiled is None:
            compiled = self._compiled = self._scope.env.compile(by_name(self.text))
        _UNDER_WAY.values = activation.values
        try:
            value = compiled.eval(activation.handed)
            plain = value.plain_value()
        except RuntimeError as problem:
            raise EvaluationError(f"{self.text}: {problem}") from problem
        # The runtime hands errors back as values whose plain form is their text.
        if type(plain) is str and value.type() == _ERROR:
            raise EvaluationError(f"{self.text}: {plain}")
        return plain

    def holds(self, activation: Activation) -> bool:
        """Return whether the expression is true; anything but a boolean is an EvaluationError."""
        value = self.evaluate(activation)
        if value is True or value is False:
            return value
        raise EvaluationError(f"{self.text}: gives {type(value).__name__}, not a boolean")


class Environment:
    """The names in scope of one rule. Cheap to ask for: environments are shared by their names."""

    __slots__ = ("_env", "names")

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self._env: cel.Env | None = None

    @property
    def env(self) -> cel.Env:
        if self._env is None:
            self._env = cel.NewEnv(
                variables={name: cel.Type.DYN for name in self.names},
                extensions=[_ours(), ext_strings.ExtStrings(), ext_math.ExtMath()],
            )
        return self._env

    def release(self) -> None:
        """Give back the memory of checking; what is needed at run time is made again then."""
        self._env = None

    def compile(self, text: str) -> Expression:
        """Compile one expression. Raises ExpressionError with the reason on one line."""
        try:
            self.env.compile(text)
            return Expression(text, self)
        except RuntimeError as problem:
            said = str(problem).removeprefix("INVALID_ARGUMENT: ").splitlines()[0].removeprefix("ERROR: ")
            said = re.sub(r"^<input>:\d+:(\d+): ", r"column \1: ", said).replace(" (in container '')", "")
            named = _UNDECLARED.search(said)
            hint = meant(named[1], [*self.names, *FUNCTIONS]) if named else ""
            raise ExpressionError(f"CEL: {said.removesuffix(' [INVALID_ARGUMENT]')}{hint}") from None

    def activation(self, values: Mapping[str, Any], hands: frozenset[str] | None = None) -> Activation:
        return Activation(self, values, hands)


@functools.cache
def environment(extra: frozenset[str] = frozenset()) -> Environment:
    """Return the environment with the common scope and some further names."""
    return Environment(frozenset(SCOPE) | extra)


def nearest(text: str, candidates: Sequence[Any]) -> list[str]:
    """Return up to three candidates near a text, nearest first; none where nothing is near.

    Case, `-`, `_` and spaces do not count. Near is a misspelling, an ending more or less, or a candidate in which every
    word of the text is found. What begins with another letter is never near, in no word of it: a prefix turns a
    meaning around (`unmetered`, `biweekly`, `no_prorations`, `max_` for `min_`). Candidates clearly farther away than
    the best are left out, so one element means one near neighbour.
    """
    wanted = _plain(text)
    if not wanted:
        return []
    scored: list[tuple[float, int, str]] = []
    for order, candidate in enumerate(dict.fromkeys(map(str, candidates))):
        score = _nearness(wanted, _plain(candidate))
        if score >= _NEAR:
            scored.append((-score, order, candidate))
    scored.sort()
    return [candidate for score, _, candidate in scored[:3] if score <= scored[0][0] + _MARGIN]


_NEAR = 0.6
_MARGIN = 0.08


def _nearness(wanted: str, shape: str) -> float:
    """Return 2 for the same but for separators, down to 0 for nothing in common."""
    joined, whole = wanted.replace("_", ""), shape.replace("_", "")
    if not joined or not whole:
        return 0.0
    if joined == whole:
        return 2.0
    words, found = wanted.split("_"), shape.split("_")
    if len(words) == len(found):
        return min(_word_nearness(word, other) for word, other in zip(words, found, strict=True))
    if len(words) > 1 and all(any(_stems(word, other) for other in found) for word in words):
        return 0.85
    score = Indel.normalized_similarity(joined, whole) if joined[0] == whole[0] else 0.0
    return float(score) if score >= 0.85 else 0.0


def _stems(word: str, other: str) -> bool:
    return word == other or (len(word) >= 4 and other.startswith(word))


def _word_nearness(word: str, other: str) -> float:
    if word == other:
        return 1.5
    if word[:1] != other[:1]:
        return 0.0
    score = Indel.normalized_similarity(word, other)
    if score >= _NEAR:
        score += 0.1 * min(3, _shared_beginning(word, other))
    if min(len(word), len(other)) >= 3 and (word.startswith(other) or other.startswith(word)):
        score = max(score, 0.9)
    return float(score)


def _shared_beginning(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _plain(text: str) -> str:
    return text.casefold().replace("-", "_").replace(" ", "_")


def integer(value: Any) -> int | None:
    """Return the int of an int or of an integer's text; null for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value.strip()):
        return int(value)
    return None


def unix(date: Any) -> int | None:
    """Return the Unix seconds of an HTTP date (RFC 9110 section 5.6.7), null for anything else."""
    try:
        moment = parsedate_to_datetime(str(date))
        return int((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def at(document: Any, pointer: str) -> Any:
    """Return the value at an RFC 6901 pointer, null where nothing is."""
    found = resolve(document, pointer)
    return None if found is MISSING else found


def covers(have: Any, want: Any) -> bool:
    """Return whether every member of `want` is in `have`, scalars compared by their text, empty as good as absent."""
    if isinstance(want, Mapping):
        return isinstance(have, Mapping) and all(covers(have.get(name), inner) for name, inner in want.items())
    if isinstance(want, list):
        return (
            isinstance(have, list)
            and len(have) == len(want)
            and all(covers(one, other) for one, other in zip(have, want, strict=True))
        )
    if isinstance(have, (Mapping, list)):
        return False
    return _text(have) == _text(want)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def names(document: Any, pointer: str) -> list[str]:
    """Return the member names of the object at an RFC 6901 pointer, none where no object is."""
    found = resolve(document, pointer)
    return list(found) if isinstance(found, Mapping) else []


def fresh_key(seed: str) -> str:
    """Return a new idempotency key, the same one for the same seed."""
    return str(uuid.uuid5(_KEYS, seed))


FUNCTIONS = ("at", "covers", "fresh_key", "integer", "names", "nearest", "pointer_of", "unix")


def _looked_up(looks: Callable[[Any, str], Any], name: str, pointer: str) -> Any:
    return looks(_UNDER_WAY.values[name], pointer)


def _ours() -> cel.CelExtension:
    dyn, text = cel.Type.DYN, cel.Type.STRING

    def function(name: str, takes: list[cel.Type], gives: cel.Type, impl: Any) -> cel.FunctionDecl:
        return cel.FunctionDecl(name, [cel.Overload(f"corrigible_{name}", gives, takes, False, impl)])

    return cel.CelExtension(
        "corrigible",
        [
            function("at", [dyn, dyn], dyn, at),
            function("covers", [dyn, dyn], cel.Type.BOOL, covers),
            function("fresh_key", [dyn], text, fresh_key),
            function("integer", [dyn], dyn, integer),
            function("names", [dyn, dyn], dyn, names),
            function("nearest", [dyn, dyn], dyn, nearest),
            function("pointer_of", [dyn], text, parameter_pointer),
            function("unix", [dyn], dyn, unix),
            *(
                function(f"{looks.__name__}_{name}", [dyn], dyn, functools.partial(_looked_up, looks, name))
                for looks in (at, names)
                for name in ("request", "response", "spec", "tables")
            ),
        ],
    )
