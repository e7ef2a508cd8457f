"""From one entry of a rule to the suggestions of the feedback: values filled in, the patch guarded.

Knows: templates, patches, placeholders, pace. Does not know: which rule is asked, look-ups as requests, other rules.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corrigible.rules.budget import MOST_UNITS, UNITS_OF_VALUE, content_size
from corrigible.rules.functions.builtin import Operation, edits
from corrigible.rules.language.evaluator import Values
from corrigible.rules.language.expression import EvaluationError, Expression
from corrigible.rules.language.rule import (
    TERMINAL,
    Edit,
    Entry,
    PackSettings,
    Placeholder,
    Rule,
    SuggestionGroup,
    SuggestionLoop,
    SuggestionSpec,
    Template,
)
from corrigible.rules.pointer import escape, is_among, parameters_at, schema_at, segments
from corrigible.rules.safety.decisive import READS, is_decisive_guess
from corrigible.schema.exchange import Json, Request

from .guarded_patch import changes_request, derive, encode_values, foreign_texts, guarded, with_new_idempotency_key

_MOST_ALTERNATIVES = 5
_MOST_TOGETHER = 32


class SuggestionBuilder:
    """Builds the suggestions of one rule for one error. `retry` and `recovery` gather what the entries say of pace."""

    def __init__(
        self,
        rule: Rule,
        request: Request,
        scope: dict[str, Any],
        settings: PackSettings,
        group: str,
        lookups: list[str],
    ) -> None:
        """`lookups` names the look-ups that were made; `group` makes group ids unique."""
        self.rule, self.request, self.scope, self.settings = rule, request, scope, settings
        self.group, self.lookups = group, lookups
        self.groups = 0
        self.members: list[int] = []
        """The members of the group that gave suggestions."""
        self.retry: dict[str, Json] | None = None
        self.recovery = ""

    def build(self, entry: Entry, values: Values, group: dict[str, str] | None = None) -> list[dict[str, Json]]:
        """Return the suggestions of an entry whose `if` holds; none where its edits would change nothing."""
        match entry:
            case SuggestionSpec():
                suggestion = self._suggestion(entry, values, group)
                return [] if _changes_nothing(entry, suggestion) else [suggestion]
            case SuggestionGroup():
                new_group = self._new_group(entry.relation)
                out, self.members = [], []
                for number, member in enumerate(entry.members):
                    if member.condition is None or member.condition.holds(values):
                        built = self.build(member, values, new_group)
                        self.members += [number] if built else []
                        out += built
                return out
            case SuggestionLoop():
                return self._loop(entry, values)

    def _loop(self, entry: SuggestionLoop, values: Values) -> list[dict[str, Json]]:
        new_group = self._new_group(entry.relation)
        alternatives = entry.relation == "one_of"
        out: list[dict[str, Json]] = []
        for inner in self._elements(entry.each, entry.name, values):
            if entry.member.condition is None or entry.member.condition.holds(inner):
                out += self.build(entry.member, inner, new_group)
            if alternatives and len(out) == _MOST_ALTERNATIVES:
                break
            if len(out) > _MOST_TOGETHER:
                raise EvaluationError(f"{entry.each.text}: more than {_MOST_TOGETHER} suggestions under all")
        return out

    def _elements(self, each: Expression, name: str, values: Values) -> Iterator[Values]:
        """Yield the scope with each element of a list under a name."""
        elements = each.evaluate(values)
        if not isinstance(elements, list):
            raise EvaluationError(f"{each.text}: gives no list")
        for element in elements:
            yield {**self.scope, name: element}

    def _new_group(self, relation: str) -> dict[str, str]:
        self.groups += 1
        return {"id": f"{self.group}{self.groups}", "relation": relation}

    def _suggestion(self, spec: SuggestionSpec, values: Values, group: dict[str, str] | None) -> dict[str, Json]:
        parameters = filled(spec.parameters, values)
        if spec.actor is not None:
            parameters = {"actor": spec.actor, **parameters}
        out: dict[str, Json] = {"action": spec.action}
        if spec.base_action != spec.action:
            out["base_action"] = spec.base_action
        out["message"] = spec.message if spec.differs is None else _with_names(spec.message, spec.differs, values)
        out["parameters"] = parameters
        terminal = spec.base_action in TERMINAL
        patch = [] if terminal else self._patch(spec, parameters, values)
        if patch:
            out["patch"] = patch
            for op in patch:
                if op["path"] == "/path" and op["op"] in ("add", "replace") and "value" in op:
                    op["value"] = self._escaped(op["value"])
            if not parameters and spec.action == "MODIFY_PARAMS" and not isinstance(self.request.body, list):
                out["parameters"] = _merged(patch, parameters_at(self.request).lstrip("/"))
        if spec.steps:
            out["steps"] = steps = [filled(step, values) for step in spec.steps]
            for step in steps:
                if "path" in step:
                    step["path"] = self._escaped(step["path"])
        if not terminal:
            out["applicability"] = spec.applicability
        if spec.placeholders:
            out["placeholders"] = [one for p in spec.placeholders for one in self._placeholders(p, values)]
        if group is not None:
            out["group"] = group
        out["safety"] = self._safety(spec, patch, terminal)
        if self.rule.may_guess and is_decisive_guess(patch, self.request, self.settings.decisive):
            out["safety"]["requires_confirmation"] = True
        out["evidence"] = {"kind": "rule", "rule": self.rule.version}
        if self.lookups:
            out["evidence"]["lookups"] = list(dict.fromkeys(self.lookups))
        self._pace(spec, values, patch)
        return out

    def _escaped(self, path: Any) -> Any:
        """Let values of look-ups and native text stand for one segment each in a path that is suggested."""
        if not isinstance(path, str) or path == self.request.path:
            return path
        escaped = encode_values(path, self._foreign)
        if escaped is None:
            raise EvaluationError("a suggested path leaves its place")
        return escaped

    @functools.cached_property
    def _foreign(self) -> list[str]:
        """The texts of look-ups and of native text that would lead a path away."""
        names = ["error", "captures", *(question.name for question in self.rule.lookups)]
        return foreign_texts(self.scope, names, self.request.document(), self.settings.path_members)

    def _placeholders(self, placeholder: Placeholder, values: Values) -> Iterator[dict[str, Json]]:
        if placeholder.each is None:
            yield self._placeholder(placeholder, values)
            return
        for inner in self._elements(placeholder.each, placeholder.name, values):
            yield self._placeholder(placeholder, inner)

    def _placeholder(self, placeholder: Placeholder, values: Values) -> dict[str, Json]:
        pointer = _pointer(placeholder.pointer, values)
        schema = schema_at(self.scope["spec"], pointer) if placeholder.schema is None else dict(placeholder.schema)
        if placeholder.schema_from is not None:
            more = placeholder.schema_from.evaluate(values)
            if isinstance(more, Mapping):
                schema.update(more)
        return {"pointer": pointer, "ask": placeholder.ask, "schema": schema}

    def _patch(self, spec: SuggestionSpec, parameters: Mapping[str, Json], values: Values) -> list[Operation]:
        if spec.edits is not None or spec.changes is not None:
            if spec.changes is not None:
                patch = self._from_changes(spec.changes, values)
            elif isinstance(spec.edits, Expression):
                patch = _computed(spec.edits, values)
            else:
                patch = [_operation(edit, values) for edit in spec.edits or ()]
            if self.settings.secrets:
                patch = [op for op in patch if op["op"] != "test" or not self._secret(str(op["path"]))]
        elif parameters and spec.action == "MODIFY_PARAMS":
            patch = derive(self.request, parameters, self.settings.secrets)
        else:
            return []
        guarded(self.request.document(), patch)
        header = self.settings.idempotency_header
        seed = self.scope["exchange"]["id"] if header in self.request.headers else ""
        return with_new_idempotency_key(patch, self.request, header, seed)

    def _from_changes(
        self, changes: tuple[tuple[str | Expression, Template], ...] | Expression, values: Values
    ) -> list[Operation]:
        wanted: list[list[Any]] = []
        if isinstance(changes, Expression):
            wanted = changes.evaluate(values)
            if not isinstance(wanted, list) or not all(isinstance(one, list) and one for one in wanted):
                raise EvaluationError(f"{changes.text}: gives no list of [pointer, value]")
        else:
            for place, template in changes:
                value = filled(template, values)
                if isinstance(place, str) and not place.startswith("/"):
                    pointer = f"{parameters_at(self.request)}/{escape(place)}"
                else:
                    pointer = _pointer(place, values)
                wanted.append([pointer] if value is None else [pointer, value])
        try:
            return edits(self.scope["request"], wanted)
        except ValueError as problem:
            raise EvaluationError(str(problem)) from None

    def _secret(self, pointer: str) -> bool:
        return any(is_among(part, self.settings.secrets) for part in segments(pointer))

    def _safety(self, spec: SuggestionSpec, patch: Sequence[Operation], terminal: bool) -> dict[str, Json]:
        if spec.side_effects is not None:
            effects = spec.side_effects
        else:
            method = self.request.method
            for op in patch:
                if op["path"] == "/method" and op["op"] == "replace":
                    method = op["value"] or method
            effects = "none" if terminal or method in READS else "certain"
        safety: dict[str, Json] = {"side_effects": effects, "changes_intent": spec.changes_intent}
        if spec.requires_confirmation:
            safety["requires_confirmation"] = True
        return safety

    def _pace(self, spec: SuggestionSpec, values: Values, patch: Sequence[Operation]) -> None:
        if spec.recovery:
            self.recovery = spec.recovery
        keyed = self.settings.idempotency_header in self.request.headers
        new_key = keyed and (bool(spec.placeholders) or changes_request(patch))
        if spec.retry is not None:
            pace = spec.retry.model_dump(exclude_none=True)
            if isinstance(spec.after_seconds, Expression):
                pace["after_seconds"] = spec.after_seconds.evaluate(values)
                if not is_wait(pace["after_seconds"]):
                    del pace["after_seconds"]
            unsafe = self.request.method not in READS and spec.side_effects != "none"
            if patch or (unsafe and not keyed):
                pace["same_request"] = False
            if new_key:
                pace["idempotency_key"] = "new"
            self.retry = slower(self.retry, pace)
        elif new_key:
            self.retry = slower(self.retry, {"same_request": False, "idempotency_key": "new"})


def filled(template: Template, values: Values) -> Any:
    """Return a template with its expressions evaluated. Raises EvaluationError where it holds too much."""
    return template.evaluate(values) if isinstance(template, Expression) else _filled(template, values, [0])


def _filled(template: Template, values: Values, held: list[int]) -> Any:
    """Fill a template in. `held` counts what all of its values hold together, as an expression counts its own."""
    if isinstance(template, Expression):
        value = template.evaluate(values)
        size = content_size(value)
        held[0] += UNITS_OF_VALUE * size.values + size.letters
        if held[0] > MOST_UNITS:
            raise EvaluationError(f"{template.text}: a map or list of expressions holds too much")
        return value
    if isinstance(template, dict):
        return {key: _filled(inner, values, held) for key, inner in template.items()}
    if isinstance(template, list):
        return [_filled(inner, values, held) for inner in template]
    return template


_NAME = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_MOST_NAMES = 8


def _with_names(message: str, differs: Expression, values: Values) -> str:
    """Name the members by which the thing that is there differs. Names only: values are nobody's to repeat."""
    listed = differs.evaluate(values)
    names = [one for one in listed if isinstance(one, str) and _NAME.fullmatch(one)] if isinstance(listed, list) else []
    text = ", ".join(dict.fromkeys(names[:_MOST_NAMES]))
    return f"{message} What differs: {text}." if text else message


