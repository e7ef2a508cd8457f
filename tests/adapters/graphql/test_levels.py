"""A level that is missing or one too many, in selections and in arguments: the document comes back as it was meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphql as g
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.engine import Engine
from tests._support.rows import rows

from .test_documents import outcome, posted, refused

SCHEMA = """
type Query { things(first: Int, filter: Filter, sort: Sort): Things!  thing(id: ID!): Thing
  thingByCode(code: String!): Thing  all: [Thing!]!  found: [Found!]! }
type Mutation { create(input: Create!): Created!  resize(input: Resize!): Thing  move(id: ID!, to: String!): Thing!
  unset(id: ID!): Thing  set(id: ID!): Thing }
type Things { total: Int!  edges: [Edge!]!  pageInfo: PageInfo! }
type Edge { cursor: String!  node: Thing! }
type PageInfo { hasNext: Boolean!  end: String }
type Thing { code: String!  fullName: String!  owner: Owner!  size: Size! }
type Owner { id: ID!  email: String!  phone: String }
type Size { width: Int!  height: Int! }
type Created { thing: Thing  warnings: [String!] }
union Found = Thing | Owner
enum Sort { CODE_ASC CODE_DESC }
input Filter { owner: ID  sort: Sort  wide: Boolean }
input Create { code: String!  size: SizeInput!  note: String }
input Resize { size: SizeInput! }
input SizeInput { width: Int!  height: Int! }
"""
MEANT = (
    "{ things(first: 2) { total edges { node { code fullName } } } }",
    "{ things { edges { cursor node { size { width height } } } pageInfo { hasNext end } } }",
    "{ thing(id: 7) { code owner { email phone } } }",
    "{ all { size { height } } }",
    'mutation { create(input: {code: "a", size: {width: 1, height: 2}}) { thing { fullName code } warnings } }',
)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    file: Path = tmp_path_factory.mktemp("levels") / "schema.graphql"
    file.write_text(SCHEMA, "utf-8")
    return build_engine([], file)


def plain(text: str) -> str:
    return g.strip_ignored_characters(text)


def errors(text: str) -> list[str]:
    return [one.message for one in g.validate(g.build_schema(SCHEMA), g.parse(text))]


def fields(text: str) -> Iterator[Any]:
    """Yield the fields with a selection below the first level."""
    found: list[Any] = []

    class Finds(g.Visitor):
        def enter_field(self, node: g.FieldNode, _key: Any, _parent: Any, path: list[Any], _above: Any) -> None:
            if node.selection_set is not None:
                found.append((len(path), node))

    g.visit(g.parse(text), Finds())
    yield from (node for depth, node in found if depth > min(one for one, _ in found))


def mended(judge: Engine, text: str) -> str:
    found = outcome(judge, posted({"query": text}), {"errors": [{"message": one} for one in errors(text)]}, 400)
    body = found.get("sends") or found.get("confirms")
    return plain(body["query"]) if isinstance(body, dict) else str(found)


@pytest.mark.parametrize("text", MEANT)
def test_a_level_that_is_left_out_comes_back(judge: Engine, text: str) -> None:
    tried = 0
    for node in fields(text):
        held = node.selection_set.loc
        short = text[: node.loc.start] + text[held.start + 1 : held.end - 1].strip() + text[node.loc.end :]
        if errors(short):
            tried += 1
            assert mended(judge, short) == plain(text), short
    assert tried


@rows("text", MEANT)
@rows("name", ["data", "attributes"])
def test_a_level_that_is_none_goes(judge: Engine, text: str, name: str) -> None:
    for node in fields(text):
        held = node.selection_set.loc
        long = f"{text[: held.start]}{{ {name} {text[held.start : held.end]} }}{text[held.end :]}"
        assert mended(judge, long) == plain(text), long


@rows(
    ("text", "meant"),
    [
        ('mutation { create(code: "a", size: {width: 1, height: 2}) { warnings } }', "sends"),
        ('mutation { move(input: {id: 7, to: "x"}) { code } }', 'mutation { move(id: 7, to: "x") { code } }'),
        ('mutation { create(input: {code: "a", width: 1, height: 2}) { warnings } }', "sends"),
        ("{ things(owner: 7, first: 2) { total } }", "{ things(first: 2, filter: {owner: 7}) { total } }"),
        ("{ things(where: {wide: true}) { total } }", "{ things(filter: {wide: true}) { total } }"),
        ("{ things(orderBy: CODE_ASC) { total } }", "{ things(sort: CODE_ASC) { total } }"),
        ('{ thing(code: "a") { code } }', '{ thingByCode(code: "a") { code } }'),
        ("{ all { ownerId } }", "{ all { owner { id } } }"),
        ("{ all { name } }", "{ all { fullName } }"),
        ("{ all { user { email phone } } }", "{ all { owner { email phone } } }"),
        ("{ found { ...F } } fragment F on Size { fullName }", "{ found { ...F } } fragment F on Thing { fullName }"),
        ("{ all { ...F } } fragment F on Owner { fullName }", "{ all { ...F } } fragment F on Thing { fullName }"),
        ('query ($id: ID!) { thing(id: "$id") { code } }', "query ($id: ID!) { thing(id: $id) { code } }"),
        ("query ($id: ID!) { thing(id: id) { code } }", "query ($id: ID!) { thing(id: $id) { code } }"),
        (
            "mutation M($s: SizeInput!) { resize(input: $s) { code } }",
            "mutation M($s: SizeInput!) { resize(input: {size: $s}) { code } }",
        ),
    ],
)
def test_what_stands_elsewhere_is_moved_there(judge: Engine, text: str, meant: str) -> None:
    if meant == "sends":
        meant = 'mutation { create(input: {code: "a", size: {width: 1, height: 2}}) { warnings } }'
    values = {"id": "7"} if "$id" in text else {"s": {"width": 1, "height": 2}} if "$s" in text else {}
    body = {"query": text, "variables": values}
    found = outcome(judge, posted(body), {"errors": [{"message": one} for one in errors(text)]}, 400)
    sent = found.get("sends") or found.get("confirms")
    assert isinstance(sent, dict), found
    assert plain(sent["query"]) == plain(meant)


@pytest.mark.parametrize(
    ("text", "is_sent"),
    [
        ('mutation { move(input: {id: 7, to: "x"}) { code } }', True),
        ("mutation { unset(exclude: {id: 7}) { code } }", False),
        ("mutation { unset(input: {ids: 7}) { code } }", False),
        ("{ things(page: {first: 2}) { total } }", False),
        ('mutation { create(code: "a", siez: {width: 1, height: 2}) { warnings } }', False),
    ],
)
def test_arguments_are_moved_unasked_only_where_no_name_may_be_another(
    judge: Engine, text: str, *, is_sent: bool
) -> None:
    found = outcome(judge, posted({"query": text}), {"errors": [{"message": one} for one in errors(text)]}, 400)
    assert ("sends" in found) is is_sent, found


@pytest.mark.parametrize("inner", ["width: $w, height: 2", "width: 1, height: 2, note: $w"])
def test_what_has_a_variable_in_it_is_not_written_anew(judge: Engine, inner: str) -> None:
    text = f'mutation M($w: Int!) {{ create(input: {{code: "a", {inner}}}) {{ warnings }} }}'
    body = {"query": text, "variables": {"w": 3}}
    found = outcome(judge, posted(body), {"errors": [{"message": one} for one in errors(text)]}, 400)
    assert "$w" in str(found.get("sends", "$w"))


def test_another_mutation_is_never_put_in_place_of_one(judge: Engine) -> None:
    answer = refused('Cannot query field "reset" on type "Mutation". Did you mean "unset" or "set"?', 12)
    found = outcome(judge, posted({"query": "mutation { reset(id: 7) { code } }"}), answer)
    assert found == {"asks": ["/body/query"], "confirms": 1}


def test_a_text_like_the_name_of_a_variable_is_a_text(judge: Engine) -> None:
    body = {"query": 'query ($to: String!) { thingByCode(code: "to") { code } }', "variables": {"to": "x"}}
    found = outcome(judge, posted(body), refused('Variable "$to" is never used.', 8), 400)
    assert 'code: "to"' in str(found)


PAGED = """
type Query { a(limit: Int, floor: Int): [T!]!  b(first: Int, after: String): [T!]!  c(pageSize: Int, page: Int): [T!]!
  d(take: Int!, skip: Int): [T!]! }
