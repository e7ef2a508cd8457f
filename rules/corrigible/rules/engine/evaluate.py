"""One rule considers one violation: look-ups out, a `RuleResult` or silence back."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import orjson

from corrigible.rules.budget import Bulk, bulk, grow
from corrigible.rules.errors import RuleFault
from corrigible.rules.language.expression import EvaluationError, Expression, environment
from corrigible.rules.language.rule import (
    TERMINAL,
    Edit,
    Entry,
    LookupSpec,
    Placeholder,
    Rule,
    SuggestionGroup,
    SuggestionLoop,
    SuggestionSpec,
    Template,
)
from corrigible.rules.pointer import is_among, parameters_at, segments
from corrigible.rules.safety.decisive import guessed
from corrigible.rules.safety.loss import Seen
from corrigible.schema.exchange import Json, Request

from .guarded_patch import Operation, PatchError, changes_request, derive, guarded, with_new_idempotency_key
from .lookup import CALL, Lookup, LookupAnswer, allowed, brings_query
from .lookup_path import capture, placed, theirs

Asking = Generator[Lookup, LookupAnswer, "RuleResult | None"]


class Speaker(Protocol):
    """Who said it: a rule, or the API's own description."""

    @property
    def id(self) -> str: ...
    @property
    def diagnosis(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def verbose_code(self) -> str: ...


class RuleResult(NamedTuple):
    """What is said about a violation."""

    rule: Speaker
    suggestions: tuple[dict[str, Json], ...]
    type: str
    recovery: str
    retry: Mapping[str, Json] | None
    used_live_state: bool
    settles: frozenset[int] = frozenset()
    """The numbers of further complaints that this answers too."""
    seen: tuple[Seen, ...] = ()
    """What look-ups showed: a name may have been replaced by what it stands for."""


@dataclass(frozen=True, slots=True)
class PackSettings:
    """What a pack says once for all its rules."""

    lookups: tuple[tuple[str, ...], ...] = ()
    """Allow-listed path templates, split at `/`."""
    idempotency_header: str = ""
    """Lower case; empty where the API has none."""
    secrets: frozenset[str] = frozenset()
    path_members: frozenset[str] = frozenset()
    """Members of look-ups whose values stand for several segments of a path."""
    decisive: frozenset[str] = frozenset()
    """Names of members that are not to be guessed, nor their values, besides those known by their words."""
    tokens: frozenset[str] = frozenset()
    """Members and headers (lower case) that hold a version of what is stored, or an idempotency key."""


def speak(
    rule: Rule,
    request: Request,
    scope: dict[str, Any],
    guidance: PackSettings,
    group: str,
    explain: list[str] | None,
) -> Asking:
    """Let a rule whose `match` holds consider a violation. Raises RuleFault where it crashes.

    `scope` holds the common names (`error` is this violation) and is added to. `group` makes group ids unique.
    """
    return RuleEvaluation(rule, request, scope, guidance, group, explain).speak()


class RuleEvaluation:
    def __init__(
        self,
        rule: Rule,
        request: Request,
        scope: dict[str, Any],
        guidance: PackSettings,
        group: str,
        explain: list[str] | None,
    ) -> None:
        self.rule, self.request, self.scope, self.guidance = rule, request, scope, guidance
        self.group, self.explain = group, explain
        self.looked: list[str] = []
        self.seen: list[Seen] = []
        self.groups = 0
        self.kept = Bulk(0, 0)
        """What look-ups and `let` have put into the scope."""
        self.retry: dict[str, Json] | None = None
        self.recovery = ""
        self.type = rule.type
        self.prose = False
        """Whether a capture holds more than a value."""
        pattern = rule.match.message
        if pattern is not None and pattern.names:
            found = pattern.search(scope["error"]["message"]) or {}
            self.prose = not all(map(capture, found.values()))
            scope["captures"] = found

    def speak(self) -> Asking:
        try:
            return (yield from self._speak())
        except (EvaluationError, PatchError) as problem:
            raise RuleFault(self.rule.id, str(problem)) from problem

    def _speak(self) -> Asking:
        rule = self.rule
        if self.prose:
            self._note("a capture is no value: too long, or of several lines")
            return None
        activation = rule.activation(self.scope)
        if rule.when is not None and not rule.when.holds(activation):
            self._note("when does not hold")
            return None
        if rule.questions:
            yield from self._ask()
            activation = rule.activation(self.scope)
        for name, template in rule.lets:
            value = _filled(template, activation)
            self._keep(f"let {name}", value)
            self.scope[name] = value
            activation = rule.activation(self.scope)
        for number, entry in enumerate(rule.entries):
            if entry.condition is not None and not entry.condition.holds(activation):
                self._note(f"suggest[{number}].if does not hold")
                continue
            suggestions = self._entry(entry, activation, None)
            if suggestions:
                settled = rule.also_resolves.evaluate(activation) if rule.also_resolves is not None else []
                return self._spoken(suggestions, entry)._replace(settles=frozenset(settled))
        self._note("nothing under suggest holds")
        return None

    def _keep(self, what: str, value: Json) -> None:
        """Count what a step adds to the scope. Raises RuleFault before the next step could multiply too much."""
        held = bulk(value)
        self.kept = Bulk(self.kept.values + held.values, self.kept.letters + held.letters)
        if self.kept.values > _MOST_VALUES or self.kept.letters > _MOST_LETTERS:
            most = f"{_MOST_VALUES:,} values and {_MOST_LETTERS:,} letters are the most that all of them may hold"
            raise RuleFault(self.rule.id, f"{what} makes the names of this rule hold too much: {most}")
        grow(held.values)

    def _note(self, text: str) -> None:
        if self.explain is not None:
            self.explain.append(text)

    def _ask(self) -> Generator[Lookup, LookupAnswer, None]:
        waiting = list(self.rule.questions)
        while waiting:
            question = waiting.pop(0)
            activation = self.rule.activation(self.scope)
            lookup, template = self._lookup(question, activation)
            answer: Json = None
            if lookup is not None:
                open_names = {question.name, *(other.name for other in waiting)}
                free = [other for other in waiting if open_names.isdisjoint(other.needs)]
                also = [said for said, _ in (self._lookup(other, activation) for other in free) if said is not None]
                answer = _decoded((yield replace(lookup, ahead=tuple(also)) if also else lookup))
                verb = "GET" if question.message is None else CALL
                self.looked.append(f"{verb} {template}")
                verdict = "gave nothing" if answer is None else "answered"
                self._note(f"look-up {question.name}: {verb} {template} {verdict}")
                if answer is not None:
                    self.seen.append(Seen(lookup.path, answer))
            elif template is not None:
                self._note(f"look-up {question.name}: not on the pack's list")
            if answer is None and not question.optional and template is not None:
                raise RuleFault(self.rule.id, f"look-up {question.name} gave nothing")
            self._keep(f"look-up {question.name}", answer)
            self.scope[question.name] = answer

    def _lookup(self, question: LookupSpec, activation: Any) -> tuple[Lookup | None, str | None]:
        """Return what a question asks and the template it fits: none where its `if` does not hold, empty for no fit."""
        if question.condition is not None and not question.condition.holds(activation):
            return None, None
        path = question.get.evaluate(activation)
        template = allowed(path, self.guidance.lookups) if isinstance(path, str) else None
        if template is not None and brings_query(path, question.get.text):
            template = None
        if template is None:
            return None, ""
        if question.message is None:
            return Lookup(path), template
        return Lookup(path, CALL, orjson.dumps(_filled(question.message, activation))), template

    def _spoken(self, suggestions: list[dict[str, Json]], entry: Entry) -> RuleResult:
        kind = entry.type or self.type
        recovery = self.recovery
        if not recovery:
            bases = [said.get("base_action") or said["action"] for said in suggestions]
            if not TERMINAL.isdisjoint(bases):
                recovery = "terminal"
            else:
                waits = all([base == "WAIT_AND_RETRY" for base in bases])
                recovery = "transient" if waits else "correctable"
        said = RuleResult(self.rule, tuple(suggestions), kind, recovery, self.retry, bool(self.looked))
        return said._replace(seen=tuple(self.seen))

    def _entry(self, entry: Entry, activation: Any, group: dict[str, str] | None) -> list[dict[str, Json]]:
        match entry:
            case SuggestionSpec():
                said = self._say(entry, activation, group)
                return [] if _changes_nothing(entry, said) else [said]
            case SuggestionGroup():
                mine = self._group(entry.relation)
                out = []
                for member in entry.members:
                    if member.condition is None or member.condition.holds(activation):
                        out += self._entry(member, activation, mine)
                return out
            case SuggestionLoop():
                return self._each(entry, activation)

    def _each(self, entry: SuggestionLoop, activation: Any) -> list[dict[str, Json]]:
        mine = self._group("one_of")
        env = environment(self.rule.names | {entry.name})
        out: list[dict[str, Json]] = []
        elements = entry.each.evaluate(activation)
        if not isinstance(elements, list):
            raise EvaluationError(f"{entry.each.text}: gives no list")
        for element in elements:
            inner = env.activation({**self.scope, entry.name: element}, self.rule.hands | {entry.name})
            if entry.member.condition is None or entry.member.condition.holds(inner):
                said = self._say(entry.member, inner, mine)
                out += [] if _changes_nothing(entry.member, said) else [said]
            if len(out) == _MOST_ALTERNATIVES:
                break
        return out

    def _group(self, relation: str) -> dict[str, str]:
        self.groups += 1
        return {"id": f"{self.group}{self.groups}", "relation": relation}

    def _say(self, say: SuggestionSpec, activation: Any, group: dict[str, str] | None) -> dict[str, Json]:
        parameters = _filled(say.parameters, activation)
        if say.actor is not None:
            parameters = {"actor": say.actor, **parameters}
        out: dict[str, Json] = {"action": say.action}
        if say.base_action != say.action:
            out["base_action"] = say.base_action
        out["message"] = say.message if say.differs is None else _with_names(say.message, say.differs, activation)
        out["parameters"] = parameters
        terminal = say.base_action in TERMINAL
        patch = [] if terminal else self._patch(say, parameters, activation)
        if patch:
            out["patch"] = patch
            if not parameters and say.action == "MODIFY_PARAMS" and not isinstance(self.request.body, list):
                out["parameters"] = _merged(patch, parameters_at(self.request).lstrip("/"))
        if say.steps:
            out["steps"] = [_filled(step, activation) for step in say.steps]
        self._place([op for op in patch if op["path"] == "/path" and op["op"] in ("add", "replace")], "value")
        self._place(out.get("steps", ()), "path")
        if not terminal:
            out["applicability"] = say.applicability
        if say.placeholders:
            out["placeholders"] = [one for p in say.placeholders for one in self._asked(p, activation)]
        if group is not None:
            out["group"] = group
        out["safety"] = self._safety(say, patch, terminal)
        if self.rule.guesses and guessed(patch, self.request, self.guidance.decisive):
            out["safety"]["requires_confirmation"] = True
        out["evidence"] = {"kind": "rule", "rule": self.rule.version}
        if self.looked:
            out["evidence"]["lookups"] = list(dict.fromkeys(self.looked))
        self._pace(say, activation, patch)
        return out

    def _place(self, holders: Sequence[dict[str, Json]], member: str) -> None:
        """Let values of look-ups and native text stand for one segment each in the paths that are suggested."""
        strange: list[str] | None = None
        for holder in holders:
            path = holder.get(member)
            if not isinstance(path, str) or path == self.request.path:
                continue
            if strange is None:
                names = ["error", "captures", *(question.name for question in self.rule.questions)]
                strange = theirs(self.scope, names, self.request.document(), self.guidance.path_members)
            holder[member] = placed(path, strange)
            if holder[member] is None:
                raise EvaluationError("a suggested path leaves its place")

    def _asked(self, placeholder: Placeholder, activation: Any) -> Iterator[dict[str, Json]]:
        if placeholder.each is None:
            yield _placeholder(placeholder, activation)
            return
        env = environment(self.rule.names | {placeholder.name})
        for element in placeholder.each.evaluate(activation):
            yield _placeholder(
                placeholder,
                env.activation({**self.scope, placeholder.name: element}, self.rule.hands | {placeholder.name}),
            )

    def _patch(self, say: SuggestionSpec, parameters: Mapping[str, Json], activation: Any) -> list[Operation]:
        if say.edits is not None:
            if isinstance(say.edits, Expression):
                patch = _computed(say.edits, activation)
            else:
                patch = [_operation(edit, activation) for edit in say.edits]
            if self.guidance.secrets:
                patch = [op for op in patch if op["op"] != "test" or not self._secret(str(op["path"]))]
        elif parameters and say.action == "MODIFY_PARAMS":
            patch = derive(self.request, parameters, self.guidance.secrets)
        else:
            return []
        guarded(self.request.document(), patch)
        return with_new_idempotency_key(
            patch, self.request, self.guidance.idempotency_header, self.scope["exchange"]["id"]
        )

    def _secret(self, pointer: str) -> bool:
        return any(is_among(part, self.guidance.secrets) for part in segments(pointer))

    def _safety(self, say: SuggestionSpec, patch: Sequence[Operation], terminal: bool) -> dict[str, Json]:
        if say.side_effects is not None:
            effects = say.side_effects
        else:
            method = next((op["value"] for op in patch if op["path"] == "/method" and op["op"] == "replace"), None)
            effects = "none" if terminal or (method or self.request.method) in ("GET", "HEAD") else "certain"
        safety: dict[str, Json] = {"side_effects": effects, "changes_intent": say.changes_intent}
        if say.requires_confirmation:
            safety["requires_confirmation"] = True
        return safety

    def _pace(self, say: SuggestionSpec, activation: Any, patch: Sequence[Operation]) -> None:
        if say.recovery:
            self.recovery = say.recovery
        keyed = self.guidance.idempotency_header in self.request.headers
        with_new_idempotency_key = keyed and (bool(say.placeholders) or changes_request(patch))
        if say.retry is not None:
            said = say.retry.model_dump(exclude_none=True)
            if isinstance(say.after_seconds, Expression):
                said["after_seconds"] = say.after_seconds.evaluate(activation)
                if not _is_wait(said["after_seconds"]):
                    del said["after_seconds"]
            unsafe = self.request.method not in ("GET", "HEAD", "OPTIONS") and say.side_effects != "none"
            if patch or (unsafe and not keyed):
                said["same_request"] = False
            if with_new_idempotency_key:
                said["idempotency_key"] = "new"
            self.retry = slower(self.retry, said)
        elif with_new_idempotency_key:
            self.retry = slower(self.retry, {"same_request": False, "idempotency_key": "new"})


_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_MOST_NAMES = 8


def _with_names(message: str, differs: Expression, activation: Any) -> str:
    """Say by which members the thing that is there differs. Names only: values are nobody's to repeat."""
    found = differs.evaluate(activation)
    names = [one for one in found if isinstance(one, str) and _NAME.fullmatch(one)] if isinstance(found, list) else []
    said = ", ".join(dict.fromkeys(names[:_MOST_NAMES]))
    return f"{message} What differs: {said}." if said else message


_MOST_VALUES = 200_000
_MOST_LETTERS = 4 << 20
_LONGEST_WAIT = 10**9


def _is_wait(seconds: Json) -> bool:
    """Whether it is a number of seconds to come: headers may say anything."""
    return type(seconds) in (int, float) and 0 <= seconds <= _LONGEST_WAIT


def _changes_nothing(say: SuggestionSpec, said: Mapping[str, Json]) -> bool:
    """Whether computed edits came to none: repeating the request as it was would be all that is left to do."""
    return isinstance(say.edits, Expression) and not any(said.get(k) for k in ("patch", "placeholders", "steps"))


_MOST_ALTERNATIVES = 5


def slower(one: Mapping[str, Json] | None, other: Mapping[str, Json]) -> dict[str, Json]:
    """Fold two paces into the more careful one."""
    if one is None:
        return dict(other)
    longer = float(other.get("after_seconds") or 0) > float(one.get("after_seconds") or 0)
    out = dict(other if longer else one)
    out["same_request"] = bool(one.get("same_request") and other.get("same_request"))
    if "new" in (one.get("idempotency_key"), other.get("idempotency_key")):
        out["idempotency_key"] = "new"
    return out


def _decoded(answer: LookupAnswer) -> Json:
    if answer.status != 200:
        return None
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None


def _filled(template: Template, activation: Any) -> Any:
    if isinstance(template, Expression):
        return template.evaluate(activation)
    if isinstance(template, dict):
        return {key: _filled(inner, activation) for key, inner in template.items()}
    if isinstance(template, list):
        return [_filled(inner, activation) for inner in template]
    return template


def _pointer(place: str | Expression, activation: Any) -> str:
    pointer = place if isinstance(place, str) else place.evaluate(activation)
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise EvaluationError(f"{place if isinstance(place, str) else place.text}: gives no pointer")
    return pointer


def _placeholder(placeholder: Placeholder, activation: Any) -> dict[str, Json]:
    schema = dict(placeholder.schema)
    if placeholder.schema_from is not None:
        more = placeholder.schema_from.evaluate(activation)
        if isinstance(more, Mapping):
            schema.update(more)
    return {"pointer": _pointer(placeholder.pointer, activation), "ask": placeholder.ask, "schema": schema}


def _merged(patch: Sequence[Operation], where: str) -> dict[str, Json]:
    """Say a patch as merge parameters where it sets or removes plain top-level members only: half of it misleads.

    `where` is the part of the request that parameters are merged into.
    """
    out: dict[str, Json] = {}
    for op in patch:
        parts = segments(str(op["path"]))
        if op["op"] == "test" or parts[0] not in ("body", "query"):
            continue
        plain = op["op"] in ("add", "replace", "remove") and not isinstance(op.get("value"), (dict, list))
        if not plain or len(parts) != 2 or parts[0] != where:
            return {}
        out[parts[1]] = op.get("value")
    return out


_OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})


def _computed(expression: Expression, activation: Any) -> list[Operation]:
    patch = expression.evaluate(activation)
    for op in patch if isinstance(patch, list) else [None]:
        if not (isinstance(op, dict) and op.get("op") in _OPERATIONS and str(op.get("path", "")).startswith("/")):
            raise EvaluationError(f"{expression.text}: gives no patch")
    return [dict(op) for op in patch]


def _operation(edit: Edit, activation: Any) -> Operation:
    op: Operation = {"op": edit.op, "path": _pointer(edit.path, activation)}
    if edit.source is not None:
        op["from"] = _pointer(edit.source, activation)
    if edit.op in ("add", "replace", "test"):
        op["value"] = _filled(edit.value, activation)
    return op
