"""From an authored rule to a compiled one. Every CEL, RE2 and vocabulary mistake is reported with its line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal

from corrigible.rules.errors import AuthoringError, did_you_mean, gather
from corrigible.rules.lookup import Templates, uncovered
from corrigible.rules.pattern import Pattern
from corrigible.schema.document import pointer_problem
from corrigible.schema.vocabulary import Vocabulary

from .expression import (
    Environment,
    Expression,
    Functions,
    environment,
    unknown_captures,
    unknown_members,
    wrong_result,
)
from .file_model import checked
from .rule import (
    ACTED,
    TERMINAL,
    Edit,
    Entry,
    LookupSpec,
    MatchCriteria,
    Placeholder,
    Rule,
    SuggestionGroup,
    SuggestionLoop,
    SuggestionSpec,
    Template,
)
from .rule_model import AskEachText, AskText, EachText, LookupText, Match, RuleText, SuggestionText
from .syntax import RESERVED, ExpressionError
from .yaml_source import Source, Trail


def compile_rule(
    source: Source,
    *,
    pack: str,
    major: str,
    vocabulary: Vocabulary,
    lookups: Templates | None = None,
    reading_posts: Templates | None = None,
    functions: Functions = MappingProxyType({}),
    author: str | None = None,
    lint: list[AuthoringError] | None = None,
) -> Rule:
    """Compile one rule file. Raises one AuthoringError that lists everything wrong with it.

    With `lookups` and `reading_posts`, the pack's allow-lists, a look-up that none of them can cover is such a mistake.
    What works and is to be mended all the same is added to `lint`.
    """
    text = checked(RuleText, source)
    compiler = _Compiler(source, text, vocabulary, lookups, reading_posts, functions)
    try:
        return compiler.rule(pack, major, author)
    finally:
        if lint is not None:
            lint += compiler.lint


LONGEST_EXPRESSION = 200
TOO_LONG = (
    f"an expression of {{length}} characters, {LONGEST_EXPRESSION} are the most: move it to a let, a function of "
    "pack.yaml or a Python function"
)
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


class ExpressionCompiler:
    def __init__(self, source: Source, functions: Functions) -> None:
        self.source = source
        self.functions = functions
        self.errors: list[AuthoringError] = []
        self.lint: list[AuthoringError] = []
        """What works and is to be mended all the same."""
        self.captures: frozenset[str] = frozenset()
        """The names of the groups of `match.message`."""
        self.later: set[str] = set()
        """Names that are not known yet: a look-up or a `let` knows those before it."""
        self.expressions: list[Expression] = []

    def _named(self, name: str, trail: Trail) -> None:
        if name in environment().names:
            self._wrong(trail, f'"{name}" hides a name that every rule has')
        elif name in RESERVED:
            self._wrong(trail, f'"{name}" is a word of CEL itself')
        elif _NAME.fullmatch(name) is None:
            self._wrong(trail, f'"{name}" is no name for CEL: letters, digits and "_"')

    def _wrong(self, trail: Trail, problem: str) -> None:
        self.errors.append(self.source.error(trail, problem))

    def _doubt(self, trail: Trail, problem: str, kind: str) -> None:
        self.lint.append(self.source.error(trail, problem, kind=kind))

    def _cel(self, text: str, trail: Trail, scope: Environment, gives: str = "") -> Expression:
        """Compile an expression; `gives` is what its value has to be, such as `a list`."""
        try:
            expression = scope.compile(text, self.functions)
            self.expressions.append(expression)
            for name in sorted(self.later & expression.names):
                self._wrong(trail, f'"{name}" is not known yet: it comes later')
            if len(text) > LONGEST_EXPRESSION:
                self._doubt(trail, TOO_LONG.format(length=len(text)), "long-expression")
            if gives and (problem := wrong_result(expression, gives)) is not None:
                self._doubt(trail, problem, "wrong-result")
            for problem in unknown_captures(expression, self.captures):
                self._doubt(trail, problem, "unknown-capture")
            for problem in unknown_members(expression):
                self._doubt(trail, problem, "unknown-member")
            return expression
        except ExpressionError as problem:
            self._wrong(trail, str(problem))
            return environment().compile("null")

    def _condition(self, text: str | bool | None, trail: Trail, scope: Environment) -> Expression | None:
        if text is None or text is True:
            return None
        return self._cel("false" if text is False else text, trail, scope, "a boolean")

    def _template(self, value: Any, trail: Trail, scope: Environment) -> Template:
        if isinstance(value, str):
            return self._cel(value, trail, scope)
        if isinstance(value, dict):
            return {key: self._template(inner, (*trail, key), scope) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._template(inner, (*trail, index), scope) for index, inner in enumerate(value)]
        return value

    def _pointer(self, text: str, trail: Trail, scope: Environment) -> str | Expression:
        if not text.startswith("/"):
            return self._cel(text, trail, scope, "a text")
        if (problem := pointer_problem(text)) is not None:
            self._wrong(trail, f'"{text}" {problem}')
        elif text.endswith("/"):
            self._doubt(trail, f'"{text}" ends with a slash: that is a member without a name', "trailing-slash")
        return text


def _path(text: LookupText) -> tuple[str, str]:
    """Return the key under which a look-up gives its path, and the expression."""
    return ("post", text.post) if text.post is not None else ("get", text.get or "")


class _Compiler(ExpressionCompiler):
    def __init__(
        self,
        source: Source,
        text: RuleText,
        vocabulary: Vocabulary,
        lookups: Templates | None,
        reading_posts: Templates | None,
        functions: Functions,
    ) -> None:
        super().__init__(source, functions)
        self.text = text
        self.vocabulary = vocabulary
        self.lookups = lookups
        self.reading_posts = reading_posts
        self.names = frozenset(text.lookup) | frozenset(text.let)
        self.later = set(self.names)

    def rule(self, pack: str, major: str, author: str | None) -> Rule:
        text, scope = self.text, environment(self.names - RESERVED)
        self._identity(pack)
        if text.status == "stable":
            if text.author is None and author is None:
                self._doubt(("status",), 'a stable rule needs "author", here or in pack.yaml', "header")
            if text.date is None:
                self._doubt(("status",), 'a stable rule needs "date"', "header")
        rule = Rule(
            id=text.id,
            version=f"{text.id}@{major}",
            title=text.title,
            status=text.status,
            references=tuple(text.references),
            priority=text.priority,
            match=self._match(text.match),
            when=self._condition(text.when, ("when",), environment()),
            lookups=tuple(self._question(name, lookup, scope) for name, lookup in text.lookup.items()),
            lets=tuple((name, self._let(name, value, scope)) for name, value in text.let.items()),
            entries=tuple(self._entry(entry, ("suggest", index), scope) for index, entry in enumerate(text.suggest)),
            also_resolves=None
            if text.also_resolves is None
            else self._cel(text.also_resolves, ("also_resolves",), scope, "a list"),
            diagnosis=" ".join(text.diagnosis.split()),
            code=text.code or "",
            verbose_code=text.code or text.id.rpartition(".")[2].replace("-", "_").upper(),
            type=text.type,
            names=self.names,
            scope=scope,
            uses=frozenset(),
            may_guess=False,
            tables=None,
        )
        if (error := gather(sorted(self.errors, key=lambda e: e.place.line))) is not None:
            raise error
        uses = frozenset(name for one in self.expressions for name in one.names)
        tables = {name for one in self.expressions for root, name in one.members if root == "tables"}
        return replace(rule, uses=uses, tables=None if "" in tables else frozenset(tables), may_guess="nearest" in uses)

    def _question(self, name: str, lookup_text: LookupText, scope: Environment) -> LookupSpec:
        begun = len(self.expressions)
        trail, (key, path) = ("lookup", name), _path(lookup_text)
        self._path_of(name, lookup_text)
        spec = LookupSpec(
            name,
            self._cel(path, (*trail, key), scope, "a text"),
            self._condition(lookup_text.condition, (*trail, "if"), scope),
            lookup_text.optional,
            None if lookup_text.message is None else self._template(lookup_text.message, (*trail, "message"), scope),
            None if lookup_text.post is None else self._template(lookup_text.body or {}, (*trail, "body"), scope),
            tuple(
                (header.lower(), self._cel(value, (*trail, "headers", header), scope, "a text"))
                for header, value in lookup_text.headers.items()
            ),
            frozenset(name for one in self.expressions[begun:] for name in one.names) & self.text.lookup.keys(),
        )
        self.later.discard(name)
        return spec

    def _let(self, name: str, value: Any, scope: Environment) -> Template:
        template = self._template(value, ("let", name), scope)
        self.later.discard(name)
        return template

    def _path_of(self, name: str, lookup_text: LookupText) -> None:
        key, path = _path(lookup_text)
        if re.search(r"""[^/]/['"]\s*$""", path):
            self._doubt(("lookup", name, key), "a path that ends with a slash is never looked up", "trailing-slash")
        templates = self.lookups if lookup_text.post is None else self.reading_posts
        beginning = uncovered(path, templates) if templates is not None else None
        if beginning is not None:
            wanted = f'"{beginning}"' if lookup_text.post is None else f'"POST {beginning}"'
            self._wrong(("lookup", name, key), f"{wanted} fits none of the lookups of pack.yaml")

    def _identity(self, pack: str) -> None:
        owner, _, last = self.text.id.partition(".")
        if owner != pack:
            self._wrong(("id",), f'id "{self.text.id}" must begin with the pack\'s name, "{pack}."')
        if self.source.path.stem != last:
            self._wrong(("id",), f'id "{self.text.id}" belongs in {last}.yaml: a file is named after its rule')
        for name in sorted(self.names):
            self._named(name, ("lookup" if name in self.text.lookup else "let", name))

    def _match(self, match: Match) -> MatchCriteria:
        pattern = None
        if match.message is not None:
            try:
                pattern = Pattern(match.message)
                self.captures = frozenset(pattern.names.values())
            except ValueError as problem:
                self._wrong(("match", "message"), f"not an RE2 pattern: {problem}")
        return MatchCriteria(
            tuple(dict.fromkeys(match.operation)),
            tuple(dict.fromkeys(match.status)),
            tuple(dict.fromkeys(match.code)),
            frozenset(match.type),
            frozenset(match.param),
            pattern,
        )

    def _entry(self, entry: SuggestionText, trail: Trail, scope: Environment) -> Entry:
        condition = self._condition(entry.condition, (*trail, "if"), scope)
        relation: Literal["all", "one_of"]
        for relation, members in (("all", entry.all), ("one_of", entry.one_of)):
            if isinstance(members, EachText):
                return self._each(members, relation, condition, (*trail, relation), scope, entry.type)
            if members is not None:
                group = self._members(members, (*trail, relation), scope)
                return SuggestionGroup(condition, relation, group, entry.type)
        return self._suggestion(entry, condition, trail, scope)

    def _members(self, entries: Sequence[SuggestionText], trail: Trail, scope: Environment) -> tuple[Entry, ...]:
        members = tuple(self._entry(entry, (*trail, index), scope) for index, entry in enumerate(entries))
        for index, member in enumerate(members):
            if not isinstance(member, SuggestionSpec):
                self._wrong((*trail, index), "a group has no groups inside")
            elif member.base_action in TERMINAL:
                self._wrong((*trail, index), f"{member.action} stands alone, not in a group")
        return members

    def _each(
        self,
        each: EachText,
        relation: Literal["all", "one_of"],
        condition: Expression | None,
        trail: Trail,
        scope: Environment,
        kind: str | None,
    ) -> SuggestionLoop:
        self._named(each.name, (*trail, "as"))
        inner = environment(self.names | {each.name})
        if each.suggest.action is None:
            self._wrong((*trail, "suggest"), "what is suggested for each element is one action")
        member = self._suggestion(
            each.suggest,
            self._condition(each.suggest.condition, (*trail, "suggest", "if"), inner),
            (*trail, "suggest"),
            inner,
        )
        if member.base_action in TERMINAL:
            self._wrong((*trail, "suggest"), f"{member.action} stands alone, not in a group")
        return SuggestionLoop(
            condition, relation, self._cel(each.each, (*trail, "each"), scope, "a list"), each.name, member, kind
        )

    def _suggestion(
        self, entry: SuggestionText, condition: Expression | None, trail: Trail, scope: Environment
    ) -> SuggestionSpec:
        action = entry.action or "NO_RECOVERY_AVAILABLE"
        if action not in self.vocabulary.actions:
            hint = did_you_mean(action, self.vocabulary.actions)
            self._wrong((*trail, "action"), f'action "{action}" is not registered in pack.yaml{hint}')
        definition = self.vocabulary.actions.get(action)
        base = str(definition.base_action) if definition is not None else action
        terminal = base in TERMINAL
        if terminal and (entry.patch or entry.set or entry.steps or entry.ask):
            self._wrong(trail, f"{action} is terminal: it has no set, patch, steps or ask")
        self._acting(entry, base, trail)
        if action != base and base == "MODIFY_PARAMS" and not (entry.patch or entry.set or entry.ask):
            self._wrong(trail, f"{action} needs set or patch: its parameters are not members of the request")
        if entry.recovery is not None and (entry.recovery == "terminal") is not terminal:
            problem = "is always terminal" if terminal else "is never terminal"
            self._wrong((*trail, "recovery"), f"{action} {problem}")
        if base == "WAIT_AND_RETRY" and entry.parameters:
            self._wrong((*trail, "parameters"), f"{action} has no parameters: the wait belongs into retry")
        placeholders = self._placeholders(entry, (*trail, "ask"), scope)
        if placeholders and entry.applicability not in (None, "HAS_PLACEHOLDERS"):
            self._wrong((*trail, "applicability"), "with ask it is HAS_PLACEHOLDERS")
        after = entry.retry.after_seconds if entry.retry is not None else None
        return SuggestionSpec(
            condition=condition,
            action=action,
            base_action=base,
            message=" ".join((entry.message or "").split()),
            differs=None if entry.differs is None else self._cel(entry.differs, (*trail, "differs"), scope, "a list"),
            actor=entry.actor,
            parameters={
                name: self._template(value, (*trail, "parameters", name), scope)
                for name, value in (entry.parameters or {}).items()
            },
            edits=None if entry.patch is None else self._edits(entry, trail, scope),
            changes=None if entry.set is None else self._changes(entry.set, (*trail, "set"), scope),
            steps=tuple(self._template(step, (*trail, "steps", i), scope) for i, step in enumerate(entry.steps or ())),
            applicability=entry.applicability or ("HAS_PLACEHOLDERS" if placeholders else "MAYBE_INCORRECT"),
            placeholders=placeholders,
            changes_intent=bool(entry.changes_intent),
            requires_confirmation=bool(entry.requires_confirmation),
            side_effects=entry.side_effects,
            retry=entry.retry,
            after_seconds=self._cel(after, (*trail, "retry", "after_seconds"), scope, "a number")
            if isinstance(after, str)
            else after,
            recovery=entry.recovery,
            type=entry.type,
        )

    def _acting(self, entry: SuggestionText, base: str, trail: Trail) -> None:
        """Whoever hears that nothing more can be sent has to hear who can act."""
        if base not in ACTED and entry.actor is not None:
            self._wrong((*trail, "actor"), f"only {' and '.join(sorted(ACTED))} say who can act")
        elif base in ACTED and entry.actor is None:
            self._wrong(trail, f'"actor" is missing: {base} says who can act, nobody, somebody_else or you')
        elif base == "ESCALATE" and entry.actor == "nobody":
            self._wrong((*trail, "actor"), "where nobody can act, the action is NO_RECOVERY_AVAILABLE")
        if base in ACTED and "actor" in (entry.parameters or {}):
            self._wrong((*trail, "parameters", "actor"), "actor stands beside action")

    def _placeholders(self, entry: SuggestionText, trail: Trail, scope: Environment) -> tuple[Placeholder, ...]:
        if isinstance(entry.ask, AskEachText):
            each = self._cel(entry.ask.each, (*trail, "each"), scope, "a list")
            self._named(entry.ask.name, (*trail, "as"))
            inner = environment(scope.names | {entry.ask.name})
            return (self._placeholder(entry.ask, trail, inner, each, entry.ask.name),)
        return tuple(self._placeholder(p, (*trail, i), scope) for i, p in enumerate(entry.ask or ()))

    def _placeholder(
        self,
        text: AskText,
        trail: Trail,
        scope: Environment,
        each: Expression | None = None,
        name: str = "",
    ) -> Placeholder:
        return Placeholder(
            self._pointer(text.pointer, (*trail, "pointer"), scope),
            text.who,
            {} if text.json_schema is None and text.schema_from is not None else text.json_schema,
            None if text.schema_from is None else self._cel(text.schema_from, (*trail, "schema_from"), scope, "a map"),
            each,
            name,
        )

    def _changes(
        self, text: dict[str, Any] | str, trail: Trail, scope: Environment
    ) -> tuple[tuple[str | Expression, Template], ...] | Expression:
        if isinstance(text, str):
            return self._cel(text, trail, scope, "a list")
        changes: list[tuple[str | Expression, Template]] = []
        for key, value in text.items():
            place: str | Expression = key
            if key.startswith("/"):
                place = self._pointer(key, (*trail, key), scope)
            elif key.startswith("(") and key.endswith(")"):
                place = self._cel(key[1:-1], (*trail, key), scope, "a text")
            changes.append((place, self._template(value, (*trail, key), scope)))
        return tuple(changes)

    def _edits(self, entry: SuggestionText, trail: Trail, scope: Environment) -> tuple[Edit, ...] | Expression:
        if isinstance(entry.patch, str):
            return self._cel(entry.patch, (*trail, "patch"), scope, "a list")
        edits = []
        for index, op in enumerate(entry.patch or ()):
            at = (*trail, "patch", index)
            if op.op in ("add", "replace", "test") and "value" not in op.model_fields_set:
                self._wrong(at, f'"{op.op}" needs a value')
            if (op.op in ("move", "copy")) != (op.source is not None):
                self._wrong(at, '"from" belongs to move and copy')
            edits.append(
                Edit(
                    op.op,
                    self._pointer(op.path, (*at, "path"), scope),
                    self._template(op.value, (*at, "value"), scope),
                    None if op.source is None else self._pointer(op.source, (*at, "from"), scope),
                    op,
                )
            )
        return tuple(edits)
