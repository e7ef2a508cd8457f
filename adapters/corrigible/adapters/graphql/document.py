"""What a schema refuses in a document of GraphQL, and the splices of its text that mend it, found by the AST.

Each rule of the validation (GraphQL specification, section 5) that finds something has its nodes; what is wrong is
known by the rule, never by a message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import graphql as g
from graphql import validation as v

from corrigible.adapters.mapping.field_map import SYNONYMS
from corrigible.adapters.mapping.operation import name_words
from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.spelling import is_other_meaning
from corrigible.rules.schema_repair.names import is_other_name, near_names
from corrigible.schema.exchange import Json

from .splice import Splice, at, removed, span

_MOST_NAMES: Final = 12
_MOST_LEAVES: Final = 8
_MOST_WAYS: Final = 3


class Fix(NamedTuple):
    """One way to mend what a rule found."""

    message: str
    splices: tuple[Splice, ...]
    is_sure: bool = False
    """Whether nothing else can be meant, so that it may be sent unasked."""
    asked: tuple[tuple[str, Any], ...] = ()
    """Variables that need a value, each with its type."""


class Problem(NamedTuple):
    """What a rule found, and the ways to mend it: one is known, of several one is meant, none is a question."""

    rule: str
    nodes: tuple[Any, ...]
    fixes: tuple[Fix, ...] = ()
    question: str = ""


class Context(NamedTuple):
    """What a schema has for one node: the type that it is a field of, what is around an argument, the type of input."""

    parent: Any
    definition: Any
    expected: Any
    above: Any
    node: Any


def key(node: g.FieldNode) -> str:
    """Return the name of a field in the answer."""
    return (node.alias or node.name).value


def _inside(node: Any) -> list[Any]:
    return list(node.selection_set.selections) if node is not None and node.selection_set is not None else []


def _renamed(said: str, node: Any, name: str, near: Sequence[str], *, may_be_sure: bool = True) -> Iterator[Fix]:
    """Yield a fix for each name that may be meant: the only one is sure, unless it has another meaning."""
    for one in near:
        is_sure = may_be_sure and len(near) == 1 and not is_other_name(name.lstrip("$"), one.lstrip("$"))
        yield Fix(f"{said} {one}.", ((*span(node), one),), is_sure)


def meant_instead(name: str, free: Sequence[str], required: Sequence[str]) -> str:
    """Return the only name that an unknown one may be about in other terms: another unit, the opposite.

    The value that was sent is none for it. Empty where the name may be meant, or nothing may.
    """
    if near := near_names(name, free):
        return near[0] if len(near) == 1 and is_other_meaning(name, near[0]) else ""
    own = frozenset(words(name))
    found = [one for one in free if any(len(word) > _SHORT for word in own.intersection(words(one)))]
    found = found or [one for one in required if is_other_meaning(name, one) or not _NEGATING.isdisjoint(own)]
    if len(found) != 1:
        return ""
    other = frozenset(words(found[0]))
    return "" if (own <= other or other <= own) and _NEGATING.isdisjoint(own ^ other) else found[0]


_SHORT: Final = 2
_NEGATING: Final = frozenset({"no", "non", "not", "dont", "never", "unless", "without", "skip", "exclude", "disable"})


class Document:
    """A document of GraphQL under a schema."""

    def __init__(
        self,
        schema: g.GraphQLSchema,
        text: str,
        ast: g.DocumentNode,
        sent: Mapping[str, Json],
        told: frozenset[str] = frozenset(),
    ) -> None:
        """`sent` are the variables with a value, `told` the names that the server says may be meant."""
        self.schema, self.text, self.ast, self._sent, self._told = schema, text, ast, sent, told
        self._reused = set[str]()
        self._given = set[int]()
        """Nodes whose missing arguments are given: each of these is a problem of its own."""
        self.contexts: dict[int, Context] = {}
        info = g.TypeInfo(schema)
        g.visit(ast, g.TypeInfoVisitor(info, _Collector(info, self.contexts)))
        self._variables = {one.variable.name.value for one in self._every(g.VariableDefinitionNode)}

    @property
    def kind(self) -> str:
        """What all operations are; empty where they differ."""
        kinds = {one.operation.value for one in self.operations}
        return kinds.pop() if len(kinds) == 1 else ""

    def new_variable(self, name: str) -> str:
        """Return a name for a variable that no other one has, of the document and of what was added before."""
        while name in self._variables or name in self._sent:
            name += "_"
        self._variables.add(name)
        return name

    def operation(self, name: Json) -> g.OperationDefinitionNode | None:
        """Return the operation that is run under a name; None where that is unclear."""
        named = [one for one in self.operations if not name or (one.name and one.name.value == name)]
        return named[0] if len(named) == 1 else None

    @property
    def operations(self) -> list[g.OperationDefinitionNode]:
        return [one for one in self.ast.definitions if isinstance(one, g.OperationDefinitionNode)]

    def problems(self) -> list[Problem]:
        """Return what the rules find, in the order in which it is to be mended: names before what follows from them."""
        spend(len(self.text))
        rules = [rule for rule in g.specified_rules if rule.__name__ not in _LEFT_OUT]
        problems = [self._problem(rule, nodes) for rule, nodes in self._found(rules)]
        return sorted((one for one in problems if one), key=lambda one: _ORDER.index(one.rule))

    def _found(self, rules: Sequence[Any]) -> list[tuple[str, tuple[Any, ...]]]:
        """Return the nodes of what rules find, each with the name of its rule."""
        found: list[tuple[str, tuple[Any, ...]]] = []
        info = g.TypeInfo(self.schema)

        def heard_of(rule: Any) -> Callable[[g.GraphQLError], None]:
            return lambda error: found.append((rule.__name__, tuple(error.nodes or ())))

        made = [rule(v.ValidationContext(self.schema, self.ast, info, heard_of(rule))) for rule in rules]
        g.visit(self.ast, g.TypeInfoVisitor(info, g.ParallelVisitor(made)))
        return found

    def _problem(self, rule: str, nodes: tuple[Any, ...]) -> Problem | None:
        if rule == v.ValuesOfCorrectTypeRule.__name__:
            return None  # values are judged by the schema of their type
        mend, question = _RULES.get(rule, _RULES[_OTHER])
        made = mend(self, *nodes) if mend is not None and nodes else ()
        said, known = question.partition(".")[0], self._known(rule, nodes)
        fixes = [one if one.is_sure else one._replace(message=f"{said}. {one.message}") for one in made]
        if len(fixes) == 1 and not fixes[0].is_sure:
            fixes = [fixes[0]._replace(message=fixes[0].message + known)]
        return Problem(rule if rule in _RULES else _OTHER, nodes, tuple(fixes), question + known)

    def _known(self, rule: str, nodes: tuple[Any, ...]) -> str:
        """Return what may stand there, as the schema names it."""
        context = self.contexts.get(id(nodes[0])) if nodes else None
        definition, is_argument = getattr(context, "definition", None), rule == "KnownArgumentNamesRule"
        kind = g.get_named_type(getattr(definition, "type", None)) if rule == "ScalarLeafsRule" else None
        kind = getattr(context, "parent", None) if rule == "FieldsOnCorrectTypeRule" else kind
        names = [*(getattr(definition, "args", ()) if is_argument else getattr(kind, "fields", ()))]
        more = ", ..." if len(names) > _MOST_NAMES else ""
        return f" {kind or 'It'} has {', '.join(names[:_MOST_NAMES])}{more}." if names else ""

    def calls(self) -> list[Any]:
        """Return the fields and directives that are given arguments and that the schema has."""
        every = (one for one in self.contexts.values() if getattr(one.node, "arguments", None))
        return [one.node for one in every if one.definition is not None]

    def answered_by(self, path: Sequence[Json]) -> g.FieldNode | None:
        """Return the innermost field with arguments on the path of an answer, else the outermost."""
        held: list[Any] = list(self.operations)
        found: g.FieldNode | None = None
        for step in path:
            if not isinstance(step, str):
                continue
            field = next((one for one in self.selected(held) if key(one) == step), None)
            if field is None or not isinstance(self.contexts[id(field)].definition, g.GraphQLField):
                break
            found = field if found is None or field.arguments else found
            held = [field]
        return found

    def called_at(self, places: Collection[tuple[Json, Json]]) -> list[g.FieldNode]:
        """Return the fields that are called at places, by their names or arguments; a leaf without any is no call."""
        out = dict[int, g.FieldNode]()
        for node in [one.node for one in self.contexts.values() if one.node.loc and at(one.node) in places]:
            while isinstance(node, g.NameNode | g.ArgumentNode | g.ValueNode | g.ObjectFieldNode):
                node = self.contexts[id(node)].above
            if isinstance(node, g.FieldNode) and (node.arguments or self._is_root(self.contexts[id(node)].parent)):
                out[id(node)] = node
        return [*out.values()]

    def is_in_answer(self, path: Sequence[Json]) -> bool:
        """Whether a path leads behind a root field; into its arguments, as some of gqlgen do, the field has not run."""
        roots = [one for one in self.selected(self.operations) if key(one) == path[0]]
        names = {key(one) for one in self.selected(roots)}
        arguments = [getattr(self.contexts[id(one)].definition, "args", {}) for one in roots]
        inner = [str(one) for one in path[1:2]]
        return any(one in names or not all(one in args for args in arguments) for one in inner)

    def selected(self, nodes: Sequence[Any]) -> list[g.FieldNode]:
        """Return the fields that nodes select, in the order in which they run, with those of fragments."""
        fragments = {one.name.value: one for one in self._every(g.FragmentDefinitionNode)}
        out, seen = list[g.FieldNode](), set[str]()
        waiting = [one for node in nodes for one in _inside(node)]
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, g.FieldNode):
                out.append(node)
            elif isinstance(node, g.InlineFragmentNode):
                waiting[:0] = _inside(node)
            elif node.name.value not in seen:
                seen.add(node.name.value)
                waiting[:0] = _inside(fragments.get(node.name.value))
        return out

    def wrong_values(self) -> list[tuple[Any, Any]]:
        """Return the literals that are not of their type, each with that type."""
        found = self._found([v.ValuesOfCorrectTypeRule])
        nodes = [node for _, several in found for node in several if id(node) in self.contexts]
        return [(one, self.contexts[id(one)].expected) for one in nodes if self.contexts[id(one)].expected]

    # Names

    def field(self, node: g.FieldNode) -> Iterator[Fix]:
        """Rename a field, or select it on the only types that have it. An alias stays, so the answer keeps its name."""
        context, name = self.contexts[id(node)], node.name.value
        if other := [*self._as_other_root(node), *self._on_other_type(self.contexts[id(context.above)].above)]:
            yield from other
            return
        fields = {**getattr(context.parent, "fields", {}), _TYPE_NAME: g.TypeNameMetaFieldDef}
        near = [one for one in near_names(name, [*fields]) if _fits(fields[one], node)]
        yield from _renamed(
            "Select", node.name, name, near, may_be_sure=context.parent is not self.schema.mutation_type
        )
        told = [] if near else self._in_other_words(node)
        for one in told:
            yield Fix(f"Select {one}, if it is what was meant.", ((*span(node.name), one),))
        types = [] if near else self._possible(context.parent)
        selected = [one for one in context.above.selections if isinstance(one, g.FieldNode)]
        beside = [one for one in selected if one.name.value not in fields]
        together = [one for one in types if all(_has(one, other) for other in beside)]
        nodes, owners = (beside, together) if together else ([node], [one for one in types if _has(one, node)])
        is_sure = len(nodes) == sum(_has(one, other) for one in types for other in nodes)
        for several in (
            [owners] if len(owners) == len(types) and _are_alike(types, nodes) else [[one] for one in owners]
        ):
            said = f"Select it where the object is of type {' or '.join(map(str, several))}."
            yield Fix(said, self._moved(nodes, *((f"... on {one}",) for one in several)), is_sure)
        if not (near or told or owners):
            is_root, of_query = self._is_root(context.parent), context.parent is self.schema.query_type
            unfit = [one for one in near_names(name, [*fields]) if of_query and _has_selected(fields[one], node)]
            found = () if is_root else self._on_other_level(node, beside)
            yield from [*found, *_renamed("Select", node.name, name, unfit, may_be_sure=False)] or self._without(node)

    def _is_root(self, kind: Any) -> bool:
        return kind in (self.schema.query_type, self.schema.mutation_type, self.schema.subscription_type)

    def _in_other_words(self, node: g.FieldNode) -> list[str]:
        """Return the fields that fit: those that the server tells, else that have what is selected, else of one word.

        Another mutation does another thing.
        """
        parent, name = self.contexts[id(node)].parent, node.name.value
        if node.selection_set is None and not self._is_root(parent) and any(self._on_other_level(node, [node])):
            return []
        fields = getattr(parent, "fields", {})
        fit = [one for one, kind in fields.items() if _fits(kind, node) and _has_selected(kind, node)]
        is_here = node.selection_set is not None and _has_selected(g.GraphQLField(parent), node)
        if told := sorted(self._told.intersection(fit)):
            return [one for one in told if parent is not self.schema.mutation_type or not is_other_name(name, one)]
        of_query = parent is self.schema.query_type
        if node.selection_set is None or of_query:
            among = fit if of_query else fields
            fit = [one for one in among if any(len(word) > _SHORT for word in {*words(name)} & {*words(one)})]
        most = 0 if is_here or parent is self.schema.mutation_type else _MOST_WAYS if node.selection_set else 1
        return fit if len(fit) <= most else []

    def _on_other_type(self, fragment: Any) -> Iterator[Fix]:
        """Yield a fragment on the type of the only place that it stands at, where that has all of its fields."""
        if getattr(fragment, "type_condition", None) is None:
            return
        name = getattr(getattr(fragment, "name", None), "value", None)
        spreads = [one for one in self._every(g.FragmentSpreadNode) if one.name.value == name]
        kinds = {self.contexts[id(one)].parent for one in spreads or [fragment]}
        fields = [one for one in _inside(fragment) if isinstance(one, g.FieldNode)]
        possible = [each for one in kinds for each in (one, *self._possible(one))] if len(kinds) == 1 and fields else []
        found = [one for one in possible if all(_has(one, each) for each in fields)]
        for kind in found[:1] if len(found) == 1 or found[:1] == [*kinds] else ():
            if str(kind) != fragment.type_condition.name.value:
                yield Fix(f"Select it on {kind}.", ((*span(fragment.type_condition), str(kind)),))

    def _possible(self, kind: Any) -> Sequence[Any]:
        return self.schema.get_possible_types(kind) if g.is_abstract_type(kind) else ()

    def _on_other_level(self, node: g.FieldNode, beside: Sequence[g.FieldNode]) -> Iterator[Fix]:
        """Yield a selection inside of an object that has the fields, or without a level that is none.

        Such are the nodes of a connection, the object of a payload, and the other way round.
        """
        parent, inner, own = self.contexts[id(node)].parent, node, [*words(node.name.value)]
        every = [(name, one) for name, kind in _objects(parent).items() for one in kind.fields]
        joined = [way for way in every if [*words(way[0]), *words(way[1])] == own]
        for name, one in joined[:1]:
            yield Fix(f"Select it inside of {name}.", ((*span(node), f"{name} {{ {one} }}"),))
        for nodes in (beside, [node]) if not joined else ():
            if ways := _ways(parent, nodes):
                yield from (Fix(f"Select it inside of {' and '.join(way)}.", self._moved(nodes, way)) for way in ways)
                return
        while not (joined or inner.arguments or inner.directives) and (nodes := _inside(inner)):
            is_here = all(_has(parent, one) for one in nodes)
            for way in [*([()] if is_here else []), *_ways(parent, nodes)]:
                said = f"Select its fields inside of {' and '.join(way)}." if way else "Select its fields without it."
                yield Fix(said, ((*span(node), self._moved(nodes, way)[0][2]),))
            inner = nodes[0]
            if is_here or len(nodes) > 1 or not isinstance(inner, g.FieldNode):
                return

    def _moved(self, nodes: Sequence[Any], *ways: Sequence[str]) -> tuple[Splice, ...]:
        """Return the splices that put selections inside of others, once for each way."""
        inner = self._written(nodes, " ")
        text = " ".join(" { ".join([*way, inner]) + " }" * len(way) for way in ways)
        return ((*span(nodes[0]), text), *(removed(one, self.text) for one in nodes[1:]))

    def _written(self, nodes: Sequence[Any], between: str = ", ") -> str:
        return between.join(self.text[slice(*span(one))] for one in nodes)

    def _without(self, node: Any) -> Iterator[Fix]:
        """Yield the document without a selection, where others stand beside it."""
        if len(self.contexts[id(node)].above.selections) > 1:
            yield Fix("Leave it out, if the answer may do without it.", (removed(node, self.text),))

    def _as_other_root(self, node: g.FieldNode) -> Iterator[Fix]:
        """Yield the document as another operation, where all that one selects are fields of that one's type."""
        operation = next((one for one in self.operations if node in one.selection_set.selections), None)
        selected = _inside(operation)
        for kind in (g.OperationType.QUERY, g.OperationType.MUTATION):
            fields = getattr(self.schema.get_root_type(kind), "fields", {})
            if operation and all(isinstance(one, g.FieldNode) and one.name.value in fields for one in selected):
                start, end = span(operation)[0], span(operation)[0] + len(operation.operation.value)
                is_short = self.text[start] == "{"
                splice = (start, start, f"{kind.value} ") if is_short else (start, end, kind.value)
                yield Fix(f"Send it as a {kind.value}.", (splice,))

    def argument(self, node: g.ArgumentNode) -> Iterator[Fix]:
        definition, above = self.contexts[id(node)].definition, self.contexts[id(node)].above
        args = definition.args if definition is not None else {}
        used = {one.name.value for one in above.arguments or ()}
        free = [one for one in args if one not in used]
        required = [one for one in free if g.is_required_argument(args[one])]
        if moved := list(self._on_other_argument(node, args, free)):
            yield from moved
            return
        name, taking = node.name.value, [one for one in free if _takes(args[one].type, node.value)]
        alike = in_one_sense(name, {one: "String" in str(args[one].type) for one in taking})
        if not alike and (meant := meant_instead(name, free, required)):
            yield self._other_value(node, meant, args[meant].type)
            taking = []
            if meant in required:
                return
        if near := [one for one in near_names(name, free) if one in taking and not alike]:
            yield from _renamed("Name the argument", node.name, name, near)
            return
        fits = [one for one in taking if self._is_for(args[one].type, node.value)]
        others = self._other_fields(above) if taking and not alike and len(fits) != 1 else []
        for one in others:
            yield Fix(f"Select {one}: it takes this argument.", ((*span(above.name), one),))
        only = [one for one in required if one in taking][: len(required) == 1]
        told = sorted(self._told.intersection(taking)) or only
        may_be = alike or ([] if others else (fits if len(fits) == 1 else told))
        for one in may_be:
            yield Fix(f"Name the argument {one}, if it is what was meant.", ((*span(node.name), one),))
            if one in required and one not in [*fits, *alike] and not {*words(name)} <= {*words(one)}:
                yield self._other_value(node, one, args[one].type)
        if not (others or may_be):
            whole = len(above.arguments or ()) == 1
            start, end, _ = removed(node, self.text)
            cut = (above.name.loc.end, self.text.index(")", end) + 1, "") if whole else (start, end, "")
            yield Fix("Leave the argument out, if the call may do without it.", (cut,))

    def _on_other_argument(self, node: g.ArgumentNode, args: Mapping[str, Any], free: Sequence[str]) -> Iterator[Fix]:
        """Yield arguments as the members of an object that takes them all, or the members of one as arguments."""
        given = self.contexts[id(node)].above.arguments
        unknown = [one for one in given if one.name.value not in args]
        inside = {one: getattr(g.get_nullable_type(args[one].type), "fields", {}) for one in free}
        holders = [one for one, fields in inside.items() if _are_of(unknown, fields)]
        holders = [one for one in holders if _may_take(inside[one], unknown)] or holders
        for one in holders[:_MOST_WAYS]:
            kept = [self._written([each]) for each in given if each not in unknown]
            text = ", ".join([*kept, f"{one}: {{{self._written(unknown)}}}"])
            is_sure = [*args] == [one] and {each.name.value for each in unknown} <= {*inside[one]}
            yield Fix(f"Send it inside of {one}.", ((span(given[0])[0], span(given[-1])[1], text),), is_sure)
        held = list(getattr(node.value, "fields", ()))
        if not holders and _are_of(held, {one: args[one] for one in free}):
            needed = {one for one in free if g.is_required_argument(args[one])}
            is_sure = bool(needed) and needed <= {one.name.value for one in held} <= {*free}
            is_sure = is_sure and _NEGATING.isdisjoint(words(node.name.value))
            said = f"Send the members of {node.name.value} as arguments."
            yield Fix(said, ((*span(node), self._written(held)),), is_sure)

    def _is_for(self, kind: Any, node: Any) -> bool:
        """Whether a value is of a type that few others take: a word of an enum, an object, a variable of that type."""
        inner = g.get_named_type(kind)
        if isinstance(node, g.VariableNode):
            declared = self._declared(node.name.value)
            is_rare = not g.is_specified_scalar_type(inner) or inner is g.GraphQLBoolean
            return inner is g.get_named_type(declared) and is_rare
        value = g.value_from_ast(node, kind, dict(self._sent))
        return not (g.is_scalar_type(inner) or isinstance(node, g.NullValueNode) or value is g.Undefined)

    def _declared(self, name: str) -> Any:
        """Return the type that a variable is declared with."""
        every = self._every(g.VariableDefinitionNode)
        return next((g.type_from_ast(self.schema, one.type) for one in every if one.variable.name.value == name), None)

    def _other_fields(self, field: Any) -> list[str]:
        """Return the fields beside one that return the same, take all of its arguments and need no others."""
        parent, kind = self.contexts[id(field)].parent, str(getattr(self.contexts[id(field)].definition, "type", ""))
        if not isinstance(field, g.FieldNode) or parent is self.schema.mutation_type:
            return []
        given = {one.name.value: one.value for one in field.arguments or ()}
        alike = {name: one.args for name, one in parent.fields.items() if str(one.type).rstrip("!") == kind.rstrip("!")}
        return [
            name
            for name, args in alike.items()
            if all(one in args and _takes(args[one].type, value) for one, value in given.items())
            and not any(g.is_required_argument(arg) for one, arg in args.items() if one not in given)
        ]

    def _other_value(self, node: g.ArgumentNode, name: str, kind: Any) -> Fix:
        """Return what asks for another argument instead, as a variable: the value that was sent is another thing."""
        variable = self.new_variable(name)
        splices = ((*span(node), f"{name}: ${variable}"), *self.declaring(self.operations[0], variable, kind))
        said = f"Give {name}, if it is what was meant: its value may be another one."
        return Fix(said, splices, False, ((variable, kind),))

    def type_name(self, node: g.NamedTypeNode) -> Iterator[Fix]:
        above = self.contexts[id(node)].above
        while isinstance(above, g.TypeNode):
            above = self.contexts[id(above)].above
        if isinstance(above, g.VariableDefinitionNode):
            wanted = {str(one.expected) for one in self._uses(above.variable.name.value) if one.expected}
            for text in wanted if len(wanted) == 1 else ():
                yield Fix(f"Declare the variable as {text}.", ((*span(above.type), text),), True)
                return
            is_taken: Callable[[Any], bool] = g.is_input_type
        else:
            is_taken = g.is_composite_type
        near = near_names(node.name.value, [name for name, one in self.schema.type_map.items() if is_taken(one)])
        yield from _renamed("Name the type", node, node.name.value, near)
        yield from () if near else self._on_other_type(above)

    def directive(self, node: g.DirectiveNode) -> Iterator[Fix]:
        near = near_names(node.name.value, [one.name for one in self.schema.directives])
        yield from _renamed("Name the directive", node.name, node.name.value, near)
        if not near:
            yield Fix("Leave the directive out, if the call may do without it.", (removed(node, self.text),))

    def fragment_name(self, name: g.NameNode, *_: Any) -> Iterator[Fix]:
        near = near_names(name.value, [one.name.value for one in self._every(g.FragmentDefinitionNode)])
        yield from _renamed("Name the fragment", name, name.value, near)
        if not near:
            yield from self._without(self.contexts[id(name)].above)

    # Selections

    def leaf(self, node: Any) -> Iterator[Fix]:
        """Give an object a selection, or take one away from a leaf."""
        node = self.contexts[id(node)].above if isinstance(node, g.SelectionSetNode) else node
        kind = g.get_named_type(self.contexts[id(node)].definition.type)
        if node.selection_set is not None:
            start, end = span(node.selection_set)
            start = len(self.text[:start].rstrip(" \t\n"))
            yield Fix("It has no fields: select it without any.", ((start, end, ""),), True)
            return
        fields = getattr(kind, "fields", {})
        plain = [name for name, one in fields.items() if g.is_leaf_type(g.get_named_type(one.type)) and not one.args]
        chosen = [name for name in plain if name in ("id", "name")] or plain[:_MOST_LEAVES]
        if chosen:
            end = span(node)[1]
            yield Fix(f"Say which fields of {kind} are wanted.", ((end, end, f" {{ {' '.join(chosen)} }}"),))

    def spread(self, node: Any, *_: Any) -> Iterator[Fix]:
        name = node.name.value if isinstance(node, g.FragmentSpreadNode) else ""
        fragments = (one for one in self._every(g.FragmentDefinitionNode) if one.name.value == name)
        yield from [*self._on_other_type(next(fragments, node))] or self._without(node)

    def overlap(self, *nodes: Any) -> Iterator[Fix]:
        """Give the second of two different fields of one name an alias."""
        fields = [one for one in nodes if isinstance(one, g.FieldNode)]
        last = max(fields, key=lambda one: one.loc.start if one.loc else 0)
        text = f"{last.alias.value}2" if last.alias else f"{last.name.value}2: {last.name.value}"
        yield Fix("Give the second one another name in the answer.", ((*span(last.alias or last.name), text),))

    def unused_fragment(self, node: g.FragmentDefinitionNode) -> Iterator[Fix]:
        yield Fix("Leave the fragment out: nothing uses it.", (removed(node, self.text),), True)

    # Variables

    def undefined(self, node: g.VariableNode, *more: Any) -> Iterator[Fix]:
        """Declare a variable as its place needs it, or name the declared one that is meant."""
        name, expected = node.name.value, self.contexts[id(node)].expected
        operation = next((one for one in self.operations if one in more), self.operations[0])
        declared = [one.variable.name.value for one in operation.variable_definitions or ()]
        near = [one for one in near_names(name, declared) if not self._uses(one)]
        yield from _renamed("Name the variable", node, name, [f"${one}" for one in near])
        if not near and expected is not None:
            asked = () if name in self._sent else ((name, expected),)
            yield Fix(f"Declare ${name} as {expected}.", self.declaring(operation, name, expected), True, asked)

    def unused(self, node: g.VariableDefinitionNode) -> Iterator[Fix]:
        operation, name = self.contexts[id(node)].above, node.variable.name.value
        meant = [one for one in self._every(g.StringValueNode) if one.value == f"${name}"]
        said = [self.contexts[id(one)] for one in self._every(g.EnumValueNode) if one.value == name]
        meant += [one.node for one in said if not g.is_enum_type(g.get_named_type(one.expected))]
        for one in meant[:1]:
            yield Fix(f"Refer to the variable as ${name}.", ((*span(one), f"${name}"),), len(meant) == 1)
            return
        start, end, new = removed(node, self.text)
        if len(operation.variable_definitions or ()) == 1:
            start = self.text.rindex("(", 0, start)
            end = self.text.index(")", end) + 1
        yield Fix("Leave the variable out: nothing uses it.", ((start, end, new),), name not in self._sent)

    def position(self, definition: g.VariableDefinitionNode, use: Any, *_: Any) -> Iterator[Fix]:
        """Declare a variable with the type of its place."""
        name = definition.variable.name.value
        wanted = {str(one.expected) for one in self._uses(name)}
        expected = str(self.contexts[id(use)].expected)
        strict = f"{expected.rstrip('!')}!"
        text = expected if wanted == {expected} else strict if wanted == {strict, strict[:-1]} else ""
        own, around = self._declared(name), g.get_named_type(self.contexts[id(use)].expected)
        fields = getattr(around, "fields", {}) if g.is_input_object_type(g.get_named_type(own)) else {}
        if len(inner := [one for one in fields if g.is_type_sub_type_of(self.schema, own, fields[one].type)]) == 1:
            yield Fix(f"Send it inside of {inner[0]}.", ((*span(use), f"{{{inner[0]}: ${name}}}"),), True)
            return
        if text:
            asked = () if name in self._sent else ((name, self.contexts[id(use)].expected),)
            asked = asked if text.endswith("!") and definition.default_value is None else ()
            yield Fix(f"Declare ${name} as {text}.", ((*span(definition.type), text),), True, asked)

    def required(self, node: Any) -> Iterator[Fix]:
        """Add the arguments that are missing, each as a variable whose value is asked for, once for them all."""
        if id(node) in self._given:
            return
        self._given.add(id(node))
        definition = self.contexts[id(node)].definition
        given = {one.name.value for one in node.arguments or ()}
        missing = [name for name, one in definition.args.items() if g.is_required_argument(one) and name not in given]
        operation = self.operations[0]
        unused = {
            one.variable.name.value: str(g.print_ast(one.type))
            for one in operation.variable_definitions or ()
            if not self._uses(one.variable.name.value)
        }
        splices, asked, added = list[Splice](), list[tuple[str, Any]](), list[str]()
        for name in missing:
            kind = definition.args[name].type
            if unused.get(name) == str(kind) and name not in self._reused:
                self._reused.add(name)
                added.append(f"{name}: ${name}")
                continue
            is_sent = name in self._sent and name not in self._variables
            variable = name if is_sent else self.new_variable(name)
            self._variables.add(variable)
            added.append(f"{name}: ${variable}")
            splices += self.declaring(operation, variable, kind)
            asked += [] if is_sent else [(variable, kind)]
        if node.arguments:
            end = node.arguments[-1].loc.end
            splices.append((end, end, "".join(f", {one}" for one in added)))
        else:
            end = node.name.loc.end
            splices.append((end, end, f"({', '.join(added)})"))
        yield Fix(f"Give {', '.join(missing)}.", tuple(splices), len(self.operations) == 1, tuple(asked))

    def duplicate(self, *nodes: Any) -> Iterator[Fix]:
        """Leave out one of two that have the same name."""
        whole = [one if not isinstance(one, g.NameNode) else self.contexts[id(one)].above for one in nodes]
        whole = [one if not isinstance(one, g.VariableNode) else self.contexts[id(one)].above for one in whole]
        if all(isinstance(one, g.OperationDefinitionNode) for one in whole):
            return
        if len({g.print_ast(one) for one in whole}) == 1:
            extra = tuple(removed(one, self.text) for one in whole[1:])
            variable = getattr(whole[0], "variable", None)  # its uses may have been meant to differ
            yield Fix("Send it once.", extra, variable is None or len(self._uses(variable.name.value)) < 2)
            return
        for kept in whole:
            yield Fix("Keep this one.", tuple(removed(one, self.text) for one in whole if one is not kept))

    def declaring(self, operation: g.OperationDefinitionNode, name: str, kind: Any) -> tuple[Splice, ...]:
        """Return the splice that declares a variable."""
        text = f"${name}: {kind}"
        if operation.variable_definitions:
            end = span(operation.variable_definitions[-1])[1]
            return ((end, end, f", {text}"),)
        start = span(operation.selection_set)[0]
        if operation.name is not None:
            end = span(operation.name)[1]
            return ((end, end, f"({text})"),)
        is_short = span(operation)[0] == start
        word = f"{operation.operation.value} " if is_short else ""
        at = start if is_short else span(operation)[0] + len(operation.operation.value)
        return ((at, at, f"{word}({text}) " if is_short else f" ({text})"),)

    def _uses(self, name: str) -> list[Context]:
        named = [self.contexts[id(one)] for one in self._every(g.VariableNode) if one.name.value == name]
        return [one for one in named if not isinstance(one.above, g.VariableDefinitionNode)]

    def _every(self, kind: Any) -> list[Any]:
        return [one.node for one in self.contexts.values() if isinstance(one.node, kind)]


