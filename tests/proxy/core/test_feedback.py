"""What several rules said becomes one object: within limits, without secrets, without anything invisible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.feedback import (
    FeedbackRejected,
    combine,
    drop_stray_paths,
    encode,
    mirror_retry_after,
)
from corrigible.proxy.core.limits import Limits
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.language.rule import Rule
from corrigible.rules.pack.load import load_pack
from corrigible.schema.exchange import Request
from tests._support.by_description import feedback_about
from tests._support.rows import rows

NONE: frozenset[str] = frozenset()


@pytest.fixture
def rules(write_pack: Callable[..., Path]) -> dict[str, Rule]:
    says = "suggest: [{action: ESCALATE, actor: somebody_else, message: m}]\n"
    return {rule.id[5:]: rule for rule in load_pack(write_pack(a=says, b=says)).rules}


def suggestion(name: str = "MODIFY_PARAMS", **members: Any) -> dict[str, Any]:
    return {"action": name, "message": "m", "parameters": {}, **members}


def spoken(
    rule: Rule,
    *suggestions: dict[str, Any],
    kind: str = "recovery_guidance",
    recovery: str = "correctable",
    retry: Mapping[str, Any] | None = None,
) -> RuleResult:
    return RuleResult(rule, suggestions or (suggestion(),), kind, recovery, retry, False)


def test_one_rule(rules: dict[str, Rule]) -> None:
    assert combine([spoken(rules["a"])]) == {
        "schema": "self-reflective-api/0.1",
        "type": "recovery_guidance",
        "message": "It is a.",
        "recovery": "correctable",
        "suggestions": [suggestion()],
    }


def test_several_errors_come_in_order_and_a_message_once(rules: dict[str, Rule]) -> None:
    one, two = suggestion(parameters={"n": 1}), suggestion(parameters={"n": 2})
    said = combine([spoken(rules["a"], one), spoken(rules["b"], two), spoken(rules["a"])])
    assert said["message"] == "It is a. It is b."
    assert said["suggestions"] == [one, two, suggestion()]


def test_a_terminal_answer_stands_alone(rules: dict[str, Rule]) -> None:
    final = spoken(rules["b"], suggestion("ESCALATE"), recovery="terminal", retry={"after_seconds": 5})
    said = combine([spoken(rules["a"], retry={"after_seconds": 1}), final, spoken(rules["a"])])
    assert (said["recovery"], said["message"], said["suggestions"]) == (
        "terminal",
        "It is b.",
        [suggestion("ESCALATE")],
    )
    assert "retry" not in said


def test_disambiguation_dominates(rules: dict[str, Rule]) -> None:
    said = combine([spoken(rules["a"]), spoken(rules["b"], kind="intent_disambiguation")])
    assert said["type"] == "intent_disambiguation"


@pytest.mark.parametrize(
    ("recoveries", "recovery"),
    [
        (["transient"], "transient"),
        (["transient", "transient"], "transient"),
        (["transient", "correctable"], "correctable"),
        (["correctable", "terminal"], "terminal"),
    ],
)
def test_recoveries(rules: dict[str, Rule], recoveries: list[str], recovery: str) -> None:
    assert combine([spoken(rules["a"], recovery=one) for one in recoveries])["recovery"] == recovery


def test_the_slowest_and_most_careful_pace_counts(rules: dict[str, Rule]) -> None:
    wait = {"same_request": True, "after_seconds": 5, "idempotency_key": "reuse"}
    edit = {"same_request": False, "idempotency_key": "new"}
    both = {"same_request": False, "after_seconds": 5, "idempotency_key": "new"}
    for paces in ([wait, edit], [edit, wait]):
        assert combine([spoken(rules["a"], retry=pace) for pace in paces])["retry"] == both
    assert combine([spoken(rules["a"], recovery="transient", retry=wait)])["retry"] == wait


def test_a_request_that_is_edited_is_not_the_same(rules: dict[str, Rule]) -> None:
    wait = spoken(rules["a"], suggestion("WAIT_AND_RETRY"), recovery="transient", retry={"same_request": True})
    edit = spoken(rules["b"], suggestion(patch=[{"op": "remove", "path": "/body/x"}]))
    assert combine([wait, edit])["retry"] == {"same_request": False}
    assert wait.retry == {"same_request": True}


@pytest.mark.parametrize(
    ("recovery", "retry", "seconds", "after"),
    [
        ("transient", None, 7, {"same_request": False, "after_seconds": 7}),
        ("transient", {"same_request": True, "after_seconds": 1}, 7, {"same_request": True, "after_seconds": 7}),
        ("correctable", {"after_seconds": 9}, 0, {"after_seconds": 0}),
        ("correctable", None, None, None),
        ("terminal", None, 7, None),
    ],
)
def test_the_upstream_s_own_wait_is_mirrored(recovery: str, retry: Any, seconds: float | None, after: Any) -> None:
    feedback = {"recovery": recovery} | ({"retry": retry} if retry else {})
    mirror_retry_after(feedback, seconds)
    assert feedback.get("retry") == after


def encoded(
    *suggestions: dict[str, Any], request: Request | None = None, secrets: frozenset[str] = NONE, **limits: int
) -> Any:
    feedback: dict[str, Any] = {"message": "m", "suggestions": list(suggestions)}
    data = encode(feedback, request or Request("POST", "/x"), secrets, Limits(**limits))
    assert orjson.loads(data) == feedback
    return [one.get("message") for one in feedback["suggestions"]]


def member(message: str, group: str, relation: str = "all", **more: Any) -> dict[str, Any]:
    return suggestion(**{"message": message, "group": {"id": group, "relation": relation}, **more})


@pytest.mark.parametrize(
    ("suggestions", "most", "left"),
    [
        ([suggestion(message=str(n)) for n in range(5)], 3, ["0", "1", "2"]),
        ([suggestion(message="0"), member("1", "g"), member("2", "g")], 2, ["0"]),
        ([suggestion(message="0"), member("1", "g", "sequence"), member("2", "g", "sequence")], 2, ["0"]),
        ([member("0", "g", "one_of"), member("1", "g", "one_of"), member("2", "g", "one_of")], 2, ["0", "1"]),
        ([member("0", "g"), member("1", "h"), member("2", "h")], 2, ["0"]),
    ],
)
def test_the_limit_of_suggestions_cuts_whole_groups(suggestions: list[Any], most: int, left: list[str]) -> None:
    assert encoded(*suggestions, suggestions=most) == left


def test_the_limit_of_bytes_cuts_whole_groups() -> None:
    pad: dict[str, Any] = {"parameters": {"x": "y" * 100}}
    assert encoded(suggestion(message="0"), member("1", "g", **pad), member("2", "g", **pad), feedback=400) == ["0"]
    assert encoded(*(member(str(n), "g", "one_of", **pad) for n in range(3)), feedback=480) == ["0", "1"]


def test_what_cannot_be_cut_is_withheld() -> None:
    with pytest.raises(FeedbackRejected, match=r"^\d+ bytes of feedback, the limit is 100$"):
        encoded(suggestion(message="x" * 100), feedback=100)
    with pytest.raises(FeedbackRejected, match=r"^a group larger than the limit$"):
        encoded(member("0", "g"), member("1", "g"), suggestions=1)


INVISIBLE = [
    "\x00", "\x1b", "\x7f", "\x85", "\u00ad", "\u061c", "\u200b", "\u200d", "\u200f", "\u2028", "\u202e", "\u2066",
    "\ufe0f", "\ufeff", "\U000e0041", "\U000e0100",
]  # fmt: skip


@rows("mark", INVISIBLE, ids=ascii)
def test_invisible_characters_never_leave(mark: str) -> None:
    text = f"a{mark}b"
    feedback = {
        "message": text,
        "suggestions": [
            suggestion(parameters={text: [text]}),
            suggestion(message="edit", patch=[{"op": "add", "path": "/body/x", "value": text}]),
            suggestion(message="step", steps=[{"method": "GET", "path": f"/{text}"}]),
            member("grouped", "g"),
            member("edit", "g", patch=[{"op": "remove", "path": f"/body/{text}"}]),
            suggestion(message="last", patch=[{"op": "add", "path": "/body/x", "value": "plain"}]),
        ],
    }
    said = orjson.loads(encode(feedback, Request("POST", "/x"), NONE, Limits()))
    assert said == feedback
    assert said["message"] == "ab"
    assert [s["message"] for s in said["suggestions"]] == ["m", "last"]
    assert said["suggestions"][0]["parameters"] == {"ab": ["ab"]}


def test_visible_characters_stay() -> None:
    text = 'tab\t, line\n, "quoted" \\ backslash, \u00e9\u4e2d\U0001f600'
    assert encoded(suggestion(message=text, patch=[{"op": "add", "path": "/body/x", "value": text}])) == [text]


def test_an_edit_of_nothing_but_invisible_characters_is_withheld() -> None:
    with pytest.raises(FeedbackRejected, match=r"^an edit of invisible characters cannot be shown$"):
        encoded(suggestion(patch=[{"op": "add", "path": "/body/x", "value": "\u200b"}]))


SECRETS = frozenset({"cvc", "card", "token"})


@rows(
    ("body", "query", "parameters", "kept"),
    [
        ({"token": "s3cr3t-value"}, {}, {"note": "see s3cr3t-value!"}, False),
        ({"token": 's3"cr\u00e9t'}, {}, {"note": 's3"cr\u00e9t'}, False),
        ({"a": [{"token": "s3cr3t"}]}, {}, {"note": ["s3cr3t"]}, False),
        ({}, {"token": "s3cr3t"}, {"note": "s3cr3t"}, False),
        ({}, {"card[number]": "4242424242424242"}, {"note": "4242424242424242"}, False),
        ({}, {"a[token][0]": ["x", "s3cr3t"]}, {"note": "s3cr3t"}, False),
        ({"card": {"number": "4242424242424242", "exp": ["12/30"]}}, {}, {"note": "4242424242424242"}, False),
        ({"card": {"number": "4242424242424242", "exp": ["12/30"]}}, {}, {"note": "12/30"}, False),
        ({"token": 123456}, {}, {"n": 123456}, False),
        ({"cvc": "123"}, {}, {"note": "123"}, False),
        ({"token": "1234"}, {}, {"note": "pin 1234"}, False),
        ({"cvc": 123}, {}, {"note": {"deep": ["123"]}}, False),
        ({"cvc": "123"}, {}, {"amount": 12300}, True),
        ({"cvc": "123"}, {}, {"x": None, "y": [True, False]}, True),
        ({"cvc": "123"}, {}, {"x": None, "y": [True, 123]}, False),
        ({"cvc": "12"}, {}, {"amount": 12}, True),
        ({"cvc": True, "token": None}, {}, {"x": True}, True),
        ({"other": "s3cr3t"}, {}, {"note": "s3cr3t"}, True),
    ],
)
def test_secrets_of_the_request(body: Any, query: Any, parameters: Any, kept: bool) -> None:
    request = Request("POST", "/x", query=query, body=body)
    if kept:
        assert encoded(suggestion(parameters=parameters), request=request, secrets=SECRETS) == ["m"]
        return
    for where in (suggestion(parameters=parameters), suggestion(steps=[{"body": parameters}])):
        with pytest.raises(FeedbackRejected, match=r"^a secret of the request would be repeated$"):
            encoded(where, request=request, secrets=SECRETS)


@rows(
    ("parts", "said", "kept"),
    [
        ({"headers": {"authorization": "Bearer s3cr3t-value"}}, "s3cr3t-value", False),
        ({"headers": {"authorization": "Bearer s3cr3t-value"}}, "not S3CR3T-VALUE", False),
        ({"headers": {"authorization": 'Token token="s3cr3t9"'}}, "s3cr3t9", False),
        ({"headers": {"authorization": "Basic YWxpY2U6czNjcjN0"}}, "s3cr3t", False),  # alice:s3cr3t
        ({"headers": {"cookie": "theme=dark; session=s3cr3t-value"}}, "s3cr3t-value", False),
        ({"headers": {"x-api-key": "s3cr3t-value"}}, "s3cr3t-value", False),
        ({"headers": {"x-request-id": "s3cr3t-value"}}, "s3cr3t-value", True),
        ({"query": {"access_token": ["s3cr3t-value"]}}, "s3cr3t-value", False),
        ({"query": {"key": "s3cr3t-value"}}, "s3cr3t-value", False),
        ({"body": {"auth": {"clientKeys": ["s3cr3t-value"]}}}, "s3cr3t-value", False),
        ({"body": {"clientKeys": ["\ud800 s3cr3t-value"]}}, "another", True),
        ({"body": {"note": "s3cr3t-value"}}, "s3cr3t-value", True),
    ],
)
def test_credentials_of_the_request(parts: dict[str, Any], said: str, kept: bool) -> None:
    request = Request("POST", "/x", **parts)
    asked = suggestion(
        placeholders=[{"pointer": "/body/note", "ask": "user", "schema": {"type": "string", "enum": ["a", said]}}]
    )
    encoded(asked, request=request)
    assert ("enum" in asked["placeholders"][0]["schema"]) is kept  # it is asked without the values
    shown = (
        suggestion(parameters={"note": said}),
        suggestion(placeholders=[{"pointer": f"/body/{said}", "ask": "user", "schema": {}}]),
    )
    for one in shown:
        with nullcontext() if kept else pytest.raises(FeedbackRejected, match="a secret of the request"):
            assert encoded(one, request=request) == ["m"]


def test_a_name_of_the_request_gives_no_credential_away() -> None:
    request = Request("POST", "/x", headers={"x-api-key": "customer9"}, body={"customer9": 1})
    assert encoded(suggestion(patch=[{"op": "remove", "path": "/body/customer9"}]), request=request) == ["m"]


def test_a_secret_in_another_form_is_asked_for() -> None:
    request = Request("POST", "/login", body={"password": 100920})
    cast = suggestion(
        parameters={"password": "100920"},
        patch=[
            {"op": "test", "path": "/body/password", "value": 100920},
            {"op": "replace", "path": "/body/password", "value": "100920"},
        ],
        applicability="MAYBE_INCORRECT",
    )
    feedback = {"type": "recovery_guidance", "message": "m", "recovery": "correctable", "suggestions": [cast]}
    data = encode(feedback, request, frozenset({"password"}), Limits())
    assert b"100920" not in data
    (asked,) = orjson.loads(data)["suggestions"]
    assert asked["placeholders"] == [{"pointer": "/body/password", "ask": "agent", "schema": {"type": "string"}}]
    assert (asked["applicability"], asked["parameters"], "patch" in asked) == ("HAS_PLACEHOLDERS", {}, False)


def test_a_secret_in_another_form_beside_another_edit_is_not_repeated() -> None:
    request = Request("POST", "/login", body={"password": 100920, "old": 1})
    patch = [{"op": "remove", "path": "/body/old"}, {"op": "replace", "path": "/body/password", "value": "100920"}]
    feedback = {
        "type": "recovery_guidance",
        "message": "m",
        "recovery": "correctable",
        "suggestions": [suggestion(parameters={}, patch=patch)],
    }
    with pytest.raises(FeedbackRejected, match="a secret of the request would be repeated"):
        encode(feedback, request, frozenset({"password"}), Limits())


@rows(
    ("value", "tested"),
    [
        ({"type": "thinking", "signature": "EqQBCg/YAhIM"}, {"/type": "thinking"}),
        ([{"text": "a", "signature": "EqQBCg/YAhIM"}, 5, []], {"/0/text": "a", "/1": 5, "/2": []}),
        ({"signature": "EqQBCg/YAhIM", "copy": "of EqQBCg/YAhIM", "n": None}, {"/n": None}),
    ],
)
def test_what_holds_a_secret_and_is_left_out_is_tested_by_its_other_values(value: Any, tested: dict[str, Any]) -> None:
    request = Request("POST", "/x", body={"parts": [value]})
    patch = [{"op": "test", "path": "/body/parts/0", "value": value}, {"op": "remove", "path": "/body/parts/0"}]
    feedback = {"message": "M.", "suggestions": [suggestion(patch=patch)]}
    (*tests, last) = orjson.loads(encode(feedback, request, NONE, Limits()))["suggestions"][0]["patch"]
    assert tests == [{"op": "test", "path": f"/body/parts/0{at}", "value": one} for at, one in tested.items()]
    assert last == patch[1]


def test_what_is_longer_without_a_secret_stays_within_the_limit() -> None:
    value = {"signature": "EqQBCg/YAhIM", "numbers": [*range(20)]}
    feedback = {"message": "M.", "suggestions": [suggestion(patch=[{"op": "test", "path": "/body/a", "value": value}])]}
    limits = Limits(feedback=len(orjson.dumps(feedback)))
    with pytest.raises(FeedbackRejected, match="a secret of the request would be repeated"):
        encode(feedback, Request("POST", "/x", body={"a": value}), NONE, limits)


def test_an_element_that_is_only_a_secret_is_not_repeated() -> None:
    value = {"signature": "EqQBCg/YAhIM"}
    patch = [{"op": "test", "path": "/body/a", "value": value}]
    with pytest.raises(FeedbackRejected, match="a secret of the request would be repeated"):
        encode(
            {"message": "M.", "suggestions": [suggestion(patch=patch)]},
            Request("POST", "/x", body={"a": value}),
            NONE,
            Limits(),
        )


def test_a_secret_that_a_rule_gives_stays() -> None:
    request = Request("POST", "/login", body={"password": "hunter22"})
    given = suggestion(parameters={}, patch=[{"op": "replace", "path": "/body/password", "value": "pm_card_visa"}])
    feedback = {"type": "recovery_guidance", "message": "m", "recovery": "correctable", "suggestions": [given]}
    (kept,) = orjson.loads(encode(feedback, request, frozenset({"password"}), Limits()))["suggestions"]
    assert kept["patch"][0]["value"] == "pm_card_visa"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/body/passwrd", [{"op": "move", "from": "/body/passwrd", "path": "/body/password"}]),
        ("/body/users/0/passwrd", None),  # inside an array the test is needed, and the test would tell
    ],
)
def test_a_secret_under_a_misspelt_name_is_a_secret(place: str, said: list[dict[str, str]] | None) -> None:
    body = {"passwrd": "open sesame", "users": [{"passwrd": "open sesame"}]}
    right = place.replace("passwrd", "password")
    edit = suggestion(
        parameters={"passwrd": None, "password": "open sesame"},
        patch=[{"op": "test", "path": place, "value": "open sesame"}, {"op": "move", "from": place, "path": right}],
    )
    feedback = {"message": "m", "recovery": "correctable", "suggestions": [edit]}
    request, secrets = Request("POST", "/x", body=body), frozenset({"password"})
    if said is None:
        with pytest.raises(FeedbackRejected):
            encode(feedback, request, secrets, Limits())
        return
    shown = orjson.loads(encode(feedback, request, secrets, Limits()))["suggestions"][0]
    assert (shown["patch"], shown["parameters"]) == (said, {})


@pytest.mark.parametrize("name", ["passwrd", "pasword", "api_kye", "secrett"])
def test_what_is_left_out_under_a_misspelt_name_of_a_secret_is_not_repeated(name: str) -> None:
    request = Request("POST", "/x", body={name: "open sesame"})
    feedback = feedback_about(build_engine(()), request, 400, {"message": f"unknown field {name}"})
    assert feedback is not None
    assert "open sesame" not in str(feedback)
    assert feedback["suggestions"][0]["patch"] == [{"op": "remove", "path": f"/body/{name}"}]


def test_a_secret_is_one_if_only_the_misspelt_name_says_so() -> None:
    body = {"old": "a", "new_password": "open sesame"}
    edit = suggestion(
        parameters={"new_password": None, "new": "open sesame"},
        patch=[{"op": "move", "from": "/body/new_password", "path": "/body/new"}],
    )
    feedback = {"message": "m", "recovery": "correctable", "suggestions": [edit]}
    data = encode(feedback, Request("POST", "/x", body=body), frozenset({"new_password"}), Limits())
    assert b"open sesame" not in data
    assert orjson.loads(data)["suggestions"][0]["patch"] == edit["patch"]


@pytest.mark.parametrize(
    ("suggestions", "left"),
    [
        ([suggestion("ESCALATE"), suggestion("MODIFY_PARAMS")], 1),
        ([suggestion("TELL_A_PERSON", base_action="ESCALATE"), suggestion()], 1),
        ([suggestion("MODIFY_PARAMS"), suggestion("ESCALATE")], 2),
    ],
)
def test_what_ends_the_way_has_nothing_beside_it(rules: dict[str, Rule], suggestions: list[Any], left: int) -> None:
    assert len(combine([spoken(rules["a"], *suggestions, recovery="terminal")])["suggestions"]) == left
    assert len(combine([spoken(rules["a"], *suggestions)])["suggestions"]) == 2


def test_a_wait_alone_may_repeat_the_request(rules: dict[str, Rule]) -> None:
    edit = suggestion(patch=[{"op": "remove", "path": "/body/x"}])
    same = {"same_request": True}
    assert combine([spoken(rules["a"], retry=same)])["retry"] == same
    assert combine([spoken(rules["a"], edit, retry={"after_seconds": 1})])["retry"] == {"after_seconds": 1}
    assert combine([spoken(rules["a"], edit, recovery="transient", retry=same)])["retry"] == same
    assert combine([spoken(rules["a"], edit, retry=same)])["retry"] == {"same_request": False}
    assert combine([spoken(rules["a"], edit, suggestion(), retry={"after_seconds": 1})])["retry"] == {
        "after_seconds": 1
    }


def to_path(path: str, verb: str = "replace") -> dict[str, Any]:
    return suggestion(patch=[{"op": verb, "path": "/path", "value": path}])


def ending(path: Any, action: str = "ALREADY_DONE") -> dict[str, Any]:
    return suggestion(action, parameters={"path": path})


@rows(
    ("one", "sent"),
    [
        (to_path("/a/b"), True),
        (to_path("/a/../b"), False),
        (to_path("//other.test/b"), False),
        (to_path("/odd/../x"), True),
        (to_path("/a/../b", "test"), True),
        (suggestion(patch=[{"op": "add", "path": "/body/path", "value": "/a/../b"}]), True),
        (suggestion(patch=[{"op": "remove", "path": "/path"}]), True),
        (suggestion(steps=[{"method": "GET", "path": "/a"}, {"method": "GET", "path": "/a/../b"}]), False),
        (suggestion(steps=[{"method": "GET", "path": "/a"}]), True),
        (ending("/a"), True),
        (ending("/a?b=/../c"), True),
        (ending("/a/../b"), False),
        (ending("/a/../b?c"), False),
        (ending("a/../b"), True),
        (ending("a/../b/"), True),
        (ending("/a/../b/"), False),
        (ending(["/a/../b"]), True),
        (ending("/a/../b", "MODIFY_PARAMS"), True),
    ],
)
def test_no_suggestion_leads_to_a_stray_path(one: dict[str, Any], sent: bool) -> None:
    request = Request("POST", "/odd/../x")
    feedback = {"suggestions": [suggestion(), one]}
    drop_stray_paths(feedback, request)
    assert feedback["suggestions"] == ([suggestion(), one] if sent else [suggestion()])
    if not sent:
        with pytest.raises(FeedbackRejected, match="a path that leaves its place"):
            drop_stray_paths({"suggestions": [one]}, request)


def test_a_stray_path_takes_its_group_along() -> None:
    for relation, left in (("all", 1), ("sequence", 1), ("one_of", 2)):
        group = {"group": {"id": "1", "relation": relation}}
        feedback = {"suggestions": [{**suggestion(), **group}, {**to_path("/../b"), **group}, suggestion()]}
        drop_stray_paths(feedback, Request("POST", "/x"))
        assert len(feedback["suggestions"]) == left


def test_just_within_the_limits_nothing_is_cut() -> None:
    three = [suggestion(message=str(n)) for n in range(3)]
    size = len(orjson.dumps({"message": "m", "suggestions": three}))
    assert encoded(*three, feedback=size, suggestions=3) == ["0", "1", "2"]
    assert encoded(*three, feedback=size - 1) == ["0", "1"]
