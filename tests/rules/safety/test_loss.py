"""What an edit takes from a request: computed from the request before and after, whoever made the edit."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrigible.rules.safety.loss import Seen, Survival, losses
from corrigible.schema.exchange import Request

TOKENS = Survival(tokens=frozenset({"sha", "if-match"}))


def lost(before: Any, after: Any, survival: Survival | None = None, *, method: str = "POST") -> tuple[str, ...]:
    request = Request(method, "/widgets", body=before)
    return losses(request, replace(request, body=after), survival)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 2], "c": 3}),  # untouched
        ({"titel": "x"}, {"title": "x"}),  # renamed
        ({"url": "u", "request": {}}, {"request": {"url": "u"}}),  # moved
        ({"size": "10"}, {"size": 10}),  # converted
        ({"state": "opned"}, {"state": "opened"}),  # spelled
        ({"labels": "a,b"}, {"labels": ["a", "b"]}),
        ({"labels": {"-x": "-v-"}}, {"labels": {"x": "v"}}),
        ({"name": None}, {}),  # null is no value where something is created
        ({"items": [1, 2, 3]}, {"items": [3, 1, 2]}),
        ({"items": ["a", "a", "b"]}, {"items": ["a", "b"]}),  # a set of words
        ({"meta": {}}, {"meta": {"name": "x"}}),
        (
            [{"op": "add", "path": "/metadata/labels/a~1b", "value": "y"}],
            [{"op": "add", "path": "/metadata/labels", "value": {"a/b": "y"}}],
        ),
    ],
)
def test_what_survives(before: Any, after: Any) -> None:
    assert lost(before, after) == ()


@pytest.mark.parametrize(
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
        ({"containers": [{"n": "a"}, {"n": "b"}]}, {"containers": [{"n": "a"}]}, ("/body/containers/1/n",)),
        ({"numbers": [1, 1]}, {"numbers": [1]}, ("/body/numbers/1",)),
        ({"a/b": 1, "c~d": 2}, {}, ("/body/a~1b", "/body/c~0d")),
        ({"note": "hello world"}, {"note": "hello"}, ("/body/note",)),
        ({"on": True, "off": True}, {"on": True}, ("/body/off",)),
        ({"coupon": ""}, {}, ("/body/coupon",)),
        ({"selector": {}}, {}, ("/body/selector",)),
        ("text", None, ("/body",)),
        (
            [{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/b"}],
            [{"op": "add", "path": "/a", "value": 1}],
            ("/body/1",),
        ),
    ],
)
def test_what_is_lost(before: Any, after: Any, gone: tuple[str, ...]) -> None:
    assert lost(before, after) == gone


def test_a_new_value_accounts_for_one_that_is_gone_and_no_more() -> None:
    assert lost({"a": True, "b": True}, {"c": True}) == ("/body/b",)


def test_null_in_a_patch_clears() -> None:
    assert lost({"name": None}, {}, method="PATCH") == ("/body/name",)


def test_another_version_of_what_is_stored_is_no_loss() -> None:
    assert lost({"sha": "abc"}, {"sha": "def"}) == ("/body/sha",)
    assert lost({"sha": "abc"}, {"sha": "def"}, TOKENS) == ()
    assert lost({"sha": "abc"}, {}, TOKENS, method="PUT") == ("/body/sha",)  # the guard itself is gone
    assert lost({"sha": "abc"}, {}, TOKENS) == ()  # nothing is stored yet
    assert lost({"tree": [{"path": "a", "sha": "abc"}]}, {"tree": [{"path": "a"}]}, TOKENS) == ("/body/tree/0/sha",)


def test_what_a_look_up_shows_a_name_to_stand_for() -> None:
    branch = Seen("/repos/o/r/git/ref/heads/main", {"ref": "refs/heads/main", "object": {"sha": "e46f"}})
    team = Seen("/orgs/o/teams", [{"id": 2, "name": "Edge"}, {"id": 3, "name": "Core"}])
    assert lost({"tree": "main"}, {"tree": "e46f"}, Survival(seen=[branch])) == ()
    assert lost({"parent": "Core"}, {"parent": 3}, Survival(seen=[team])) == ()
    assert lost({"parent": "Core"}, {"parent": 2}, Survival(seen=[team])) == ("/body/parent",)
    level = Seen("/priorityclasses", {"items": [{"metadata": {"name": "high"}, "value": 1000}]})
    assert lost({"priority": 1000}, {"priorityClassName": "high"}, Survival(seen=[level])) == ()
    left = Seen("/v1/charges/ch_1", {"amount": 500, "left": 300})
    assert lost({"amount": 500}, {"amount": 300}, Survival(seen=[left])) == ("/body/amount",)


def test_steps_hold_values_too() -> None:
    steps = [{"method": "POST", "path": "/labels", "body": {"name": "bug"}}]
    assert lost({"label": "bug"}, {}, Survival(steps=steps)) == ()


@pytest.mark.parametrize(
    ("method", "before", "after", "gone"),
    [
        ("POST", "/v1/charge", "/v1/charges", ()),
        ("POST", "/v1/charges/ch_1", "/v1/charges", ("/path",)),
        ("POST", "/repos/o/r/git/refs/refs/tags/x", "/repos/o/r/git/refs/tags/x", ()),
        ("GET", "/apis/apps/v2/deployments", "/apis/apps/v1/deployments", ()),
        ("POST", "/apis/apps/v2/deployments", "/apis/apps/v1/deployments", ("/path",)),
        ("GET", "/a%2Fb", "/a/b", ("/path",)),
    ],
)
def test_paths(method: str, before: str, after: str, gone: tuple[str, ...]) -> None:
    request = Request(method, before)
    assert losses(request, replace(request, path=after)) == gone


def test_a_path_keeps_what_moves_into_it() -> None:
    before = Request("POST", "/repos/labels", body={"owner": "o", "name": "bug"})
    after = replace(before, path="/repos/o/labels", body={"name": "bug"})
    assert losses(before, after) == ()


def test_a_collection_in_a_path_may_become_a_member() -> None:
    before = Request("POST", "/v1/charges/ch_1/refunds", body={"amount": 100})
    after = replace(before, path="/v1/refunds", body={"amount": 100, "charge": "ch_1"})
    assert losses(before, after) == ()
    assert losses(before, replace(after, body={"amount": 100})) == ("/path",)


def test_headers_that_only_say_how_it_is_written_are_no_values() -> None:
    before = Request("PUT", "/x", headers={"content-type": "text/plain", "if-match": '"1"', "x-tag": "t"}, body={})
    after = replace(before, headers={"content-type": "application/json"})
    assert losses(before, after) == ("/headers/if-match", "/headers/x-tag")
    renewed = replace(before, headers={**before.headers, "if-match": '"2"'})
    assert losses(before, renewed, TOKENS) == ()


def test_only_what_an_edit_touched_is_compared() -> None:
    before = Request("POST", "/x", {"page": "2"}, {}, {"a": 1, "b": 2})
    after = replace(before, query={}, body={"a": 9, "b": 9})
    assert losses(before, after, touched=["/body/b"]) == ("/body/b",)
    assert losses(before, after, touched=["/query/page"]) == ("/query/page",)
    assert losses(before, after) == ("/query/page", "/body/a", "/body/b")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text("ab/~", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON, JSON)
def test_nothing_is_lost_where_everything_stays(body: Any, other: Any) -> None:
    request = Request("POST", "/x", body=body)
    assert losses(request, replace(request, body=copy.deepcopy(body))) == ()
    assert losses(replace(request, body={"kept": body}), replace(request, body={"kept": body, "more": other})) == ()
    assert losses(replace(request, body={"old": body}), replace(request, body={"new": body})) == ()


@settings(max_examples=150, deadline=None)
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