class _Collector(g.Visitor):
    """Notes what the schema has for each node."""

    def __init__(self, info: g.TypeInfo, contexts: dict[int, Context]) -> None:
        super().__init__()
        self._info, self._contexts = info, contexts

    def enter(self, node: g.Node, _key: Any, parent: Any, _path: Any, ancestors: list[Any]) -> None:
        info = self._info
        above = next((one for one in (parent, *reversed(ancestors)) if isinstance(one, g.Node)), None)
        definition = info.get_directive() or info.get_field_def()
        self._contexts[id(node)] = Context(info.get_parent_type(), definition, info.get_input_type(), above, node)


def _fits(definition: g.GraphQLField, node: g.FieldNode) -> bool:
    """Whether a field has fields where some are selected, and takes the arguments that are given."""
    is_object = g.is_composite_type(g.get_named_type(definition.type))
    given = [one.name.value for one in node.arguments or ()]
    is_taken = all(one in definition.args or near_names(one, [*definition.args]) for one in given)
    return is_object == (node.selection_set is not None) and is_taken


def _has(kind: Any, node: g.FieldNode) -> bool:
    """Whether a type has a field that is selected."""
    definition = getattr(kind, "fields", {}).get(node.name.value)
    return definition is not None and _fits(definition, node) and _has_selected(definition, node)


