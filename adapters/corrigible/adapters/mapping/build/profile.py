"""What the comparison of operations looks at, read once from each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Final, Literal

from corrigible.adapters.mapping.operation import CanonicalOperation, Field
from corrigible.adapters.mapping.words import is_version, name_words, stem, text_words

Effect = Literal["read", "create", "put", "update", "delete", "act"]
"""`put` replaces, or makes what is not there; `act` is any other change."""

VARIABLE: Final = "{}"
_PREFIXES: Final = frozenset({"api", "apis", "rest"})
"""First segments that say nothing of what is called."""
_GRPC: Final = re.compile(r"/[\w.]+/\w+")
_READS: Final = frozenset(
    map(
        stem,
        ("get", "list", "read", "search", "find", "filter", "query", "range", "watch", "lookup", "check", "status"),
    )
)
_EFFECTS: Final[Mapping[str, Effect]] = {
    **dict.fromkeys(map(stem, ("create", "add", "insert", "new", "make", "register", "grant")), "create"),
    **dict.fromkeys(map(stem, ("put", "set", "replace", "upsert")), "put"),
    **dict.fromkeys(map(stem, ("update", "patch", "edit", "modify", "change")), "update"),
    **dict.fromkeys(map(stem, ("delete", "remove", "destroy", "revoke", "clear")), "delete"),
}
_BY_METHOD: Final[Mapping[str, Effect]] = {
    "GET": "read", "HEAD": "read", "OPTIONS": "read", "TRACE": "read",
    "PUT": "put", "PATCH": "update", "DELETE": "delete", "POST": "create",
}  # fmt: skip
_READS_BY_POST: Final = frozenset(map(stem, ("search", "filter", "query", "find", "range", "list", "lookup")))
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_NO_LETTER: Final = re.compile(r"[\W_]")
MOST_FIELDS: Final = 400


@dataclass(frozen=True)
class Profile:
    """One operation, as it is compared."""

    operation: CanonicalOperation

    @cached_property
    def is_grpc(self) -> bool:
        return (
            self.operation.method == "POST"
            and "{" not in self.path
            and _GRPC.fullmatch(self.path) is not None
            and ("." in self.path)
        )

    @property
    def key(self) -> str:
        """API, method and path: what names an operation among all."""
        return f"{self.operation.api} {self.operation.key}"

    @property
    def path(self) -> str:
        return self.operation.path

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """The path without versions and without what every path begins with; `{}` for each variable."""
        parts = [part for part in self.path.strip("/").split("/") if part]
        if self.is_grpc:
            service, _, method = self.path.strip("/").partition("/")
            own = service.rpartition(".")[2]
            parts = [own, *_PART.findall(method.removeprefix(own) or method)]
        kept = [part for at, part in enumerate(parts) if not is_version(part) and not (at == 0 and part in _PREFIXES)]
        return tuple(VARIABLE if part.startswith(("{", ":")) else part for part in kept)

    @cached_property
    def versions(self) -> tuple[str, ...]:
        return tuple(part for part in self.path.strip("/").split("/") if is_version(part))

    @cached_property
    def letters(self) -> str:
        """The path as one word: `kv/deleterange` is what `KV/DeleteRange` is."""
        return "".join(part if part == VARIABLE else _NO_LETTER.sub("", part).lower() for part in self.segments)

    @cached_property
    def literals(self) -> tuple[str, ...]:
        return tuple(part for part in self.segments if part != VARIABLE)

    @cached_property
    def resource(self) -> frozenset[str]:
        """The words of the last literal segment."""
        return frozenset(name_words(self.literals[-1])) if self.literals else frozenset()

    @cached_property
    def effect(self) -> Effect:
        """What a call does, by its method; of POST, by its words."""
        method = self.operation.method
        if method != "POST":
            return _BY_METHOD.get(method, "act")
        last = self.path.rstrip("/").rpartition("/")[2]
        words = name_words(last)
        if words and words[-1] in _READS_BY_POST:
            return "read"
        custom = last.rpartition(":")[2] if ":" in last else ""  # `/v1/things/{id}:cancel`
        for word in name_words(custom or _own_name(self.operation.name)):
            if word in _EFFECTS:
                return _EFFECTS[word]
            if word in _READS:
                return "read"
        if self.is_grpc or custom:
            return "act"
        return "update" if self.segments[-1:] == (VARIABLE,) else "create"

    @cached_property
    def is_list(self) -> bool:
        """Whether it answers with many things of a kind, and no single one."""
        if self.effect != "read":
            return False
        top = {one.pointer.split("/")[2] for one in self.operation.results if one.pointer.count("/") >= 2}
        if top == {"*"}:
            return True
        lists = {
            one.pointer.split("/")[2]
            for one in self.operation.results
            if one.pointer.count("/") == 4 and one.pointer.split("/")[3] == "*"
        }
        return len(lists) == 1 and len(top) <= 6 and not self.path.endswith("}")

    @cached_property
    def name(self) -> tuple[str, ...]:
        return name_words(self.operation.name)

    @cached_property
    def said(self) -> tuple[str, ...]:
        """The words of the summary; where there is none, of the first sentence of the description."""
        first = self.operation.summary or self.operation.description.partition(". ")[0]
        return tuple(text_words(first))

    @cached_property
    def things(self) -> frozenset[str]:
        """The words of the summary that are no verbs: to share a verb alone says nothing."""
        return frozenset(word for word in self.said if word not in _READS and word not in _EFFECTS)

    @cached_property
    def described(self) -> tuple[str, ...]:
        return tuple(text_words(f"{self.operation.summary} {self.operation.description}"))

    @cached_property
    def variables(self) -> tuple[Field, ...]:
        return tuple(one for one in self.operation.arguments if one.pointer.startswith("/path/"))

    @cached_property
    def argument_names(self) -> frozenset[str]:
        """Names of arguments beside those of the path, on the first level."""
        return frozenset(
            joined
            for one in self.operation.arguments
            if not one.pointer.startswith("/path/") and one.pointer.count("/") == 2
            if (joined := " ".join(name_words(one.name)))
        )

    @cached_property
    def result_names(self) -> frozenset[str]:
        """Names of the fields of the answer's things: on the first two levels, lists and envelopes not counted."""
        names = []
        for one in self.operation.results[:MOST_FIELDS]:
            depth = sum(part != "*" for part in one.pointer.split("/")[2:])
            if 1 <= depth <= 2:
                names.append(" ".join(name_words(one.name)))
        return frozenset(names)


