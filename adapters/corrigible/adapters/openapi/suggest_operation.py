"""Suggestions for paths and methods that no operation has.

A word at the end of a path that a variable of another operation takes, though it was meant as a word.
| the request            | the description has                              | is asked for          |
|------------------------|--------------------------------------------------|-----------------------|
| `POST /flows/7/enable` | `GET /flows/{id}/{version}`, `POST .../activate` | one of those words    |
| `GET /types/schema`    | `DELETE /types/{id}`, `GET /types/schema/{name}` | the name that follows |

Names of an API's fields inside of a query: `sort=titel:asc`, `filters[titel][$eq]=x`.
No schema of a query lists them; the bodies that the same path takes have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from corrigible.adapters.operation import Node, Operations
from corrigible.rules.budget import spend
from corrigible.rules.pointer import escape
from corrigible.rules.safety.nearness import is_plural, is_same, is_slip, letters, nearest, slips
from corrigible.rules.safety.spelling import may_be_other_word
from corrigible.rules.schema_repair.json_schema import literal_pattern
from corrigible.rules.schema_repair.route import ELSEWHERE
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json

LONGEST: Final = 40
"""Segments: no longer path is taken for a misspelling."""
_MOST_WORDS: Final = 8
_PATH_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_-]{2,40}")


def nodes_after(root: Node, parts: list[str]) -> list[Node]:
    """Return where some segments lead."""
    nodes = [root]
    for part in [part for part in parts if part][:LONGEST]:
        spend(len(nodes))
        nodes = [inner for node in nodes for inner in (node.literal.get(part), node.variable) if inner is not None]
    return nodes


def words_instead(root: Node, method: str, path: str) -> SchemaViolation | None:
    """Return the paths that have the method, and another word than this one behind the name of a thing."""
    *before, word = [part for part in path.split("/") if part] or [""]
    if len(before) < 2 or len(before) > LONGEST or _PATH_WORD.fullmatch(word) is None:
        return None
    things = [node.variable for node in nodes_after(root, before[:-1]) if node.variable is not None]
    if any(word in node.literal for node in things):
        return None
    words = dict.fromkeys(one for node in things for one, inner in node.literal.items() if method in inner.operations)
    plain = "/" + "/".join(before)
    others = [f"{plain}/{one}" for one in words][:_MOST_WORDS]
    return SchemaViolation("/path", "around", {"type": "string", "enum": others}, path) if others else None


def name_left_out(root: Node, method: str, path: str) -> SchemaViolation | None:
    """Return the path with one name more, where this one ends with a word that only leads there."""
    *before, word = [part for part in path.split("/") if part] or [""]
    if not word or len(before) > LONGEST:
        return None
    ends = [node.literal[word] for node in nodes_after(root, before) if word in node.literal]
    is_one_more = any(end.variable is not None and method in end.variable.operations for end in ends)
    if not is_one_more or any(end.operations for end in ends):
        return None
    pattern = f"^{literal_pattern(path.rstrip('/'))}/[^/]+$"
    return SchemaViolation("/path", "around", {"type": "string", "pattern": pattern}, path)


SHORTEST_WORD: Final = 4


class Candidate(NamedTuple):
    cost: int
    path: str


def walk(root: Node, parts: list[str], method: str, budget: int) -> Iterator[Candidate]:
    """Yield concrete paths that have the method, with at most so many segments respelt."""
    open_: list[tuple[Node, int, int, tuple[str, ...]]] = [(root, 0, 0, ())]
    while open_:
        node, at, cost, walked = open_.pop()
        spend(1 + len(node.literal) if cost < budget else 1)
        if at == len(parts):
            if method in node.operations:
                yield Candidate(cost, "/" + "/".join(walked))
            continue
        part = parts[at]
        if method in node.tail:
            yield Candidate(cost, "/" + "/".join((*walked, *parts[at:])))
        if node.variable is not None:
            open_.append((node.variable, at + 1, cost, (*walked, part)))
        for key, (pattern, inner) in node.mixed.items():
            if pattern.fullmatch(part):
                open_.append((inner, at + 1, cost, (*walked, part)))
            elif cost < budget and (extended := _extended(part, key)):
                open_.append((inner, at + 1, cost + 1, (*walked, extended)))
        if part in node.literal:
            open_.append((node.literal[part], at + 1, cost, (*walked, part)))
        if cost < budget:
            for literal, inner in node.literal.items():
                if literal != part and is_near(part, literal):
                    open_.append((inner, at + 1, cost + 1, (*walked, literal)))


def _extended(part: str, key: str) -> str:
    """Return a segment as `orders.{format}` or `{id}.json` wants it, with its extension; empty where it is not near."""
    name, dot, ending = key.rpartition(".")
    have, dotted, extension = part.rpartition(".")
    if not dot or ending not in ("{}", "json", "xml") or name.count("{}") != (name == "{}"):
        return ""
    if not dotted:
        have, extension = part, "json" if ending == "{}" else ending
    if name == "{}":
        return f"{have}.{extension}" if not dotted else ""
    return f"{name}.{extension}" if have == name or is_near(have, name) else ""


def parts_of(path: str) -> list[str]:
    return path.strip("/").split("/")


def is_other_number(parts: list[str], others: list[str]) -> bool:
    """Whether two paths differ in one word, of which one is the plural of the other's."""
    different = [(one, two) for one, two in zip(parts, others, strict=False) if one != two]
    return len(parts) == len(others) and len(different) == 1 and is_plural(*different[0])