def _ways(parent: Any, nodes: Sequence[Any]) -> list[tuple[str, ...]]:
    """Return the fields of a type, one or two levels deep, whose object has all of some nodes; none of too many."""
    near: list[tuple[tuple[str, ...], Any]] = [((name,), one) for name, one in _objects(parent).items()]
    for ways in near, [((*way, name), one) for way, kind in near for name, one in _objects(kind).items()]:
        if found := [way for way, one in ways if all(_has(one, node) for node in nodes)]:
            return found if len(found) <= (_MOST_WAYS if ways is near else 1) else []
    return []


def _objects(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a type that have fields and need no argument."""
    fields = getattr(kind, "fields", {})
    free = [name for name, one in fields.items() if not any(map(g.is_required_argument, one.args.values()))]
    found = {name: g.get_named_type(fields[name].type) for name in free}
    return {name: one for name, one in found.items() if hasattr(one, "fields")}


def _are_alike(kinds: Sequence[Any], nodes: Sequence[Any]) -> bool:
    """Whether fields have the same types on all of a few types, so that they can be selected on each."""
    found = {one.name.value: {str(kind.fields[one.name.value].type) for kind in kinds} for one in nodes}
    return 0 < len(kinds) <= _MOST_NAMES and all(len(one) == 1 for one in found.values())


def in_one_sense(name: str, free: Mapping[str, bool]) -> list[str]:
    """Return the only free name in the sense of one: a page's size, a comparison. `free` says which are texts."""
    said = {one: "".join(name_words(one)) for one in (name, *free)}
    group = next((names for names in (*_COMPARING, *SYNONYMS) if said[name] in names), frozenset[str]())
    found = [one for one in free if said[one] in group]
    is_only = len(found) == 1 and said[found[0]] != said[name]
    return found if is_only and (group in _COMPARING or not free[found[0]]) else []


def is_equal(name: str) -> bool:
    """Whether an operator of a filter compares with what is equal."""
    return "".join(name_words(name)) in _COMPARING[0]


def is_page(pointer: str, value: Json) -> bool:
    """Whether a value is the size of a page."""
    return isinstance(value, int) and "".join(name_words(pointer.rpartition("/")[2])) in SYNONYMS[0]


def _takes(kind: Any, node: Any) -> bool:
    """Whether a type takes an object where one is given, and none where none is. Of a variable that is not known."""
    while isinstance(node, g.ListValueNode) and node.values:
        node = node.values[0]
    inner = g.get_named_type(kind)
    is_free = isinstance(node, g.VariableNode) or (g.is_scalar_type(inner) and not g.is_specified_scalar_type(inner))
    return is_free or isinstance(node, g.ObjectValueNode) == g.is_input_object_type(inner)


def _may_take(kinds: Mapping[str, Any], nodes: Sequence[Any]) -> bool:
    """Whether members take values, or are objects that need no other members: an operator of a filter does."""
    held = [(kinds[one.name.value].type, one.value) for one in nodes if one.name.value in kinds]
    inner = [getattr(g.get_named_type(kind), "fields", {}) for kind, value in held if not _takes(kind, value)]
    return not any(g.is_required_input_field(each) for fields in inner for each in fields.values())


def _are_of(nodes: Sequence[Any], kinds: Mapping[str, Any]) -> bool:
    """Whether nodes are named like members of a type with their definitions, or nearly so."""
    texts = {name: "String" in str(one.type) for name, one in kinds.items()}
    found = [one.name.value in kinds or bool(in_one_sense(one.name.value, texts)) for one in nodes]
    near = (near_names(one.name.value, [*kinds]) for one, is_one in zip(nodes, found, strict=True) if not is_one)
    return any(found) and all(near)


def _has_selected(definition: g.GraphQLField, node: g.FieldNode) -> bool:
    """Whether the type of a field has all fields that are selected of it, at any depth."""
    fields = {_TYPE_NAME: g.TypeNameMetaFieldDef, **getattr(g.get_named_type(definition.type), "fields", {})}
    inner = [(fields.get(one.name.value), one) for one in _inside(node) if isinstance(one, g.FieldNode)]
    return all(kind is not None and _has_selected(kind, one) for kind, one in inner)


_TYPE_NAME: Final = "__typename"
_COMPARING: Final = (
    *map(word_set, ("eq equal", "ne neq notequal", "gt greaterthan", "lt lessthan")),
    *map(word_set, ("gte greaterthanorequal", "lte lessthanorequal", "in inarray isin oneof", "nin notin notinarray")),
)
_OTHER: Final = "other"
_LEFT_OUT: Final = frozenset({"MaxIntrospectionDepthRule"})
"""A limit of a server, which another one does not have."""
_RULES: Final[Mapping[str, tuple[Callable[..., Iterator[Fix]] | None, str]]] = {
    "KnownFragmentNamesRule": (Document.fragment_name, "The document has no such fragment."),
    "KnownTypeNamesRule": (Document.type_name, "The schema has no such type."),
    "FieldsOnCorrectTypeRule": (Document.field, "The schema has no such field there."),
    "KnownDirectivesRule": (Document.directive, "The schema has no such directive there."),
    "KnownArgumentNamesRule": (Document.argument, "There is no such argument."),
    "UniqueArgumentNamesRule": (Document.duplicate, "An argument is given twice."),
    "UniqueVariableNamesRule": (Document.duplicate, "A variable is declared twice."),
    "UniqueInputFieldNamesRule": (Document.duplicate, "A field is given twice."),
    "UniqueFragmentNamesRule": (Document.duplicate, "A fragment is there twice."),
    "UniqueDirectivesPerLocationRule": (Document.duplicate, "A directive is there twice."),
    "ScalarLeafsRule": (Document.leaf, "Say which fields are wanted."),
    "PossibleFragmentSpreadsRule": (Document.spread, "No object there is of the type of this fragment."),
    "NoUndefinedVariablesRule": (Document.undefined, "A variable is not declared."),
    "VariablesInAllowedPositionRule": (Document.position, "A variable has another type than its place."),
    "ProvidedRequiredArgumentsRule": (Document.required, "A required argument is missing."),
    "NoUnusedVariablesRule": (Document.unused, "A variable is not used."),
    "NoUnusedFragmentsRule": (Document.unused_fragment, "A fragment is not used."),
    "OverlappingFieldsCanBeMergedRule": (Document.overlap, "Two different fields have one name in the answer."),
    "other": (None, "The schema does not allow this document."),
}
"""By rule, in the order in which they are mended: how, and what is said."""
_ORDER: Final = (*_RULES,)
