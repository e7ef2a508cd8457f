"""Which rules may speak about a violation: flat in the number of rules.

Rules are filed under (operation, status, code), each of them possibly "any". A violation asks at most eight buckets.
Inside a bucket the message patterns of many rules are matched in one pass of an RE2 set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import re2

from .rule import Rule
from .violation import Violation

ANY = ""
_SET_FROM = 6
"""From how many patterns on one RE2 set is quicker than asking each."""

Key = tuple[str, int, str]


class _Bucket:
    __slots__ = ("_patterns", "_plain", "_set", "ranked")

    def __init__(self, ranked: list[tuple[int, Rule]]) -> None:
        self.ranked = ranked
        self._set: re2.Set | None = None
        self._patterns: list[int] = []
        self._plain = frozenset(n for n, (_, rule) in enumerate(ranked) if rule.listens.message is None)
        patterned = [(place, rule) for place, (_, rule) in enumerate(ranked) if rule.listens.message is not None]
        if len(patterned) >= _SET_FROM:
            options = re2.Options()
            options.max_mem = 256 << 20
            options.log_errors = False
            self._set = re2.Set.SearchSet(options)
            for place, rule in patterned:
                assert rule.listens.message is not None
                self._set.Add(rule.listens.message.pattern)
                self._patterns.append(place)
            self._set.Compile()

    def candidates(self, message: str) -> Iterator[tuple[int, Rule]]:
        if self._set is None:
            yield from self.ranked
            return
        hits = {self._patterns[number] for number in self._set.Match(message)}
        for place in sorted(hits | self._plain):
            yield self.ranked[place]


class RuleIndex:
    """An ordered, indexed set of rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        speaking = [rule for rule in rules if rule.status != "deprecated"]
        self.rules = tuple(sorted(speaking, key=lambda r: (-r.priority, -r.listens.specificity, r.id)))
        filed: dict[Key, list[tuple[int, Rule]]] = {}
        for rank, rule in enumerate(self.rules):
            on = rule.listens
            for key in product(on.operations or (ANY,), on.statuses or (0,), on.codes or (ANY,)):
                filed.setdefault(key, []).append((rank, rule))
        self._buckets = {key: _Bucket(ranked) for key, ranked in filed.items()}

    def candidates(self, operation: str, status: int, violation: Violation) -> list[Rule]:
        """Return the rules whose `on` holds, the one to ask first in front."""
        found: list[tuple[int, Rule]] = []
        code, kind, param, message = violation.code, violation.type, violation.param, violation.message
        buckets = self._buckets
        operations = (operation, ANY) if operation else (ANY,)
        codes = (code, ANY) if code else (ANY,)
        for named in operations:
            for number in (status, 0):
                for said in codes:
                    bucket = buckets.get((named, number, said))
                    if bucket is None:
                        continue
                    for rank, rule in bucket.candidates(message):
                        on = rule.listens
                        if on.types and kind not in on.types:
                            continue
                        if on.params and param not in on.params:
                            continue
                        if on.message is not None and on.message.search(message) is None:
                            continue
                        found.append((rank, rule))
        found.sort(key=_rank)
        return [rule for _, rule in found]


def _rank(entry: tuple[int, Rule]) -> int:
    return entry[0]


def why_not(rule: Rule, operation: str, status: int, violation: Violation) -> str | None:
    """Say in words which part of `on` does not hold; None where all of it does."""
    on = rule.listens
    checks = (
        ("operation", on.operations, operation),
        ("status", on.statuses, status),
        ("code", on.codes, violation.code),
        ("type", on.types, violation.type),
        ("param", on.params, violation.param),
    )
    for name, wanted, given in checks:
        if wanted and given not in wanted:
            return (
                f"{name} is {given or 'not named'}, the rule listens for {', '.join(map(str, sorted(wanted, key=str)))}"
            )
    if on.message is not None and on.message.search(violation.message) is None:
        return "the message does not match its pattern"
    return None