def is_near(part: str, literal: str) -> bool:
    """Whether a segment is a misspelling of another: case, separators, number, one letter in four, its last words."""
    if letters(part)[:1] == letters(literal)[:1] and (is_same(part, literal) or is_plural(part, literal)):
        return True
    ends = (f"_{part}", f"-{part}")
    if len(part) >= SHORTEST_WORD and (literal.endswith(ends) or literal.removesuffix("s").endswith(ends)):
        return True
    return min(len(part), len(literal)) >= 4 and part[0] == literal[0] and is_slip(part, literal)


_MOST_SUGGESTED: Final = 5
_MOST_AROUND: Final = 8
_VERSION = re.compile(r"v\d+[\w.-]{0,6}", re.IGNORECASE)
_COMMON = re.compile(r"api|rest|v\d+[\w.-]{0,6}", re.IGNORECASE)
"""Beginnings that all paths of an API share."""
_FAR: Final = (99, 99)
_READS: Final = frozenset({"GET", "HEAD"})
"""A read of a path with only unsafe methods has the wrong path, not the wrong method."""
_WRITES: Final = frozenset({"POST", "PUT", "PATCH"})
_VERBS: Final = {
    "POST": ("create", "add", "new", "insert"),
    "GET": ("list", "all", "index", "show", "get"),
    "PUT": ("update", "edit", "replace"),
    "PATCH": ("update", "edit", "modify"),
    "DELETE": ("delete", "remove", "destroy"),
}
"""Words that older frameworks put into paths for what the method says."""
_LAST_WORD: Final = re.compile(r"(/.*[^/:])([/:])([A-Za-z]\w*)")
_MOST_LETTERS: Final = 2048
_BASE_LENGTHS: Final = (1, 2, 3)
"""Segments before all paths of an API: `/api`, `/apis/shop/v1`."""
_MOST_INSIDE: Final = 2
"""Segments of a thing that a path may have left out: `/shops/{shop}`."""


