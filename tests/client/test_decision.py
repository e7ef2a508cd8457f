"""What a policy makes of feedback: what is sent unasked, what is asked, and why nothing is sent."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.client.answer import Answer
from corrigible.client.driver import run, run_async
from corrigible.client.policy import OnRefusal, Policy, Proposal, Question, policy_of
from corrigible.client.sent_request import SentRequest
from corrigible.schema import Applicability
from corrigible.schema.printable import printable
from tests._support.refused_call import ACCEPTED, NEAR, ORDER, REPAIR, Server, edit, refusal, sent, yes
from tests._support.rows import rows


class TestCap:
    MAYBE: Final = Policy(on_refusal=OnRefusal.REPAIR, cap=Applicability.MAYBE_INCORRECT)

    def test_the_reason_names_what_is_missing_and_what_would_send_it(self) -> None:
        unproven = edit("/body/sort", "neu", "new", verification=None)
        maybe = edit("/body/sort", "neu", "new", applicability="MAYBE_INCORRECT")
        ways = '`cap="MAYBE_INCORRECT"` or `on_refusal="confirm"` would send it'
        for suggestion, reason in (
            (maybe, "cap is MACHINE_APPLICABLE, the correction is MAYBE_INCORRECT"),
            (unproven, "counts as MAYBE_INCORRECT without a dry run or a look-up"),
        ):
            outcome = run(sent(ORDER), refusal(suggestion), REPAIR, Server())
            assert outcome.not_sent.endswith(f"{reason}; {ways}")
        words = {"action": "MODIFY_PARAMS", "parameters": {}, "message": "Ask for a raise."}
        outcome = run(sent(ORDER), refusal(words), self.MAYBE, Server())
        assert outcome.not_sent == "the correction has no edit of the request: somebody has to do what it says"

    def test_a_lower_cap_sends_what_is_less_certain(self) -> None:
        maybe = edit("/body/sort", "neu", "new", applicability="MAYBE_INCORRECT")
        assert run(sent(ORDER), refusal(maybe), self.MAYBE, Server(ACCEPTED)).answer is ACCEPTED

    def test_it_never_sends_what_needs_a_confirmation(self) -> None:
        for safety in ({"changes_intent": True}, {"requires_confirmation": True}, {"loses": ["/body/sort"]}):
            server = Server()
            run(sent(ORDER), refusal(edit("/body/sort", "neu", "new", safety=safety)), self.MAYBE, server)
            assert server.requests == []

    def test_placeholders_are_no_cap(self) -> None:
        with pytest.raises(ValueError, match="asked for"):
            policy_of(None, cap="HAS_PLACEHOLDERS")


class TestReasons:
    """Who lets corrections be sent is told why one was not."""

    def test_a_closed_choice(self) -> None:
        outcome = run(sent(ORDER), refusal(*TestAsk.CHOICES, type="intent_disambiguation"), REPAIR, Server())
        assert "Choose one:" in outcome.explanation
        assert outcome.explanation.endswith("Not sent: somebody has to choose first.")

    def test_a_missing_value(self) -> None:
        outcome = run(sent(ORDER), refusal(TestAsk.MISSING), REPAIR, Server())
        assert "ask the user" in outcome.explanation
        assert outcome.explanation.endswith("Not sent: a value is missing, which has to be given first.")

    def test_information(self) -> None:
        outcome = run(sent(ORDER), refusal(NEAR, type="confidence_signal"), REPAIR, Server())
        assert outcome.explanation.endswith("Not sent: nothing has to be corrected.")

    def test_an_end_says_it_itself(self) -> None:
        end = {"action": "NO_RECOVERY_AVAILABLE", "parameters": {}}
        assert "Not sent" not in run(sent(ORDER), refusal(end), REPAIR, Server()).explanation

    def test_who_only_explains_is_told_no_reason(self) -> None:
        outcome = run(sent(ORDER), refusal(TestAsk.MISSING), Policy(), Server())
        assert (outcome.not_sent, "Not sent" in outcome.explanation) == ("", False)


class TestOperations:
    """What may be sent is the operation that was called, and those that the policy names."""

    MOVED: Final = {**NEAR, "patch": [{"op": "replace", "path": "/path", "value": "/v1/orders/7"}]}
    DELETED: Final = {**NEAR, "patch": [{"op": "replace", "path": "/method", "value": "DELETE"}]}
    STEPPED: Final = {**NEAR, "steps": [{"method": "POST", "path": "/v1/lists"}]}

    @rows("agreed", [False, True])
    @rows(
        ("suggestion", "operation", "named"),
        [
            (MOVED, "POST /v1/orders/{id}", "POST /v1/orders/7"),
            (DELETED, "DELETE /v1/orders", "DELETE /v1/orders"),
            (STEPPED, "POST /v1/lists", "POST /v1/lists"),
        ],
    )
    def test_another_is_not_sent_and_the_text_says_so(
        self, suggestion: dict[str, Any], operation: str, named: str, agreed: bool
    ) -> None:
        asked: list[Proposal] = []

        def confirm(proposal: Proposal) -> bool:
            asked.append(proposal)
            return True

        ways = {"on_refusal": OnRefusal.CONFIRM, "confirm": confirm} if agreed else {"on_refusal": OnRefusal.REPAIR}
        flagged = {**suggestion, "safety": {"changes_intent": agreed}}
        server = Server()
        others = ["GET /v1/orders/{id}", "POST /v1/lists/{id}", "PUT /v1/orders"]
        outcome = run(sent(ORDER), refusal(flagged), Policy(**ways, operations=others), server)
        assert (server.requests, asked) == ([], [])
        assert outcome.explanation.endswith(f"Not sent: {named} is none of the operations that may be called here.")
        allowed = Server(ACCEPTED, ACCEPTED)
        run(sent(ORDER), refusal(flagged), Policy(**ways, operations=[*others, operation]), allowed)
        assert (len(asked), [one.method for one in allowed.requests[:1]]) == (
            agreed,
            [named.partition(" ")[0]] if agreed else [],  # no write but the one that was called goes unasked
        )

    def test_the_operation_that_was_called_needs_no_mention(self) -> None:
        policy = Policy(on_refusal=OnRefusal.REPAIR, operations=[])
        assert run(sent(ORDER), refusal(NEAR), policy, Server(ACCEPTED)).answer is ACCEPTED

    def test_what_is_no_operation_is_a_mistake(self) -> None:
        with pytest.raises(ValueError, match=r"'refund' is no method and path, such as 'GET /v1/charges/\{charge\}'"):
            Policy(operations=["refund"])
        with pytest.raises(TypeError, match="operations='GET /a': give a list"):
            Policy(operations="GET /a")


def leaves_of(value: Any) -> list[tuple[str, Any]]:
    """Return the values of JSON by their pointers."""
    if not isinstance(value, dict | list):
        return [("", value)]
    named = value.items() if isinstance(value, dict) else enumerate(value)
    spelled = [(str(name).replace("~", "~0").replace("/", "~1"), inner) for name, inner in named]
    return [(f"/{name}{at}", leaf) for name, inner in spelled for at, leaf in leaves_of(inner)]


class TestConfirm:
    INTENT = edit("/body/sort", "neu", "new", applicability="MAYBE_INCORRECT", safety={"changes_intent": True})

    @pytest.mark.parametrize(("agreed", "status"), [(True, 200), (False, 400)])
    def test_the_callback_decides_about_what_is_not_certain(self, agreed: bool, status: int) -> None:
        asked: list[Proposal] = []

        def confirm(proposal: Proposal) -> bool:
            asked.append(proposal)
            return agreed

        policy = Policy(on_refusal=OnRefusal.CONFIRM, confirm=confirm)
        maybe = edit("/body/count", 1, 2, applicability="MAYBE_INCORRECT")
        certain = edit("/body/name", "a", "b")
        outcome = run(sent({**ORDER, "name": "a"}), refusal(self.INTENT, maybe, certain), policy, Server(ACCEPTED))
        assert outcome.answer.status == status
        assert [one.suggestion.patch[0].path for one in asked] == ["/body/sort", "/body/count"][: 2 if agreed else 1]
        assert agreed or outcome.explanation.endswith("Not sent: the correction was not confirmed.")

    def test_a_person_sees_the_call_that_would_be_sent(self) -> None:
        asked: list[Proposal] = []

        def confirm(proposal: Proposal) -> bool:
            asked.append(proposal)
            return False

        step = {"method": "POST", "path": "/v1/lists", "body": {"name": "new"}}
        moved = {
            "action": "MODIFY_PARAMS",
            "parameters": {},
            "patch": [{"op": "add", "path": "/query/a", "value": "1"}],
        }
        policy = Policy(on_refusal=OnRefusal.CONFIRM, confirm=confirm)
        answer = refusal(
            {**self.INTENT, "message": "New\u202e first.", "steps": [step]}, moved, retry={"after_seconds": 2}
        )
        run(sent(ORDER), answer, policy, Server())
        (proposal,) = asked
        assert str(proposal).splitlines() == [
            "Refused.",
            "Correction, only if the user agrees (it changes what was asked for): New first.",
            '  first send POST /v1/lists body {"name": "new"}',
            '  /body/sort: "neu" -> "new"',
            "To be sent after 2 s:",
            '  first POST /v1/lists body {"name": "new"}',
            "  POST /v1/orders",
            '    /body/sort: "neu" -> "new"',
            '    /query/a: -> "1"',
        ]
        assert (proposal.request.path, proposal.request.body["sort"]) == ("/v1/orders", "new")
        assert [one.path for one in proposal.steps] == ["/v1/lists"]

    @staticmethod
    def shown(suggestion: dict[str, Any], first: SentRequest) -> tuple[list[str], str]:
        """Return what is asked, and why it is not."""
        asked: list[str] = []

        def confirm(proposal: Proposal) -> bool:
            asked.append(proposal.text)
            return False

        policy = Policy(on_refusal=OnRefusal.CONFIRM, confirm=confirm)
        whole = {"action": "MODIFY_PARAMS", "parameters": {}, "safety": {"changes_intent": True}, **suggestion}
        return asked, run(first, refusal(whole), policy, Server()).not_sent

    TAIL: Final = "ann" + "\u200b" * 170 + " and PAY 9999"
    """Less than 1000 characters, and more once it is escaped."""

    @rows(
        "suggestion",
        [
            {"patch": [{"op": "add", "path": "/body/to", "value": TAIL}]},
            {"patch": [{"op": "add", "path": "/body/to", "value": {TAIL: 1}}]},
            {"parameters": {"to": ["\ue000" * 170, TAIL]}},
            {"patch": [{"op": "add", "path": "/body/a", "value": 1}],
             "steps": [{"method": "POST", "path": "/v1/pay", "body": {"to": TAIL}}]},
            {"patch": [{"op": "add", "path": "/body/a", "value": 1}],
             "steps": [{"method": "POST", "path": "/v1/pay", "query": {TAIL: "1"}}]},
            {"patch": [{"op": "add", "path": "/body/a", "value": 1}],
             "steps": [{"method": "POST", "path": "/v1/pay", "headers": {"a" * 990: "to me"}}]},
        ],
    )  # fmt: skip
    def test_what_a_person_is_asked_about_is_shown_whole_or_not_asked(self, suggestion: dict[str, Any]) -> None:
        asked, reason = self.shown(suggestion, sent(ORDER))
        if not asked:
            assert re.search(r"the correction has a value of \d+ characters, more than the 1000", reason)
        else:
            assert "(cut" not in asked[0] and "PAY 9999" in asked[0]

    def test_a_value_that_no_line_of_the_call_repeats_is_not_cut_either(self) -> None:
        patch = [{"op": "add", "path": "/body/a", "value": {"b": "x" * 900, "c": "y" * 900}}]
        asked, _ = self.shown({"patch": patch}, sent(ORDER))
        assert len(asked) == 1 and "(cut" not in asked[0]

    @pytest.mark.parametrize(
        "name", ["x: 1 -> 2\n\nNothing is sent.\n\n  GET /v1/a\n    /body/y", "a\tb", "a\r", "\x85b"]
    )
    def test_a_name_is_one_line_that_no_other_is_read_from(self, name: str) -> None:
        asked, _ = self.shown({"parameters": {name: 1}}, sent(ORDER))
        lines, pointer = asked[0].splitlines(), "/body/" + name.replace("/", "~1")
        quoted = printable(json.dumps(pointer, ensure_ascii=False))
        assert lines[-3:-1] == ["To be sent:", "  POST /v1/orders"]
        assert lines[-1] == f"    {quoted}: -> 1"
        assert len(lines) == 6

    def test_a_path_is_shown_as_it_is_sent(self) -> None:
        path = "/v1/a, instead of POST /v1/b"
        asked, _ = self.shown({"patch": [{"op": "replace", "path": "/path", "value": path}]}, sent(ORDER))
        assert asked[0].splitlines()[-1] == f"  POST {path.replace(' ', '%20')}, instead of POST /v1/orders"

    @pytest.mark.parametrize(
        "suggestion",
        [
            {"patch": [{"op": "replace", "path": "/path", "value": "/v1/accounts/delete"}]},
            {"parameters": {"note": "of accounts"}},
            {"parameters": {"accounts": 1}},
            {"parameters": {"a": 1}, "steps": [{"method": "POST", "path": "/v1/accounts"}]},
        ],
    )
    def test_what_would_be_hidden_in_a_change_is_not_asked_about(self, suggestion: dict[str, Any]) -> None:
        basic = base64.b64encode(b"accounts:secret").decode()
        asked, reason = self.shown(suggestion, sent(ORDER, Authorization=f"Basic {basic}"))
        assert (asked, reason != "the correction was not confirmed") == ([], True)
        assert "accounts" not in reason and "credential" in reason
        asked, _ = self.shown(
            {"parameters": {"a": 1}, "message": "Of accounts."}, sent(ORDER, Authorization=f"Basic {basic}")
        )
        assert "Of (hidden)." in asked[0]

    def test_a_path_that_stays_may_hold_what_is_hidden(self) -> None:
        asked, _ = self.shown({"parameters": {"a": 1}}, replace(sent(ORDER), hidden=frozenset({"orders"})))
        assert asked[0].splitlines()[-2:] == ["  POST /v1/(hidden)", "    /body/a: -> 1"]

    NASTY: Final = st.text(list('ab/~:\\"> -\n\t\r\u200b\u202e\u2028\x85\u3000\U000e0041\u00e9'), max_size=12)
    VALUES: Final = st.one_of(NASTY, st.integers(), st.booleans(), st.lists(NASTY, min_size=1, max_size=2))

    @given(st.dictionaries(NASTY, VALUES, min_size=1, max_size=4))
    def test_from_what_is_shown_all_that_is_sent_can_be_read(self, added: dict[str, Any]) -> None:
        asked, _ = self.shown({"patch": [{"op": "add", "path": "/body/new", "value": added}]}, sent(ORDER))
        lines = asked[0].splitlines()
        read = dict[str, Any]()
        for line in lines[lines.index("  POST /v1/orders") + 1 :]:
            text, quoted = line.removeprefix("    "), line.startswith('    "')
            end = json.JSONDecoder().raw_decode(text)[1] if quoted else text.index(": -> ")
            pointer = json.loads(text[:end] if quoted else '"{}"'.format(text[:end].replace('"', '\\"')))
            value = json.loads(text[end:].removeprefix(": -> "))
            read[pointer] = value
        leaves = {f"/body/new{at}": value for at, value in leaves_of(added)}
        assert read == leaves

    def test_confirm_without_a_callback_is_a_mistake(self) -> None:
        with pytest.raises(ValueError, match="needs a `confirm`"):
            Policy(on_refusal=OnRefusal.CONFIRM)

    def test_a_coroutine_where_nothing_awaits_it_is_a_mistake(self) -> None:
        async def confirm(_: Proposal) -> bool:
            return True

        with pytest.raises(TypeError, match="plain functions"):
            run(sent(ORDER), refusal(self.INTENT), Policy(on_refusal=OnRefusal.CONFIRM, confirm=confirm), Server())

    def test_an_asynchronous_client_may_have_one(self) -> None:
        server = Server(ACCEPTED)

        async def confirm(_: Proposal) -> bool:
            return True

        async def send(request: SentRequest) -> Answer:
            return server(request)

        policy = Policy(on_refusal=OnRefusal.CONFIRM, confirm=confirm)
        outcome = asyncio.run(run_async(sent(ORDER), refusal(self.INTENT), policy, send))
        assert outcome.answer is ACCEPTED


def answering(*answers: Any) -> tuple[list[Question], Callable[[Question], Any]]:
    asked: list[Question] = []
    left = list(answers)

    def ask(question: Question) -> Any:
        asked.append(question)
        return left.pop(0)

    return asked, ask


PASSWORD: Final = {"pointer": "/body/password"}


class TestAsk:
    MISSING: Final[dict[str, Any]] = {
        "action": "MODIFY_PARAMS",
        "parameters": {},
        "message": "Give the name.",
        "applicability": "HAS_PLACEHOLDERS",
        "placeholders": [{"pointer": "/body/owner/name", "ask": "user"}],
    }

    def test_a_value_that_is_given_is_put_where_it_belongs(self) -> None:
        asked, ask = answering("Ann")
        server = Server(ACCEPTED)
        run(sent(ORDER), refusal(self.MISSING, NEAR), Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert server.bodies == [{"sort": "new", "count": 1, "owner": {"name": "Ann"}}]
        assert [(one.message, one.placeholder and one.placeholder.pointer) for one in asked] == [
            ("Give the name.", "/body/owner/name")
        ]

    @pytest.mark.parametrize(
        ("body", "pointer", "after"),
        [
            ({"tags": ["a", ""]}, "/body/tags/1", {"tags": ["a", "v"]}),
            ({"tags": ["a"]}, "/body/tags/-", {"tags": ["a", "v"]}),
            ({"name": ""}, "/body/name", {"name": "v"}),
            ({"x": 1}, "/body/a~1b/c", {"x": 1, "a/b": {"c": "v"}}),
        ],
    )
    def test_each_place_takes_a_value(self, body: Any, pointer: str, after: Any) -> None:
        _, ask = answering("v")
        server = Server(ACCEPTED)
        missing = {**self.MISSING, "parameters": {}, "placeholders": [{"pointer": pointer}]}
        run(sent(body), refusal(missing), Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert server.bodies == [after]

    def test_parameters_and_values_go_together(self) -> None:
        _, ask = answering("Ann")
        server = Server(ACCEPTED)
        missing = {**self.MISSING, "parameters": {"count": 2}}
        run(sent(ORDER), refusal(missing), Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert server.bodies == [{"sort": "neu", "count": 2, "owner": {"name": "Ann"}}]

    @pytest.mark.parametrize(
        ("pointer", "is_sent"), [("/body/password", True), ("/query/api_key", False), ("/headers/x-api-key", False)]
    )
    def test_a_new_password_is_the_caller_s_own_act_and_a_new_key_is_none(self, pointer: str, is_sent: bool) -> None:
        _, ask = answering("long enough")
        server = Server(ACCEPTED)
        missing = {**self.MISSING, "placeholders": [{"pointer": pointer}]}
        first = sent({"name": "ann", "password": "short"}, Authorization="Bearer own-token")
        run(first, refusal(missing), Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert server.bodies == ([{"name": "ann", "password": "long enough"}] if is_sent else [])

    def test_what_else_the_correction_does_to_credentials_is_not_sent_with_the_value(self) -> None:
        for more in ({"op": "add", "path": "/body/token", "value": "x"}, {"op": "copy", "from": "/body/password"}):
            _, ask = answering("long enough")
            server = Server(ACCEPTED)
            missing = {**self.MISSING, "patch": [{"path": "/body/note", **more}], "placeholders": [PASSWORD]}
            first = sent({"name": "ann", "password": "shorter"})
            run(first, refusal(missing), Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
            assert server.bodies == []

    def test_the_value_that_was_refused_is_no_correction(self) -> None:
        _, ask = answering("neu")
        missing = {**self.MISSING, "placeholders": [{"pointer": "/body/sort"}]}
        outcome = run(sent(ORDER), refusal(missing), Policy(on_refusal=OnRefusal.REPAIR, ask=ask), Server())
        assert outcome.not_sent == "with the value that was given it is the request that was refused"

    def test_no_answer_sends_nothing(self) -> None:
        for policy in (Policy(on_refusal=OnRefusal.REPAIR, ask=lambda _: None), REPAIR):
            server = Server()
            outcome = run(sent(ORDER), refusal(self.MISSING), policy, server)
            assert (server.requests, "/body/owner/name: ask the user" in outcome.explanation) == ([], True)

    def test_an_answer_is_no_confirmation(self) -> None:
        missing = {**self.MISSING, "safety": {"changes_intent": True}}
        _, ask = answering("Ann", "Ann")
        server = Server(ACCEPTED)
        run(sent(ORDER), refusal(missing), Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert server.requests == []
        run(sent(ORDER), refusal(missing), Policy(on_refusal=OnRefusal.CONFIRM, ask=ask, confirm=yes), server)
        assert len(server.requests) == 1

    CHOICES = (
        edit("/body/sort", "neu", "new", applicability="MAYBE_INCORRECT", message="Newest first."),
        edit("/body/sort", "neu", "old", applicability="MAYBE_INCORRECT", message="Oldest first."),
    )

    def test_a_choice_that_is_made_is_sent(self) -> None:
        asked, ask = answering(1)
        server = Server(ACCEPTED)
        answer = refusal(*self.CHOICES, type="intent_disambiguation")
        run(sent(ORDER), answer, Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert server.bodies == [{"sort": "old", "count": 1}]
        assert [[choice.suggestion.message for choice in one.choices] for one in asked] == [
            ["Newest first.", "Oldest first."]
        ]

    def test_so_is_one_of_several_alternatives_of_which_none_is_certain(self) -> None:
        group = {"group": {"id": "g", "relation": "one_of"}}
        stale = edit("/body/sort", "other", "x", **group)
        open_one = {**self.MISSING, **group}
        asked, ask = answering(3)
        server = Server(ACCEPTED)
        answer = refusal({**self.CHOICES[0], **group}, stale, open_one, {**self.CHOICES[1], **group})
        run(sent(ORDER), answer, Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert [[choice.index for choice in one.choices] for one in asked] == [[0, 3]]
        assert server.bodies == [{"sort": "old", "count": 1}]

    def test_an_alternative_that_is_certain_is_sent_unasked(self) -> None:
        group = {"group": {"id": "g", "relation": "one_of"}}
        asked, ask = answering()
        server = Server(ACCEPTED)
        answer = refusal({**self.CHOICES[1], **group}, {**NEAR, **group})
        run(sent(ORDER), answer, Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert (asked, server.bodies) == ([], [{"sort": "new", "count": 1}])

    @pytest.mark.parametrize("made", [None, 2, -1, True, "1"])
    def test_what_is_no_choice_sends_nothing(self, made: Any) -> None:
        _, ask = answering(made)
        server = Server()
        answer = refusal(*self.CHOICES, type="intent_disambiguation")
        outcome = run(sent(ORDER), answer, Policy(on_refusal=OnRefusal.REPAIR, ask=ask), server)
        assert (server.requests, outcome.explanation.splitlines()[1]) == ([], "Choose one:")
        assert outcome.explanation.endswith("Not sent: no choice was made.")


def test_an_adapter_takes_a_policy_or_its_members() -> None:
    assert policy_of(None, on_refusal="repair") == REPAIR == policy_of(REPAIR)
    with pytest.raises(TypeError, match="not both"):
        policy_of(REPAIR, max_wait=3)
    with pytest.raises(ValueError, match="'often': give one of 'explain', 'repair', 'confirm'"):
        policy_of(None, on_refusal="often")


class TestOnlyChoice:
    """A choice of one: somebody agrees, or not."""

    LEFT_OUT = edit(
        "/body/sort", "neu", "new", safety={"changes_intent": True}, group={"id": "1", "relation": "one_of"}
    )

    @pytest.mark.parametrize("agreed", [True, False])
    def test_it_is_confirmed(self, agreed: bool) -> None:
        asked: list[Proposal] = []

        def confirm(proposal: Proposal) -> bool:
            asked.append(proposal)
            return agreed

        policy = Policy(on_refusal=OnRefusal.CONFIRM, confirm=confirm)
        outcome = run(sent(ORDER), refusal(self.LEFT_OUT, type="intent_disambiguation"), policy, Server(ACCEPTED))
        assert len(asked) == 1 and (outcome.answer is ACCEPTED) is agreed

    def test_it_is_not_sent_unasked(self) -> None:
        outcome = run(sent(ORDER), refusal(self.LEFT_OUT, type="intent_disambiguation"), REPAIR, Server())
        assert outcome.not_sent.startswith("the user has to agree first, since it changes what was asked for")
