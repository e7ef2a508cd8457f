"""One rule considers one error: look-ups out, a `RuleResult` or None back.

Knows: the order `when`, look-ups, `let`, `suggest`. Does not know: how suggestions are built, how look-ups are made.

Which rules may match a violation: the cost does not grow with the number of rules.

Rules are filed under (operation, status, code), each of them possibly "any". A violation has at most eight buckets.
Inside a bucket the message patterns of many rules are matched in a few passes, as a `PatternSet`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, Protocol

import orjson

from corrigible.rules.budget import add_values, content_size
from corrigible.rules.errors import RuleFault
from corrigible.rules.language.evaluator import Values
from corrigible.rules.language.expression import EvaluationError
from corrigible.rules.language.rule import TERMINAL, Branch, Entry, LookupSpec, PackSettings, Rule
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer, allowed, brings_query
from corrigible.rules.lookup_headers import LookupHeaders, is_value, lookup_headers
from corrigible.rules.pattern import PatternSet
from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .guarded_patch import PatchError, may_be_value
from .suggestion_builder import SuggestionBuilder, filled

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
        code, param = violation.code, violation.param
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
                    is_heard = not on.types or not on.types.isdisjoint(_heard(entry[1], violation))
                    if is_heard and (not on.params or param in on.params):
                        matches.append(entry)
        if len(matches) > 1:
            matches = sorted(dict(matches).items())  # a rule that lists two spellings of a code is a candidate once
        return [rule for _, rule in matches]


def _heard(rule: Rule, violation: Violation) -> tuple[str, ...]:
    """Return the types that a rule listens for: of a priority below 0 the first alone."""
    return violation.types if rule.priority >= 0 else violation.types[:1]


def why_not(rule: Rule, operation: str, status: int, violation: Violation) -> str | None:
    """Say in words which part of `match` does not hold; None where all of it does."""
    on = rule.match
    checks = (
        ("operation", on.operations, operation),
        ("status", on.statuses, status),
        ("code", on.codes, violation.code),
        ("type", on.types, next((one for one in _heard(rule, violation) if one in on.types), violation.type)),
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


Evaluation = Generator[Lookup, LookupAnswer, "RuleResult | None"]

_MOST_VALUES = 200_000
_MOST_LETTERS = 4_194_304
_LONGEST_BODY = 65_536
_WAITS = {"WAIT_AND_RETRY"}


class Source(Protocol):
    """Where suggestions come from: a rule, or the API's own description."""

    @property
    def id(self) -> str: ...
    @property
    def diagnosis(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def verbose_code(self) -> str: ...
    @property
    def may_guess(self) -> bool:
        """Whether a rule takes what is nearest of a list."""


class RuleResult(NamedTuple):
    """What a rule, or the description, suggests about an error."""

    rule: Source
    suggestions: tuple[dict[str, Json], ...]
    type: str
    recovery: str
    retry: Mapping[str, Json] | None
    used_live_state: bool
    also_resolves: frozenset[int] = frozenset()
    """The numbers of further errors that this answers too."""
    lookup_results: tuple[LookupResult, ...] = ()
    """What look-ups showed: a name may have been replaced by what it stands for."""
    branches: frozenset[Branch] = frozenset()
    """The entries under `suggest` that gave the suggestions, and the members of groups."""

    def with_suggestions(self, suggestions: Iterable[dict[str, Json]]) -> RuleResult:
        """Return the result with other suggestions. (`_replace` takes four times as long.)"""
        rule, _, type, recovery, retry, used_live_state, settles, seen, branches = self
        return RuleResult(rule, tuple(suggestions), type, recovery, retry, used_live_state, settles, seen, branches)


class RuleEvaluation:
    """Evaluates a rule whose `match` holds for an error.

    `scope` holds the common names (`error` is this error) and is added to. `group` makes group ids unique.
    """

    def __init__(
        self,
        rule: Rule,
        request: Request,
        scope: dict[str, Any],
        settings: PackSettings,
        group: str,
        explain: list[str] | None,
    ) -> None:
        self.rule, self.scope, self.settings, self.explain = rule, scope, settings, explain
        self.lookups_made: list[str] = []
        """The look-ups that were made, as evidence names them."""
        self.lookup_results: list[LookupResult] = []
        self.request, self.group = request, group
        self.builder: SuggestionBuilder
        self.values_held = self.letters_held = 0
        """What look-ups and `let` have put into the scope."""
        self.has_long_capture = False
        """Whether a capture holds more than a value."""
        pattern = rule.match.message
        if pattern is not None and pattern.names:
            captures = pattern.search(scope["error"]["message"]) or {}
            self.has_long_capture = not all(map(may_be_value, captures.values()))
            scope["captures"] = captures

    def run(self) -> Evaluation:
        """Raises RuleFault where the rule crashes."""
        rule = self.rule
        if self.has_long_capture:
            self._note("a capture is no value: too long, or of several lines")
            return None
        try:
            values = self.scope
            if rule.when is not None and not rule.when.holds(values):
                self._note("when does not hold")
                return None
            # Most rules that are asked do not get this far.
            self.builder = SuggestionBuilder(
                rule, self.request, self.scope, self.settings, self.group, self.lookups_made
            )
            if rule.lookups:
                yield from self._look_up()
            for name, template in rule.lets:
                value = filled(template, values)
                self._hold("let", name, value)
                self.scope[name] = value
            for number, entry in enumerate(rule.entries):
                if entry.condition is not None and not entry.condition.holds(values):
                    self._note(f"suggest[{number}].if does not hold")
                    continue
                suggestions = self.builder.build(entry, values)
                if suggestions:
                    settled = rule.also_resolves.evaluate(values) if rule.also_resolves is not None else ()
                    branches = frozenset({(number,), *((number, member) for member in self.builder.members)})
                    return self._result(suggestions, entry, frozenset(settled), branches)
        except (EvaluationError, PatchError) as problem:
            raise RuleFault(rule.id, str(problem)) from problem
        self._note("nothing under suggest holds")
        return None

    def _hold(self, what: str, name: str, value: Json) -> None:
        """Count what a step adds to the scope. Raises RuleFault before the next step could multiply too much."""
        added, letters = content_size(value)
        self.values_held += added
        self.letters_held += letters
        if self.values_held > _MOST_VALUES or self.letters_held > _MOST_LETTERS:
            most = f"{_MOST_VALUES:,} values and {_MOST_LETTERS:,} letters are the most that all of them may hold"
            raise RuleFault(self.rule.id, f"{what} {name} makes the names of this rule hold too much: {most}")
        add_values(added)

    def _note(self, text: str) -> None:
        if self.explain is not None:
            self.explain.append(text)

    def _look_up(self) -> Generator[Lookup, LookupAnswer, None]:
        waiting = list(self.rule.lookups)
        while waiting:
            spec = waiting.pop(0)
            lookup, template = self._lookup(spec, self.scope)
            answer: Json = None
            if lookup is not None:
                open_names = {spec.name, *(other.name for other in waiting)}
                free = [other for other in waiting if open_names.isdisjoint(other.needs)]
                ahead = [one for one, _ in (self._lookup(other, self.scope) for other in free) if one is not None]
                answer = _decoded((yield replace(lookup, prefetch=tuple(ahead)) if ahead else lookup))
                verb = spec.method
                self.lookups_made.append(f"{verb} {template}")
                verdict = "gave nothing" if answer is None else "answered"
                self._note(f"look-up {spec.name}: {verb} {template} {verdict}")
                if answer is not None:
                    self.lookup_results.append(LookupResult(lookup.path, answer))
            elif template is not None:
                self._note(f"look-up {spec.name}: not on the pack's list")
            if answer is None and not spec.optional and template is not None:
                raise RuleFault(self.rule.id, f"look-up {spec.name} gave nothing")
            self._hold("look-up", spec.name, answer)
            self.scope[spec.name] = answer

    def _lookup(self, spec: LookupSpec, values: Values) -> tuple[Lookup | None, str | None]:
        """Return the look-up and the template it fits: none where its `if` does not hold, empty for no fit."""
        if spec.condition is not None and not spec.condition.holds(values):
            return None, None
        path = spec.path.evaluate(values)
        templates = self.settings.lookups if spec.body is None else self.settings.reading_posts
        template = allowed(path, templates) if isinstance(path, str) else None
        if template is not None and brings_query(path, spec.path.expanded):
            template = None
        if template is None:
            return None, ""
        if spec.body is not None:
            body = orjson.dumps(filled(spec.body, values))
            if len(body) > _LONGEST_BODY:
                raise RuleFault(self.rule.id, f"the body of look-up {spec.name} is over {_LONGEST_BODY:,} bytes")
            return Lookup(path, "POST", body, "application/json", self._headers(spec, values)), template
        if spec.message is None:
            return Lookup(path, headers=self._headers(spec, values)), template
        return Lookup(path, CALL, orjson.dumps(filled(spec.message, values))), template

    def _headers(self, spec: LookupSpec, values: Values) -> LookupHeaders:
        own = {name: expression.evaluate(values) for name, expression in spec.headers}
        for name, value in own.items():
            if not is_value(value):
                raise RuleFault(self.rule.id, f"the header {name} of look-up {spec.name} is no short text of ASCII")
        return lookup_headers(self.request, self.settings.lookup_headers, own)

    def _result(
        self, suggestions: list[dict[str, Json]], entry: Entry, settled: frozenset[int], branches: frozenset[Branch]
    ) -> RuleResult:
        recovery = self.builder.recovery
        if not recovery:
            bases = {one.get("base_action") or one["action"] for one in suggestions}
            if not TERMINAL.isdisjoint(bases):
                recovery = "terminal"
            else:
                recovery = "transient" if bases == _WAITS else "correctable"
        kind = entry.type or self.rule.type
        retry, looked, seen = self.builder.retry, bool(self.lookups_made), tuple(self.lookup_results)
        return RuleResult(self.rule, tuple(suggestions), kind, recovery, retry, looked, settled, seen, branches)


def _decoded(answer: LookupAnswer) -> Json:
    if answer.status != 200:
        return None
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