class OperationSuggester:
    """Walks the trie of an API's paths with a few mistakes allowed."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._methods: dict[str, None] = {}
        self._templates: dict[tuple[str, str], list[str]] = {}
        """By method and operation: its paths."""
        beginnings: dict[tuple[str, ...], int] = {}
        for key, name in operations.templates.items():
            method, _, template = key.partition(" ")
            self._methods.setdefault(method.upper())
            self._templates.setdefault((method.upper(), name), []).append(template)
            parts = template.strip("/").split("/")
            for length in _BASE_LENGTHS:
                if len(parts) > length and not any("{" in part for part in parts[:length]):
                    head = tuple(parts[:length])
                    beginnings[head] = beginnings.get(head, 0) + 1
        most = len(operations.templates) * 0.3
        self._bases = [head for head, count in beginnings.items() if count >= most]

    def nearest(self, method: str, path: str) -> SchemaViolation | None:
        """Return a violation of the method where the path is known, else of the path; None where nothing is near."""
        return self._ended(method.upper(), self._nearest(method.upper(), path))

    def _ended(self, method: str, violation: SchemaViolation | None) -> SchemaViolation | None:
        """Return the paths that are offered with the slash at their end that the description writes.

        A path without it may be another one to the server, or a redirect that loses the body.
        """
        if violation is None or violation.pointer != "/path" or "enum" not in violation.schema:
            return violation
        ended = dict.fromkeys(self._with_slash(method, path) for path in violation.schema["enum"])
        return violation._replace(schema={**violation.schema, "enum": list(ended)})

    def _with_slash(self, method: str, path: str) -> str:
        if path.endswith("/"):
            return path
        matches = ((one, self._operations.find(one, path)) for one in dict.fromkeys([method, *self._methods]))
        name, match = next((one for one in matches if one[1] is not None), (method, None))
        templates = self._templates.get((name, match[0]), []) if match is not None else []
        return f"{path}/" if templates and all(template.endswith("/") for template in templates) else path

    def _nearest(self, method: str, path: str) -> SchemaViolation | None:
        match = self._operations.find(method, path)
        if match is not None:
            # A variable that takes all that is left may have taken a misspelt path.
            return self._near_path(method, path) if any("/" in value for value in match[1].values()) else None
        if (plain := self._without_verb(method, path)) is not None:
            return plain
        if (custom := self._with_other_mark(method, path)) is not None:
            return custom
        others = self._others(path)
        wrong = SchemaViolation("/method", "method", {"enum": others}, method) if others else None
        below = None if wrong is None or _may_become(method, others) else self._below(method, path)
        if wrong is not None and (method not in _READS or not _READS.isdisjoint(others)):
            misspelt = self._misspelt_end(method, path) if method in _WRITES and _WRITES.isdisjoint(others) else None
            if below is None and not _may_become(method, others):
                below = words_instead(self._operations.root, method, path)
            below = misspelt or below or self._elsewhere(method, path, others)
            return below or self._within(method, path, others) or wrong
        near = self._near_path(method, path)
        offered = near.schema["enum"] if near is not None and others else []
        ends = [parts_of(one) for one in offered if parts_of(one)[-1] != parts_of(path)[-1]]
        if offered and len(ends) == len(offered) and all(is_other_number(parts_of(path), one) for one in ends):
            near = None  # the path is known: a list is asked for, and not the one thing
        near = near or below or name_left_out(self._operations.root, method, path)
        near = near or wrong or self._lacking(method, path)
        return near or self._siblings(method, path) or self._around(path)

    def _misspelt_end(self, method: str, path: str) -> SchemaViolation | None:
        """Return the only path whose last word the request's misspells, where a variable of reads took it for a name.

        `POST /builders/gbmm` where the description has `POST /builders/gbm` and `GET /builders/{name}`.
        """
        *before, last = path.strip("/").split("/")
        nodes = list(nodes_after(self._operations.root, before))
        ends = [
            word
            for node in nodes
            for word, inner in node.literal.items()
            if method in inner.operations and is_slip(last, word) and not is_plural(last, word)
        ]
        if any(last in node.literal for node in nodes):
            return None  # it is a word of its own
        if len(set(ends)) != 1 or not last.isalpha() or len(last) < SHORTEST_WORD or len(path) > _MOST_LETTERS:
            return None
        return SchemaViolation("/path", "path", {"enum": ["/" + "/".join([*before, ends[0]])]}, path)

    def _elsewhere(self, method: str, path: str, others: list[str]) -> SchemaViolation | None:
        """Return the path that is this one in the other number and has the method: `POST /tag` for `POST /tags`."""
        is_taken = not _WRITES.isdisjoint(others) and method != "POST"  # what is to be created is not what is changed
        if method not in _WRITES or is_taken:
            return None
        near = self._near_path(method, path)
        offered = near.schema["enum"] if near is not None else []
        if len(offered) != 1 or not is_other_number(parts_of(path), parts_of(offered[0])):
            return None
        return SchemaViolation("/path", ELSEWHERE, {"enum": offered}, path)

    def _within(self, method: str, path: str, others: list[str]) -> SchemaViolation | None:
        """Return the only path that has the method and one thing more inside: `/shops/{shop}/orders` for `/orders`.

        Whoever adds to all of them at once, or deletes one of them, has left out where it belongs.
        """
        if method in _READS or (method != "POST" and not _WRITES.isdisjoint(others)):
            return None
        parts = path.strip("/").split("/")
        paths = [one for (other, _), each in self._templates.items() if other == method for one in each]
        spend(len(paths))
        longer = [one for one in paths if _is_within(parts, one.strip("/").split("/"))]
        if len(longer) != 1:
            return None
        pattern = "/".join("[^/]+" if "{" in part else re.escape(part) for part in longer[0].split("/"))
        return SchemaViolation("/path", ELSEWHERE, {"type": "string", "pattern": f"^{pattern}$"}, path)

    def _without_verb(self, method: str, path: str) -> SchemaViolation | None:
        """Return the path before a last word that only says what the method does: `POST /things/create`."""
        plain, _, word = path.rstrip("/").rpartition("/")
        if word.lower() not in _VERBS.get(method, ()) or self._literal("", path, word):
            return None
        known = self._operations.find(method, plain) if plain else None
        return None if known is None else SchemaViolation("/path", "path", {"enum": [plain]}, path)

    def _with_other_mark(self, method: str, path: str) -> SchemaViolation | None:
        """Return the path whose last word stands behind the other mark: `/things/7/cancel` for `/things/7:cancel`."""
        found = _LAST_WORD.fullmatch(path)
        if found is None or len(path) > _MOST_LETTERS:
            return None
        before, mark, word = found.groups()
        other = f"{before}{':' if mark == '/' else '/'}{word}"
        match = self._operations.find(method, other)
        is_written = match is not None and not any(value.endswith(word) for value in match[1].values())
        return SchemaViolation("/path", "path", {"enum": [other]}, path) if is_written else None

    def _below(self, method: str, path: str) -> SchemaViolation | None:
        """Return the paths one word below a path that have the method: `POST /things/create` for `POST /things`."""
        words = [
            word
            for node in nodes_after(self._operations.root, path.split("/"))
            for word, inner in node.literal.items()
            if method in inner.operations
        ]
        plain = path.rstrip("/")
        others = [f"{plain}/{word}" for word in dict.fromkeys(words)]
        return SchemaViolation("/path", "path", {"enum": others[:_MOST_SUGGESTED]}, path) if others else None

    def _others(self, path: str) -> list[str]:
        """Return the methods of a path; where some have it as it is written, not those that take a word for a value."""
        found = {one: match for one in self._methods if (match := self._operations.find(one, path)) is not None}
        least = min((len(match[1]) for match in found.values()), default=0)
        return [one for one, match in found.items() if len(match[1]) == least]

    def _around(self, path: str) -> SchemaViolation | None:
        """Return the known paths around one that goes on below a known path: `/orders/7/cancel` below `/orders/7`."""
        parts = path.strip("/").split("/")
        if len(parts) > LONGEST or len(path) > _MOST_LETTERS:
            return None
        for length in range(len(parts) - 1, 0, -1):
            known = "/" + "/".join(parts[:length])
            if not self._is_named(known):
                continue
            nodes = nodes_after(self._operations.root, parts[:length])
            words = dict.fromkeys(word for node in nodes for word, inner in node.literal.items() if inner.operations)
            around = [known, *(f"{known}/{word}" for word in words)]
            return SchemaViolation("/path", "around", {"type": "string", "enum": around[:_MOST_AROUND]}, path)
        return None

    def _is_named(self, path: str) -> bool:
        """Whether a path has an operation, and not only because variables take whatever is written."""
        matches = [self._operations.find(method, path) for method in self._methods]
        return any(match is not None and len(match[1]) < path.count("/") for match in matches)

    def written_paths(self, method: str, path: str) -> SchemaViolation | None:
        """Return the paths of the same operation as the description writes them, where the request's is another one.

        Below the base path of its servers, or with the slash at its end that a server may insist on.
        """
        match = self._operations.find(method, path)
        if match is None:
            return None
        templates = self._templates.get((method.upper(), match[0]), [])
        ends = {template.endswith("/") for template in templates}
        plain = path.rstrip("/") or "/"
        slash = "/" if ends == {True} else "" if ends == {False} else path[len(plain) :]
        bases = {
            longer[: -len(shorter)]: None
            for longer in templates
            for shorter in templates
            if longer != shorter and longer.endswith(shorter) and "{" not in longer[: -len(shorter)]
        }
        under = any(path.startswith(f"{base}/") for base in bases)
        others = [] if under else [base.rstrip("/") + plain.rstrip("/") + slash for base in bases]
        if not others and plain != "/":
            others.append(plain + slash)
        others = [other for other in others if other != path]
        return SchemaViolation("/path", "base", {"enum": others[:_MOST_SUGGESTED]}, path) if others else None

    def alternatives(self, method: str, path: str, value: str) -> SchemaViolation | None:
        """Return the methods of a path as it is written, or the paths near to one whose parameter has an invalid value.

        `GET /users/search` matches `GET /users/{id}`, but there is `POST /users/search`; `/user/repo` matches
        `/user/{id}`, but the caller meant `/user/repos`.
        """
        others = self._literal(method.upper(), path, value)
        if others:
            return SchemaViolation("/method", "method", {"enum": others}, method.upper())
        near = self._near_path(method.upper(), path)
        if near is None:
            return self._ended(method.upper(), self._without_verb(method.upper(), path))
        parts = path.strip("/").split("/")
        exchanged = [path for path in near.schema["enum"] if _exchanged(parts, path.strip("/").split("/")) == [value]]
        return self._ended(method.upper(), near._replace(schema={"enum": exchanged})) if exchanged else None

    def _literal(self, method: str, path: str, value: str) -> list[str]:
        """Return the methods that have a path as it is written, where this one takes a word of it for a value."""
        matches = {one: self._operations.find(one, path) for one in self._methods if one != method}
        return [one for one, match in matches.items() if match is not None and value not in match[1].values()]

    def _siblings(self, method: str, path: str) -> SchemaViolation | None:
        """Return the paths that differ from this one in a single name, below a name that both have.

        Where an API has a path for each of its collections, the name of one that is not there leads to the others.
        """
        parts = [part for part in path.split("/") if part]
        if len(parts) > LONGEST or len(path) > _MOST_LETTERS:
            return None
        node = self._operations.root
        others: dict[str, str] = {}
        """The paths, each with the name that it does not have."""
        is_shared = False
        for at, part in enumerate(parts):
            for word, inner in node.literal.items() if is_shared else ():
                spend()
                if word != part and any(method in end.operations for end in nodes_after(inner, parts[at + 1 :])):
                    others["/" + "/".join([*parts[:at], word, *parts[at + 1 :]])] = part
            if part not in node.literal:
                break
            node, is_shared = node.literal[part], is_shared or _COMMON.fullmatch(part) is None
        if not others:
            return None
        if len(others) > _MOST_SUGGESTED:
            *_, name = others.values()
            return SchemaViolation("/path", "reference", {"type": "string", "not": {"const": name}}, name)
        return SchemaViolation("/path", "path", {"enum": list(others)}, path)

    def _lacking(self, method: str, path: str) -> SchemaViolation | None:
        """Return the only path that has one word more inside: `/api/admin/projects/7/flags` of `/api/projects/7/flags`.

        What follows has to be a word of it, so that it is no other path that takes anything for a variable.
        """
        parts = [part for part in path.split("/") if part]
        if len(parts) > LONGEST or len(path) > _MOST_LETTERS:
            return None
        found: dict[str, None] = {}
        for at in range(1, len(parts)):
            for node in nodes_after(self._operations.root, parts[:at]):
                for word, inner in node.literal.items():
                    spend()
                    if parts[at] not in inner.literal:
                        continue
                    inner = inner.literal[parts[at]]
                    ends = any(method in end.operations for end in nodes_after(inner, parts[at + 1 :]))
                    longer = "/" + "/".join([*parts[:at], word, *parts[at:]])
                    if ends and self._written(method, longer) > 2:
                        found[longer] = None
        return SchemaViolation("/path", "path", {"enum": list(found)}, path) if len(found) == 1 else None

    def _written(self, method: str, path: str) -> int:
        """Return how many segments of a path its operation writes itself."""
        match = self._operations.find(method, path)
        return 0 if match is None else path.count("/") - len(match[1])

    def _near_path(self, method: str, path: str) -> SchemaViolation | None:
        parts = [part for part in path.split("/") if part]
        if not parts or len(parts) > LONGEST or len(path) > _MOST_LETTERS:
            return None
        plain = path.rstrip("/")
        costs: dict[str, tuple[int, int]] = {}
        for extra, variant in self._variants(parts):
            for candidate in walk(self._operations.root, variant, method, 2 - min(extra, 1)):
                if extra and self._takes_anything(method, candidate.path, min(len(variant), len(parts))):
                    continue
                cost = (candidate.cost + extra, abs(candidate.path.count("/") - len(parts)))
                if candidate.path != plain and cost < costs.get(candidate.path, _FAR):
                    costs[candidate.path] = cost
        if not costs:
            return None
        least = min(costs.values())
        near = [path for path, cost in costs.items() if cost == least]
        if len(near) == 1 and self._is_only_longer(method, near[0], plain):
            return SchemaViolation("/path", "base", {"enum": near}, path)
        near.sort(key=lambda candidate: slips(path, candidate))
        return SchemaViolation("/path", "path", {"enum": near[:_MOST_SUGGESTED]}, path)

    def _takes_anything(self, method: str, candidate: str, length: int) -> bool:
        """Whether a path below another beginning fits only because variables take all its segments that were sent."""
        match = self._operations.find(method, candidate)
        written = {unquote(part) for part in candidate.strip("/").split("/")}
        # Of `orders.{format}` only the extension is anything.
        return match is not None and sum(value in written for value in match[1].values()) >= length

    def _is_only_longer(self, method: str, candidate: str, path: str) -> bool:
        """Whether a path lacks only a base path of the API, and fits not just because variables take anything."""
        base = tuple(candidate.removesuffix(path).strip("/").split("/"))
        match = self._operations.find(method, candidate)
        is_based = candidate.endswith(path) and base in self._bases
        return is_based and match is not None and len(match[1]) < path.count("/")

    def _variants(self, parts: list[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield the path, also with what all paths begin with put before it, completed, taken away or exchanged."""
        yield 0, parts
        is_begun = False
        for base in self._bases:
            length = len(base)
            if tuple(parts[:length]) != base:
                yield 1, [*base, *parts]
                *head, version = base
                if (
                    head
                    and head == parts[: length - 1]
                    and all(map(_VERSION.fullmatch, (version, *parts[length - 1 : length])))
                ):
                    yield 1, [*base, *parts[length:]]
                shared = _count_shared(base, parts)
                lacks_version = all(map(_VERSION.fullmatch, base[shared:])) and shared < length
                if 0 < shared < len(parts) and lacks_version and not _VERSION.fullmatch(parts[shared]):
                    is_begun = True  # `/api/orders` of `/api/v1/orders`
                    yield 1, [*base, *parts[shared:]]
                if length == 1 and _VERSION.fullmatch(parts[0]) and _VERSION.fullmatch(base[0]):
                    yield 1, [*base, *parts[1:]]
        if len(parts) > 1 and not is_begun:
            yield 1, parts[1:]
        if len(parts) > 2 and _COMMON.fullmatch(parts[0]) and _VERSION.fullmatch(parts[1]):
            yield 2, [parts[0], *parts[2:]]
        if len(parts) > 2 and parts[0] == "api":
            yield 1, parts[2:]