type T { id: ID! }
"""
PAGES = ["first", "limit", "take", "top", "count", "pageSize", "page_size", "perPage", "maxResults"]
"""Words for the size of a page."""


@rows("written", PAGES)
@rows(("field", "meant"), [("a", "limit"), ("b", "first"), ("c", "pageSize"), ("d", "take")])
def test_the_size_of_a_page_keeps_its_value_under_the_name_that_is_there(
    tmp_path: Path, written: str, field: str, meant: str
) -> None:
    (file := tmp_path / "paged.graphql").write_text(PAGED, "utf-8")
    for text in ("{ %s(%s: 3) { id } }", "query($n: Int!) { %s(%s: $n) { id } }"):
        body: Any = {"query": text % (field, written), "variables": {"n": 3} if "$" in text else {}}
        found = outcome(build_engine([], file), posted(body), refused(f"Unknown argument {written}"))
        way = "sends" if written == "page_size" and meant == "pageSize" else "confirms"
        assert written == meant or found[way] == {**body, "query": text % (field, meant)}


@pytest.mark.parametrize("arguments", ["limit: String", "count: Int, top: Int", "offset: Int", "floor: Int"])
def test_where_none_or_several_have_the_sense_of_a_name_no_other_takes_its_value(
    tmp_path: Path, arguments: str
) -> None:
    (file := tmp_path / "page.graphql").write_text(f"type Query {{ a({arguments}): Int }}", "utf-8")
    found = outcome(build_engine([], file), posted({"query": "{ a(first: 3) }"}), refused("Unknown argument first"))
    assert found == {"asks": [], "confirms": {"query": "{ a }"}}


def test_a_field_of_several_types_is_a_choice_where_its_types_differ(tmp_path: Path) -> None:
    schema = "type Query { all: [Any!]! } union Any = A | B type A { id: ID! n: Int! } type B { id: ID! n: String! }"
    (file := tmp_path / "any.graphql").write_text(schema, "utf-8")
    for text, ways in (("{ all { id } }", 1), ("{ all { n } }", 2), ("{ all { id n } }", 2)):
        confirmed = outcome(build_engine([], file), posted({"query": text}), refused("no such field id n"))["confirms"]
        both = {"query": "{ all { ... on A { id } ... on B { id } } }"}
        assert confirmed == (both if ways == 1 else ways)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{ found { ... on Person { email } } }", "Owner"),
        ("{ found { ...P } } fragment P on OwnerInfo { id email }", "Owner"),
        ("{ found { ... on Item { code size { width } } } }", "Thing"),
        ("{ found { ... on Item { code email } } }", ""),
        ("{ found { ... on Item { __typename } } }", ""),
    ],
)
def test_a_fragment_on_no_type_is_on_the_only_one_that_has_its_fields(judge: Engine, text: str, meant: str) -> None:
    unknown = next(one for one in ("Person", "OwnerInfo", "Item") if one in text)
    found = outcome(judge, posted({"query": text}), refused(f"Internal error: UnknownType('{unknown}')"), 500)
    sent = {"query": text.replace(unknown, meant)}
    assert found == ({"asks": [], "confirms": sent} if meant else {"asks": ["/body/query"], "confirms": 1})


@pytest.mark.parametrize("told", ["PersistedQueryNotFound", "Persisted query was not found"])
def test_a_document_of_an_unknown_hash_is_asked_for(judge: Engine, told: str) -> None:
    body: Any = {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": "0" * 64}}}
    assert outcome(judge, posted(body), refused(told))["asks"] == ["/body/query"]
    assert outcome(judge, posted(body), refused("Internal error")) == {"silent": True}


OPTIONS = """
type Query { things(options: Options): Int }
input Options { take: Int  skip: Int  size: Compared  since: String }
input Compared { eq: Int  gte: Int  lt: Int }
"""


@rows(
    ("sent", "meant"),
    [
        ("first: $n", "options: {take: $n}"),
        ("options: {limit: 2}", "options: {take: 2}"),
        ("options: {pageSize: $n}", "options: {take: $n}"),
        ("options: {offset: 2, take: 1}", "options: {skip: 2, take: 1}"),
        ("options: {size: {equals: 2}}", "options: {size: {eq: 2}}"),
        ("options: {size: {greaterThanOrEqual: $n}}", "options: {size: {gte: $n}}"),
        ("options: {size: {greaterThan: 2}}", ""),
        ("options: {limit: 2, take: 1}", ""),
        ("options: {after: 2}", ""),
    ],
)
def test_a_name_in_one_sense_is_to_be_confirmed_in_an_input_object(tmp_path: Path, sent: str, meant: str) -> None:
    file = tmp_path / "options.graphql"
    file.write_text(OPTIONS, "utf-8")
    text = f"query Q($n: Int) {{ things({sent}) }}" if "$n" in sent else f"{{ things({sent}) }}"
    body: dict[str, Any] = {"query": text, **({"variables": {"n": 2}} if "$n" in sent else {})}
    told = [{"message": one.message} for one in g.validate(g.build_schema(OPTIONS), g.parse(text))]
    found = outcome(build_engine([], file), posted(body), {"errors": told}, 400)
    if meant:
        assert found == {"asks": [], "confirms": {**body, "query": text.replace(sent, meant)}}
    else:
        assert "sends" not in found
        assert "take: 2" not in str(found) and "gte" not in str(found)