Vector = Mapping[str, float]
"""Words of a text and their weights."""


def _own_name(name: str) -> str:
    """Return a name without what it belongs to: `KV_DeleteRange`, `issues/create`, `package.Service/Method`."""
    return re.split(r"[/._]", name)[-1] if re.search(r"[/.]|_[A-Z]", name) else name


class Rarity:
    """How much a word says, by how many operations have it."""

    def __init__(self, texts: Iterable[Iterable[str]]) -> None:
        counts: Counter[str] = Counter()
        total = 0
        for text in texts:
            counts.update(set(text))
            total += 1
        self._total = total
        self._worth = {word: log((total + 1) / (count + 0.5)) for word, count in counts.items()}

    def of(self, word: str) -> float:
        return max(self._worth.get(word, log(2.0 * (self._total + 1))), 0.05)

    def vector(self, text: Iterable[str]) -> Vector:
        """Return a text as weights of its words, of length 1."""
        weights = {word: (1 + log(count)) * self.of(word) for word, count in Counter(text).items()}
        length = sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    def cosine(self, one: Iterable[str], other: Iterable[str]) -> float:
        """Compare two texts by the words they have, 0 to 1; 0 where one has none."""
        return cosine(self.vector(one), self.vector(other))

    def overlap(self, one: frozenset[str], other: frozenset[str]) -> float:
        """Return the weighted share of what both have in what either has."""
        if not one or not other:
            return 0.0
        both = sum(self.of(word) for word in sorted(one & other))
        return both / (sum(self.of(word) for word in sorted(one | other)) or 1.0)

    def contained(self, one: frozenset[str], other: frozenset[str]) -> float:
        """Return the weighted share of what both have in what the smaller one has."""
        if not one or not other:
            return 0.0
        both = sum(self.of(word) for word in sorted(one & other))
        return both / (min(sum(map(self.of, sorted(one))), sum(map(self.of, sorted(other)))) or 1.0)


def cosine(one: Vector, other: Vector) -> float:
    """Compare two texts, 0 to 1; 0 where one has no word."""
    if len(one) > len(other):
        one, other = other, one
    return sum(weight * other[word] for word, weight in one.items() if word in other)