def _count_shared(base: tuple[str, ...], parts: list[str]) -> int:
    """Return how many segments of a base path a path begins with."""
    return next((at for at, pair in enumerate(zip(base, parts, strict=False)) if pair[0] != pair[1]), len(base))


def _is_within(parts: list[str], longer: list[str]) -> bool:
    """Whether a path of the description is this one with a thing of its own inside: a word and its name, or the name.

    What follows the thing has to be a word that both have.
    """
    more = len(longer) - len(parts)
    if not 0 < more <= _MOST_INSIDE:
        return False
    for at in range(1, len(parts)):
        inside, after = longer[at : at + more], longer[at + more :]
        is_thing = "{" in inside[-1] and not any("{" in part for part in inside[:-1])
        if is_thing and after[0] == parts[at] and longer[:at] == parts[:at]:
            return all("{" in two or one == two for one, two in zip(parts[at:], after, strict=True))
    return False


def _may_become(method: str, others: list[str]) -> bool:
    """Whether one of the methods that a path has may be the one that was meant."""
    if method in _READS:
        return not {*_READS, "POST"}.isdisjoint(others)
    return method not in _WRITES or not _WRITES.isdisjoint(others)


def _exchanged(parts: list[str], others: list[str]) -> list[str]:
    if len(parts) != len(others):
        return []
    return [unquote(part) for part, other in zip(parts, others, strict=True) if part != other]