def _changes_nothing(spec: SuggestionSpec, suggestion: Mapping[str, Json]) -> bool:
    """Whether computed edits came to none: repeating the request as it was would be all that is left to do."""
    computed = spec.changes is not None or isinstance(spec.edits, Expression)
    return computed and not any(suggestion.get(k) for k in ("patch", "placeholders", "steps"))


def _pointer(place: str | Expression, values: Values) -> str:
    pointer = place if isinstance(place, str) else place.evaluate(values)
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise EvaluationError(f"{place if isinstance(place, str) else place.text}: gives no pointer")
    return pointer


def _merged(patch: Sequence[Operation], where: str) -> dict[str, Json]:
    """Give a patch as merge parameters where it sets or removes plain top-level members only: half of it misleads.

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


def _computed(expression: Expression, values: Values) -> list[Operation]:
    patch = expression.evaluate(values)
    for op in patch if isinstance(patch, list) else [None]:
        if not (isinstance(op, dict) and op.get("op") in _OPERATIONS and str(op.get("path", "")).startswith("/")):
            raise EvaluationError(f"{expression.text}: gives no patch")
    return [dict(op) for op in patch]


def _operation(edit: Edit, values: Values) -> Operation:
    op: Operation = {"op": edit.op, "path": _pointer(edit.path, values)}
    if edit.source is not None:
        op["from"] = _pointer(edit.source, values)
    if edit.op in ("add", "replace", "test"):
        op["value"] = filled(edit.value, values)
    return op


_LONGEST_WAIT = 10**9


def is_wait(seconds: Json) -> bool:
    """Whether it is a number of seconds to come: headers may say anything."""
    return type(seconds) in (int, float) and 0 <= seconds <= _LONGEST_WAIT


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
