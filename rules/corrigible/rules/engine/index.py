"""Which rules may match a violation: the cost does not grow with the number of rules.

Rules are filed under (operation, status, code), each of them possibly "any". A violation has at most eight buckets.
Inside a bucket the message patterns of many rules are matched in a few passes, as a `PatternSet`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from corrigible.rules.language.rule import Rule
from corrigible.rules.pattern import PatternSet
from corrigible.rules.violation import Violation

ANY = ""


class _Bucket:
    """Rules filed under one key, in the order in which they are tried."""

    __slots__ = ("_patterned", "_patterns", "_plain")

    def __init__(self, ranked: list[tuple[int, Rule]]) -> None:
        self._plain = [(rank, rule) for rank, rule in ranked if rule.match.message is None]
        self._patterned = [(rank, rule) for rank, rule in ranked if rule.match.message is not None]
        texts = [rule.match.message.text for _, rule in self._patterned if rule.match.message is not None]
        self._patterns = PatternSet(texts) if texts else None

    def candidates(self, message: bytes) -> list[tuple[int, Rule]]:
        if self._patterns is None:
            return self._plain
        hits = self._patterns.matches(message)
        return self._plain + [self._patterned[number] for number in hits] if hits else self._plain


class RuleIndex:
    """An ordered, indexed set of rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        active = [rule for rule in rules if rule.status != "deprecated"]
        self.rules = tuple(sorted(active, key=lambda r: (-r.priority, -r.match.specificity, r.id)))
        filed: dict[str, dict[tuple[int, str], list[tuple[int, Rule]]]] = {}
        for rank, rule in enumerate(self.rules):
            on = rule.match
            for operation, status, code in product(on.operations or (ANY,), on.statuses or (0,), on.codes or (ANY,)):
                filed.setdefault(operation, {}).setdefault((status, code), []).append((rank, rule))
        self._buckets = {
            operation: {key: _Bucket(ranked) for key, ranked in shelf.items()} for operation, shelf in filed.items()
        }

    def candidates(self, operation: str, status: int, violation: Violation) -> list[Rule]:
        """Return the rules whose `match` holds, the one to ask first in front."""
        matches: list[tuple[int, Rule]] = []
        code, kind, param = violation.code, violation.type, violation.param
        keys = [(status, code), (status, ANY), (0, code), (0, ANY)] if code else [(status, ANY), (0, ANY)]
        if written := violation.written_code:
            keys += [(status, written), (0, written)]
        message = violation.written_text.encode("utf-8", "surrogatepass")
        for shelf in (self._buckets.get(operation), self._buckets.get(ANY) if operation else None):
            if shelf is None:
                continue
            for key in keys:
                bucket = shelf.get(key)
                if bucket is None:
                    continue
                for entry in bucket.candidates(message):
                    on = entry[1].match
                    if (not on.types or kind in on.types) and (not on.params or param in on.params):
                        matches.append(entry)
        if len(matches) > 1:
            matches = sorted(dict(matches).items())  # a rule that lists two spellings of a code is a candidate once
        return [rule for _, rule in matches]


def why_not(rule: Rule, operation: str, status: int, violation: Violation) -> str | None:
    """Say in words which part of `match` does not hold; None where all of it does."""
    on = rule.match
    checks = (
        ("operation", on.operations, operation),
        ("status", on.statuses, status),
        ("code", on.codes, violation.code),
        ("type", on.types, violation.type),
        ("param", on.params, violation.param),
    )
    for name, wanted, given in checks:
        if wanted and given not in wanted and not (name == "code" and violation.written_code in wanted):
            return (
                f"{name} is {given or 'not named'}, the rule listens for {', '.join(map(str, sorted(wanted, key=str)))}"
            )
    if on.message is not None and on.message.search(violation.message) is None:
        return f"the message does not match {on.message.text}"
    return None