_QUERY_WORD: Final = re.compile(r"[A-Za-z_$][\w$]{2,63}")
_ABOUT_ORDER: Final = re.compile(
    r"(?i)\bsort|\border(?:ing\b|[ _]by\b| (?:parameter|value|field|key|clause)\b)|\b(?:invalid|bad|unknown) order\b"
)
_ORDERING: Final = re.compile(r"(?i)sort|order(?:[_-]?by|ing)?$")
"""Names of parameters that say by what a list is ordered."""
_DIRECTIONS: Final = {"ascending": "asc", "descending": "desc", "asc": "ascending", "desc": "descending"}
_MOST_NAMES: Final = 64
"""Parameters, and words of a message, that are looked at."""
_LONGEST: Final = 2000


def misspelt_words(query: Mapping[str, Json], fields: Sequence[str], message: str) -> Iterator[SchemaViolation]:
    """Yield the only word of a query that is nearly called like one field, and that a message is about.

    Or the only direction of an order that is written out, where the message lists the short form, or the other way.
    The message repeats the word, or is about the order of a list, and the word is in the parameter for that.
    """
    told = set(_QUERY_WORD.findall(message[:_LONGEST])[:_MOST_NAMES])
    listed, is_of_order = frozenset(told), _ABOUT_ORDER.search(message[:_LONGEST]) is not None
    if is_of_order:
        ordering = [value for name, value in list(query.items())[:_MOST_NAMES] if _ORDERING.search(name) is not None]
        told |= {word for value in ordering if isinstance(value, str) for word in _QUERY_WORD.findall(value[:_LONGEST])}
    spend(1 + len(query) + len(told))
    meant = {word: near for word in told - {*fields} if (near := _field(word, fields))}
    # A message about the order lists how directions are called.
    directions = {word: other for word, other in _DIRECTIONS.items() if is_of_order and other in listed}
    meant |= {word: other for word, other in directions.items() if word in told - listed}
    found: list[SchemaViolation] = []
    own = {near for word, near in meant.items() if word in str(query.get(near, ""))[:_LONGEST]}
    meant = {word: near for word, near in meant.items() if near not in own}  # what `kinds` holds is not called like it
    for name, value in list(query.items())[:_MOST_NAMES] if meant else ():
        for word, near in meant.items():
            head, bracket, rest = name.partition("[")
            if bracket and f"[{word}]" in f"[{rest}":
                other = head + f"[{rest}".replace(f"[{word}]", f"[{near}]", 1)
                closed = {"type": "object", "properties": {other: {}}}
                found.append(SchemaViolation(f"/query/{escape(name)}", "additionalProperties", closed, value, (other,)))
            elif isinstance(value, str) and len(value) <= _LONGEST and _QUERY_WORD.findall(value).count(word) == 1:
                other = re.sub(rf"(?<![\w$]){re.escape(word)}(?![\w$])", near, value)
                schema = {"type": "string", "enum": [other]}
                found.append(SchemaViolation(f"/query/{escape(name)}", "enum", schema, value))
    if len(found) == 1:
        yield found[0]


def _field(word: str, fields: Sequence[str]) -> str:
    """Return the field that a word is a slip of; nothing where it is rather another word: `publisher`, `published`."""
    near = nearest(word, fields)
    if len(near) != 1 or not (is_same(word, near[0]) or is_slip(word, near[0])):
        return ""
    is_other_form = word[:-1] == near[0][:-1] and may_be_other_word(word, near[0])
    return "" if is_other_form else near[0]
