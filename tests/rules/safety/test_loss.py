"""What an edit takes from a request: computed from the request before and after, whoever made the edit."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corrigible.rules.safety.loss import LookupResult, Survival, losses, losses_of_scalars
from corrigible.schema.exchange import Json, Request
from tests._support.counted import counted
from tests._support.rows import rows

TOKENS = Survival(tokens=frozenset({"sha", "if-match"}))


def lost(before: Any, after: Any, survival: Survival | None = None, *, method: str = "POST") -> tuple[str, ...]:
    request = Request(method, "/widgets", body=before)
    return losses(request, replace(request, body=after), survival)


@rows(
    ("before", "after"),
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 2], "c": 3}),  # untouched
        ({"titel": "x"}, {"title": "x"}),  # renamed
        ({"url": "u", "request": {}}, {"request": {"url": "u"}}),  # moved
        ({"box": "a"}, {"box": {"name": "a"}}),
        ({"size": "10"}, {"size": 10}),  # converted
        ({"state": "Re_opened"}, {"state": "re-opened"}),  # spelled
        ({"labels": "a,b"}, {"labels": ["a", "b"]}),
        ({"labels": {"-x": "Some Text"}}, {"labels": {"x": "some-text"}}),
        ({"name": None}, {}),  # null is no value where something is created
        ({"items": [1, 2, 3]}, {"items": [3, 1, 2]}),
        ({"items": ["a", "a", "b"]}, {"items": ["a", "b"]}),  # a set of words
        ({"meta": {}}, {"meta": {"name": "x"}}),
        (
            [{"op": "add", "path": "/metadata/labels/a~1b", "value": "y"}],
            [{"op": "add", "path": "/metadata/labels", "value": {"a/b": "y"}}],
        ),
        ([{"op": "add", "path": "/a", "value": 1}], [{"op": "replace", "path": "/a", "value": "1"}]),
        ([{"op": "add", "path": "/a", "value": "x"}], [{"op": "add", "path": "/b", "value": "x"}]),
        ([{"op": "replace", "path": "/a", "value": 1}], [{"op": "add", "path": "/a", "value": 1}]),
        ({"items": ["x"]}, {"items": "x"}),
        ({"items": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}, {"items": [{"b": 4, "a": 3}, {"b": 2, "a": 1}]}),
        ({"name": None}, {"name": "x"}),
        ({"q": '{"limt": 2, "a": [1]}'}, {"q": '{"limit":2,"a":[1]}'}),  # inside a text that holds JSON
        ({"q": "{limt: '2'}"}, {"q": '{"limit": 2}'}),
        ({"titel": "Big_Box"}, {"title": "big-box"}),  # the name and the value are put right
        ({"items": [{"n": 1}, {"n": 2}]}, {"items": [{"n": 2}, {"n": 1, "m": 3}]}),
        ({"items": [{"n": 1}, {"n": 1}]}, {"items": [{"n": 1}]}),
        ({f"old{i}": str(1000 + i) for i in range(100)}, {f"new{i}": 1000 + i for i in range(100)}),
    ],
)
def test_what_survives(before: Any, after: Any) -> None:
    assert lost(before, after) == ()


@rows(
    ("before", "after", "gone"),
    [
        ({"amount": 500}, {"amount": 300}, ("/body/amount",)),
        ({"url": "u", "method": "GET"}, {}, ("/body/url", "/body/method")),
        (
            {"spec": {"metrics": [{"n": "cpu", "t": 70}]}},
            {"spec": {}},
            ("/body/spec/metrics/0/n", "/body/spec/metrics/0/t"),
        ),
        ({"enabled": "yes"}, {"enabled": True}, ("/body/enabled",)),
        ({"box": "a"}, {"box": {"name": "b"}}, ("/body/box",)),
        ({"containers": [{"n": "a"}, {"n": "b"}]}, {"containers": [{"n": "a"}]}, ("/body/containers/1/n",)),
        ({"numbers": [1, 1]}, {"numbers": [1]}, ("/body/numbers/1",)),
        ({"a/b": 1, "c~d": 2}, {}, ("/body/a~1b", "/body/c~0d")),
        ({"note": "hello world"}, {"note": "hello"}, ("/body/note",)),
        ({"labels": {"x": "-v-"}}, {"labels": {"x": "v"}}, ("/body/labels/x",)),
        ({"titel": "Helo"}, {"title": "Hello"}, ("/body/titel",)),
        ({"on": True, "off": True}, {"on": True}, ("/body/off",)),
        ({"coupon": ""}, {}, ("/body/coupon",)),
        ({"selector": {}}, {}, ("/body/selector",)),
        ("text", None, ("/body",)),
        (
            [{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/b"}],
            [{"op": "add", "path": "/a", "value": 1}],
            ("/body/1",),
        ),
        (
            [{"op": "move", "from": "/a", "path": "/b"}],
            [{"op": "test", "path": "/c", "value": 1}],
            ("/body/0",),
        ),
        (
            [{"op": "add", "path": "/a", "value": {"b": 1, "c": 2}}],
            [{"op": "add", "path": "/a", "value": {"b": 1, "c": 9}}],
            ("/body/0/value/c",),
        ),
        ([{"op": "add", "path": 5}], [{"op": "add"}], ("/body/0/path",)),  # a list like any other
        ([{"op": 5, "path": "/a"}], [{"path": "/a"}], ("/body/0/op",)),
        ({"titel": "Helo"}, {"other": "Hello"}, ("/body/titel",)),
        (
            {"ops": [{"op": "remove", "path": "/a"}]},  # a JSON patch is the whole body
            {"ops": [{"op": "remove", "path": "/b"}]},
            ("/body/ops/0/path",),
        ),
        ({"meta": {}}, {"meta": "x"}, ("/body/meta",)),
        ({"items": [1, 1, 2]}, {"items": [2, 1, 3]}, ("/body/items/1",)),
        ({"items": [{"n": 1}, {"n": 2}]}, {"items": [{"n": 2}]}, ("/body/items/0/n",)),
        (
            {f"old{i}": str(1000 + i) for i in range(101)},  # too many to look for spellings
            {f"new{i}": 1000 + i for i in range(101)},
            tuple(f"/body/old{i}" for i in range(101)),
        ),
    ],
)
def test_what_is_lost(before: Any, after: Any, gone: tuple[str, ...]) -> None:
    assert lost(before, after) == gone


def test_a_new_value_accounts_for_one_that_is_gone_and_no_more() -> None:
    assert lost({"a": True, "b": True}, {"c": True}) == ("/body/b",)


@pytest.mark.parametrize("left", [1, 50])
def test_of_many_equal_values_those_are_lost_that_have_no_place(left: int) -> None:
    before = {f"old{n}": "same" for n in range(2 * left)}
    assert len(lost(before, {f"new{n}": "same" for n in range(left)})) == left


def test_null_in_a_patch_clears() -> None:
    assert lost({"name": None}, {}, method="PATCH") == ("/body/name",)
    assert lost({"name": None}, {"name": "x"}, method="PATCH") == ("/body/name",)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def test_what_is_nested_deeper_than_anybody_nests_counts_as_lost() -> None:
    assert lost(nested(100), nested(100)) == ()
    assert lost(nested(101), nested(101)) == ("/body" + "/a" * 101,)
    assert lost({"list": [nested(98)]}, {"list": [{**nested(98), "b": 2}]}) == ()
    assert lost({"list": [nested(99)]}, {"list": [{**nested(99), "b": 2}]}) == ("/body/list/0" + "/a" * 99,)


def test_null_is_an_empty_text_in_a_query_and_a_header() -> None:
    before = Request("POST", "/x", query={"a": ""}, headers={"b": ""})
    assert losses(before, replace(before, query={"a": None})) == ()
    assert losses(before, replace(before, headers={"b": None})) == ()  # type: ignore[dict-item]


@pytest.mark.parametrize(("form", "gone"), [(True, ()), (False, ("/body/a",))])
def test_null_is_an_empty_text_in_a_form(form: bool, gone: tuple[str, ...]) -> None:
    before = Request("POST", "/x", body={"a": ""}, form=form)
    assert losses(before, replace(before, body={"a": None})) == gone


def test_another_version_of_what_is_stored_is_no_loss() -> None:
    assert lost({"sha": "abc"}, {"sha": "def"}) == ("/body/sha",)
    assert lost({"sha": "abc"}, {"sha": "def"}, TOKENS) == ()
    assert lost({"sha": "abc"}, {}, TOKENS, method="PUT") == ("/body/sha",)  # the guard itself is gone
    assert lost({"sha": "abc"}, {}, TOKENS) == ()  # nothing is stored yet
    assert lost({"tree": [{"path": "a", "sha": "abc"}]}, {"tree": [{"path": "a"}]}, TOKENS) == ("/body/tree/0/sha",)


def test_a_version_in_a_json_patch() -> None:
    patch = [{"op": "test", "path": "/metadata/sha", "value": "abc"}]
    other = [{**patch[0], "value": "def"}]
    assert lost(patch, other, TOKENS) == ()
    assert lost(patch, other) == ("/body/0/value",)


def test_who_compares_many_values_counts_pairs() -> None:
    before, after = ({f"{name}{i}": f"{name}{i}" for i in range(50)} for name in "ab")
    assert counted(lambda: lost(before, after))[1] >= 2500
    assert counted(lambda: lost(before, {}))[1] >= counted(lambda: lost({}, {}))[1] + 50
    text = f'["{"x" * 100_000}"]'
    assert counted(lambda: lost({"a": text}, {"a": text[:-1]}))[1] >= 1000


def test_what_a_look_up_shows_a_name_to_stand_for() -> None:
    branch = LookupResult("/repos/o/r/git/ref/heads/main", {"ref": "refs/heads/main", "object": {"sha": "e46f"}})
    team = LookupResult("/orgs/o/teams", [{"id": 2, "name": "Edge"}, {"id": 3, "name": "Core"}])
    assert lost({"tree": "main"}, {"tree": "e46f"}, Survival(lookup_results=[branch])) == ()
    assert lost({"parent": "Core"}, {"parent": 3}, Survival(lookup_results=[team])) == ()
    assert lost({"parent": "Core"}, {"parent": 2}, Survival(lookup_results=[team])) == ("/body/parent",)
    level = LookupResult("/priorityclasses", {"items": [{"metadata": {"name": "high"}, "value": 1000}]})
    assert lost({"priority": 1000}, {"priorityClassName": "high"}, Survival(lookup_results=[level])) == ()
    assert lost({"priority": 1000}, {"priority": "low"}, Survival(lookup_results=[level])) == ("/body/priority",)
    left = LookupResult("/v1/charges/ch_1", {"amount": 500, "left": 300})
    assert lost({"amount": 500}, {"amount": 300}, Survival(lookup_results=[left])) == ("/body/amount",)
    asked = LookupResult("/branches?name=main&page=1", [{"sha": "e46f"}, {"sha": "b7"}])
    assert lost({"tree": "main"}, {"tree": "b7"}, Survival(lookup_results=[left, asked])) == ()
    assert lost({"tree": "mai"}, {"tree": "b7"}, Survival(lookup_results=[asked])) == ("/body/tree",)
    assert lost({"tree": "main"}, {"tree": "c8"}, Survival(lookup_results=[asked])) == ("/body/tree",)
    assert lost({"parent": "core"}, {"parent": 3}, Survival(lookup_results=[team])) == ()
    assert lost({"parent": "cores"}, {"parent": 3}, Survival(lookup_results=[team])) == ("/body/parent",)
    assert lost({"parent": "Core"}, {"parent": True}, Survival(lookup_results=[team])) == ("/body/parent",)
    deep = LookupResult("/x", {"a": {"b": {"name": "high"}}, "value": 1000})
    assert lost({"level": "high"}, {"level": 1000}, Survival(lookup_results=[deep])) == ("/body/level",)
    many = LookupResult("/x/main", [*range(4999), "last", "beyond"])
    assert lost({"tree": "main"}, {"tree": "last"}, Survival(lookup_results=[many])) == ()
    assert lost({"tree": "main"}, {"tree": "beyond"}, Survival(lookup_results=[many])) == ("/body/tree",)


def test_another_version_of_an_api_that_keeps_the_rest() -> None:
    versioned = Survival(version="apiVersion")
    before = Request("POST", "/apis/apps/v2/things", body={"apiVersion": "apps/v2"})
    after = replace(before, path="/apis/batch/v1/things", body={"apiVersion": "batch/v1"})
    assert losses(before, after, versioned) == ()
    assert losses(before, after) == ("/body/apiVersion", "/path")
    inner = Request("POST", "/x", body={"a": {"apiVersion": "apps/v2"}})
    assert losses(inner, replace(inner, body={"a": {"apiVersion": "batch/v1"}}), versioned) == ("/body/a/apiVersion",)
    bodies: tuple[Json, ...] = ([], {"apiVersion": 2}, {})
    for body in bodies:
        bare = replace(before, body=body)
        assert losses(bare, replace(after, body=body), versioned) == ("/path",)


def test_steps_hold_values_too() -> None:
    steps = [{"method": "POST", "path": "/labels", "body": {"name": "bug"}}]
    assert lost({"label": "bug"}, {}, Survival(steps=steps)) == ()


@rows(
    ("method", "before", "after", "gone"),
    [
        ("POST", "/v1/charge", "/v1/charges", ()),
        ("POST", "/v1/charges/ch_1", "/v1/charges", ("/path",)),
        ("POST", "/repos/o/r/git/refs/refs/tags/x", "/repos/o/r/git/refs/tags/x", ()),
        ("GET", "/apis/apps/v2/deployments", "/apis/apps/v1/deployments", ()),
        ("POST", "/apis/apps/v2/deployments", "/apis/apps/v1/deployments", ("/path",)),
        ("GET", "/a%2Fb", "/a/b", ("/path",)),
        ("HEAD", "/v1beta1/things", "/v1/things", ()),
        ("GET", "/2022-11-28/things", "/2026-01-02/things", ()),
        ("GET", "/version/things", "/things", ("/path",)),
        ("POST", "/lists/x", "/list/x", ()),
        ("POST", "/lists/list", "/list", ("/path",)),  # it was there as well
    ],
)
def test_paths(method: str, before: str, after: str, gone: tuple[str, ...]) -> None:
    request = Request(method, before)
    assert losses(request, replace(request, path=after), Survival(is_stated=True)) == gone


ELSEWHERE = [
    *(("node-1", "node-10"), ("user1", "user12"), ("prod", "production-eu"), ("main", "maintenance")),
    *(("deny-all", "deny-all-except-admin"), ("read", "readwrite"), ("alice", "alice@evil.com"), ("admin", "!admin")),
    *(("example.com", "example.com.evil.org"), ("!admin", "admin"), ("abcdefgh", "abcdefij"), ("v1.1", "v11")),
    *(("open", "opens all"), ("admin", "admin-readonly"), ("opend", "opened"), ("10.0.0.1", "10.0.0.10")),
    *(("/etc/app", "/etc/app/shadow"), ("a@x.org", "b.a@x.org"), ("s3://a/b", "s3://a/b2"), ("mike", "mikel")),
    *(("bob", "rob"), ("eu-west-1", "eu-west-11"), ("ab-cd", "abc"), ("100 Mb", "100 MB"), ("5M", "5m"), ("A-", "A")),
    *(("-5 days", "5 days"), ("+49 1", "49 1"), ("#general", "general"), ("a.b*", "a.b"), ("x~1", "x1")),
]


@rows(("one", "other"), ELSEWHERE)
def test_what_goes_on_from_a_text_or_is_near_it_is_another_one(one: str, other: str) -> None:
    """Of what may be any text nothing says that it was meant: a dry run would accept it, too."""
    for sent, put in ((one, other), (other, one)):
        assert lost({"v": sent}, {"v": put}) == ("/body/v",)
        before = Request("POST", f"/hosts/{quote(sent, safe='')}/reboot")
        assert losses(before, replace(before, path=f"/hosts/{quote(put, safe='')}/reboot")) == ("/path",)
        assert lost({"v": sent}, {}, Survival(steps=[{"method": "POST", "path": "/v", "body": {"w": put}}])) != ()


@rows(
    ("one", "other"),
    [
        ("node-1", "node-10"),
        ("!admin", "admin"),
        ("C++", "C"),
        ("-name", "name"),
        ("v1.1", "v11"),
        ("alice", "alice@evil.com"),
        ("A-", "A"),
        ("c", "c-2"),
    ],
)
def test_a_closed_list_makes_no_other_number_and_no_other_sign_the_same(one: str, other: str) -> None:
    for sent, put in ((one, other), (other, one)):
        assert lost({"v": sent}, {"v": put}, Survival(is_stated=True)) == ("/body/v",)


WORDS = st.lists(st.text("abcxyz019", min_size=1, max_size=4), min_size=1, max_size=3)


@given(WORDS, st.sampled_from("-_ "), st.sampled_from("ab09+#!~*@"), st.data())
def test_one_letter_digit_or_sign_more_is_another_text(
    words: list[str], separator: str, more: str, data: st.DataObject
) -> None:
    text = separator.join(words)
    at = data.draw(st.integers(0, len(text)))
    other = text[:at] + more + text[at:]
    assume(not re.fullmatch("#(?:[0-9a-f]{3}){1,2}", other))  # a colour, which is the same without the sign
    for sent, put in ((text, other), (other, text)):
        assert lost({"v": sent}, {"v": put}) == ("/body/v",)


@given(WORDS, st.sampled_from(["-", "_", " ", ""]), st.booleans())
def test_case_and_separators_of_words_are_no_loss(words: list[str], separator: str, upper: bool) -> None:
    letters = [word for word in words if word.isalpha()]
    text = separator.join(letters)
    assert lost({"v": "_".join(letters)}, {"v": text.upper() if upper else text}) == ()


@rows(
    ("one", "other"),
    [
        *(("updted", "updated"), ("opened", "open"), ("Monthly", "month"), ("TIMESTAMP", "TIMESTAMP_ASC")),
        *(("In Progress", "in_progress"), ("utf8", "utf-8"), ("user.created", "user_created"), ("lebel", "label")),
        *(("example.com", "https://example.com"), ("main", "refs/heads/main"), ("image/pgn", "image/png")),
        *(("1.2.0", "v1.2.0"), ("tags", "tag"), ("application/vnd.api+jsn", "application/vnd.api+json")),
    ],
)
def test_what_is_near_one_of_a_closed_list_is_a_misspelling_of_it(one: str, other: str) -> None:
    assert lost({"v": one}, {"v": other}, Survival(is_stated=True)) == ()


def test_a_path_keeps_what_moves_into_it() -> None:
    before = Request("POST", "/repos/labels", body={"owner": "o", "name": "bug"})
    after = replace(before, path="/repos/o/labels", body={"name": "bug"})
    assert losses(before, after) == ()


def test_a_collection_in_a_path_may_become_a_member() -> None:
    before = Request("POST", "/v1/charges/ch_1/refunds", body={"amount": 100})
    after = replace(before, path="/v1/refunds", body={"amount": 100, "charge": "ch_1"})
    assert losses(before, after) == ()
    assert losses(before, replace(after, body={"amount": 100})) == ("/path",)
    assert losses(before, replace(after, body={"amount": 100, "charge": "ch_2"})) == ("/path",)


def test_headers_that_only_say_how_it_is_written_are_no_values() -> None:
    before = Request("PUT", "/x", headers={"content-type": "text/plain", "if-match": '"1"', "x-tag": "t"}, body={})
    after = replace(before, headers={"content-type": "application/json"})
    assert losses(before, after) == ("/headers/if-match", "/headers/x-tag")
    renewed = replace(before, headers={**before.headers, "if-match": '"2"'})
    assert losses(before, renewed, TOKENS) == ()
    assert losses(before, replace(before, headers={**before.headers, "x-tag": "u"}), TOKENS) == ("/headers/x-tag",)
    named = Request("PUT", "/x", body={"accept": "a"})
    assert losses(named, replace(named, body={"accept": "b"})) == ("/body/accept",)


@rows("name", ["content-type", "content-encoding", "accept", "accept-encoding", "prefer", "user-agent"])
def test_headers_of_representation(name: str) -> None:
    before = Request("PUT", "/x", headers={name: "a"}, body={})
    assert losses(before, replace(before, headers={})) == ()


def test_only_what_an_edit_touched_is_compared() -> None:
    before = Request("POST", "/x", {"page": "2"}, {}, {"a": 1, "b": 2})
    after = replace(before, query={}, body={"a": 9, "b": 9})
    assert losses(before, after, touched=["/body/b"]) == ("/body/b",)
    assert losses(before, after, touched=["/query/page"]) == ("/query/page",)
    assert losses(before, after) == ("/query/page", "/body/a", "/body/b")
    same_name = replace(before, query={"a": "1"})
    assert losses(same_name, replace(after, query={"a": "9"}), touched=["/query/a"]) == ("/query/a",)
    assert losses(before, replace(after, body="text"), touched=["/query/page"]) == ("/query/page",)
    assert losses(before, after, touched=["/body"]) == ("/body/a", "/body/b")
    listed = replace(before, body=[1, 2])
    assert losses(listed, replace(listed, body=[1]), touched=["/body/1"]) == ("/body/1",)
    both = replace(listed, body=[1], query={})
    assert losses(listed, both, touched=["/body/1", "/query/page"]) == ("/query/page", "/body/1")
    headed = replace(before, headers={"x-tag": "t"})
    assert losses(headed, replace(headed, headers={}), touched=["/headers/X-Tag"]) == ("/headers/x-tag",)
    escaped = replace(before, body={"a/b": 1})
    assert losses(escaped, replace(escaped, body={}), touched=["/body/a~1b"]) == ("/body/a~1b",)


SCALARS = Request(
    "PUT",
    "/x",
    {"page": "2"},
    {"if-match": '"1"', "accept": "json", "x-tag": "t"},
    {"a": "x", "b": 5, "accept": "json", "list": [1], "c~d": "x", "e": {"f": 1}, "n": None, "page": "2"},
)


def put(**values: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": "/" + name.replace("__", "/"), "value": value} for name, value in values.items()]


@rows(
    ("patch", "gone"),
    [
        (put(body__a="y"), ("/body/a",)),
        ([{"op": "test", "path": "/body/e/f", "value": 1}, *put(body__a="y")], ("/body/a",)),
        (put(body__a="X", body__b="5"), ()),
        (put(body__a="X", body__b=6), ("/body/b",)),
        (put(query__page="3"), ("/query/page",)),
        (put(headers__accept="xml"), ()),
        (put(headers__Accept="xml"), ()),
        (put(body__accept="xml"), ("/body/accept",)),
        ([{"op": "replace", "path": "/headers/if-match", "value": '"2"'}], ()),
        ([{"op": "replace", "path": "/headers/x-tag", "value": "u"}], ("/headers/x-tag",)),
        (put(body__a="e46f"), ()),  # a look-up shows it
        # All others are for the long way.
        (put(body__a="y", body__b=6), None),
        (put(body__list=[2]), None),
        (put(body__a=["x"]), None),
        (put(body__n="x"), None),
        (put(body__a=None), None),
        (put(body__e__f=2), None),
        (put(body__absent="x"), None),
        (put(body={}), None),
        (put(path="/y"), None),
        ([{"op": "replace", "path": "/body/c~0d", "value": "x"}], None),
        ([{"op": "add", "path": "/body/a", "value": "y"}], None),
        ([{"op": "remove", "path": "/body/a"}], None),
    ],
)
def test_the_short_way_says_what_the_long_one_does(patch: list[dict[str, Any]], gone: tuple[str, ...] | None) -> None:
    survival = Survival(TOKENS.tokens, lookup_results=[LookupResult("/x", {"name": "x", "sha": "e46f"})])
    assert losses_of_scalars(patch, SCALARS, survival) == gone
    assert losses_of_scalars(patch, SCALARS, survival._replace(steps=[{"body": {"a": "x"}}])) is None
    assert losses_of_scalars(patch, replace(SCALARS, headers={}, query={}, body=[]), survival) is None
    if gone is not None:
        edited = SCALARS
        for op in patch:
            _, where, *rest = op["path"].split("/")
            if op["op"] == "replace":
                part: dict[str, Any] = {where: {**getattr(edited, where), rest[0].lower(): op["value"]}}
                edited = replace(edited, **part)
        assert losses(SCALARS, edited, survival) == gone


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab/~", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_nothing_is_lost_where_everything_stays(body: Any, other: Any) -> None:
    request = Request("POST", "/x", body=body)
    assert losses(request, replace(request, body=copy.deepcopy(body))) == ()
    assert losses(replace(request, body={"kept": body}), replace(request, body={"kept": body, "more": other})) == ()
    assert losses(replace(request, body={"old": body}), replace(request, body={"new": body})) == ()


@given(
    st.dictionaries(st.text("abc/~", min_size=1, max_size=2), st.integers(100, 10**6), min_size=1, max_size=6),
    st.data(),
)
def test_exactly_what_was_removed_is_lost(body: dict[str, int], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(sorted(body))))
    after = {name: value for name, value in body.items() if name not in gone}
    request = Request("POST", "/x", body=body)
    wanted = {f"/body/{name.replace('~', '~0').replace('/', '~1')}" for name in gone}
    assert set(losses(request, replace(request, body=after))) == wanted
