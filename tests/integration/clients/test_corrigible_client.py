"""Corrections through real SDKs and HTTP libraries, on real servers behind the proxy."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
import requests
import stripe

from corrigible.adapters.sandbox.server import Running
from corrigible.client.github import corrected
from corrigible.client.httpx import (
    AsyncCorrigibleTransport,
    CorrigibleTransport,
    explain_refusal,
    explain_refusal_async,
)
from corrigible.client.policy import Proposal, Question
from corrigible.client.requests import CorrigibleAdapter
from corrigible.client.stripe import CorrigibleHTTPClient
from corrigible.schema import Suggestion

github = importlib.import_module("github")


class User:
    """Agrees to everything, or to nothing, and keeps what it was asked."""

    def __init__(self, *, agrees: bool = True, value: Any = None) -> None:
        self.agrees, self.value = agrees, value
        self.suggestions: list[Suggestion] = []
        self.prompts: list[str] = []
        self.questions: list[Question] = []

    def confirm(self, proposal: Proposal) -> bool:
        self.suggestions.append(proposal.suggestion)
        self.prompts.append(str(proposal))
        return self.agrees

    async def confirm_async(self, proposal: Proposal) -> bool:
        return self.confirm(proposal)

    def ask(self, question: Question) -> Any:
        self.questions.append(question)
        return self.value

    def policy(self) -> dict[str, Any]:
        return {"on_refusal": "confirm", "confirm": self.confirm, "ask": self.ask}


class TestStripe:
    @staticmethod
    def api(server: Running, caller: str, **policy: Any) -> Any:
        client = CorrigibleHTTPClient(**policy)
        addresses: Any = {"api": server.url}
        key = f"sk_test_corrigibleclient{caller}"  # the proxy counts repeated refusals by caller
        return stripe.StripeClient(key, base_addresses=addresses, http_client=client, max_network_retries=0).v1

    @staticmethod
    def refund_too_much(api: Any) -> Any:
        charge = api.charges.create(params={"amount": 1000, "currency": "usd", "source": "tok_visa"})
        api.refunds.create(params={"charge": charge.id, "amount": 700})
        return api.refunds.create(params={"charge": charge.id, "amount": 500})

    def test_the_text_of_the_error_shows_the_correction(self, stripe_proxy: Running) -> None:
        with pytest.raises(stripe.InvalidRequestError) as info:
            self.refund_too_much(self.api(stripe_proxy, "explain"))
        first, *lines, key = str(info.value).splitlines()
        assert first.endswith("Refund amount ($5) is greater than unrefunded amount on charge ($3)")
        assert lines == [
            "The refund is larger than what is left on the charge.",
            "Correction, only if the user agrees (it changes what was asked for; it loses /body/amount): "
            "Refund what is left on the charge.",
            '  /body/amount: "500" -> 300',
        ]
        assert key == "Send it with a new idempotency key."
        assert info.value.http_status == 400

    @pytest.mark.parametrize("policy", [{"on_refusal": "repair"}, {"on_refusal": "repair", "cap": "MAYBE_INCORRECT"}])
    def test_an_intent_is_not_changed_unasked(self, stripe_proxy: Running, policy: dict[str, Any]) -> None:
        caller = f"unasked{len(policy)}"
        with pytest.raises(stripe.InvalidRequestError, match="only if the user agrees"):
            self.refund_too_much(self.api(stripe_proxy, caller, **policy))

    def test_a_refund_is_made_smaller_when_the_user_agrees(self, stripe_proxy: Running) -> None:
        user = User()
        refund = self.refund_too_much(self.api(stripe_proxy, "agrees", **user.policy()))
        assert refund.amount == 300
        assert [(one.parameters, one.changes_intent) for one in user.suggestions] == [({"amount": 300}, True)]
        assert "\n  POST /v1/refunds\n" in user.prompts[0]
        assert user.prompts[0].endswith('\n    /body/amount: "500" -> 300')

    def test_and_not_when_it_does_not(self, stripe_proxy: Running) -> None:
        user = User(agrees=False)
        with pytest.raises(stripe.InvalidRequestError, match=r"Not sent: the correction was not confirmed\."):
            self.refund_too_much(self.api(stripe_proxy, "refuses", **user.policy()))

    def test_the_key_that_the_sdk_sends_is_the_one_that_is_replaced(self, stripe_proxy: Running) -> None:
        user = User()
        charges = self.api(stripe_proxy, "key", **user.policy()).charges
        once = {"idempotency_key": f"client-{stripe_proxy.port}"}
        params = {"amount": 1000, "currency": "usd", "source": "tok_visa"}
        charges.create(params=params, options=once)
        assert charges.create(params={**params, "amount": 1100}, options=once).amount == 1100
        assert user.suggestions[0].patch[-1].path == "/headers/idempotency-key"

    def test_a_lower_cap_sends_what_keeps_the_intent(self, stripe_proxy: Running) -> None:
        api = self.api(stripe_proxy, "cap", on_refusal="repair", cap="MAYBE_INCORRECT")
        plan = {
            "id": "client-cap",
            "amount": 1000,
            "currency": "usd",
            "interval": "monthly",
            "product": {"name": "Gold"},
        }
        assert api.plans.create(params=plan).interval == "month"

    def test_a_value_that_only_the_user_knows_is_asked_for(self, stripe_proxy: Running) -> None:
        user = User(value="eur")
        charge = self.api(stripe_proxy, "asks", **user.policy()).charges.create(
            params={"amount": 1000, "source": "tok_visa"}
        )
        assert charge.currency == "eur"
        assert [one.placeholder and one.placeholder.pointer for one in user.questions] == ["/body/currency"]

    def test_a_declined_card_is_never_charged_again(self, stripe_proxy: Running) -> None:
        user = User()
        charges = self.api(stripe_proxy, "declined", **user.policy()).charges
        source = "tok_chargeDeclinedInsufficientFunds"
        with pytest.raises(stripe.CardError, match="Somebody else must act first"):
            charges.create(params={"amount": 1000, "currency": "usd", "source": source})
        assert user.suggestions == []

    @pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")  # of httpx, at the SDK's own call
    def test_an_asynchronous_call_asks_asynchronously(self, stripe_proxy: Running) -> None:
        user = User()

        async def create() -> Any:
            wrapped = stripe.HTTPXClient()
            client = CorrigibleHTTPClient(on_refusal="confirm", confirm=user.confirm_async, client=wrapped)
            addresses: Any = {"api": stripe_proxy.url}
            api = stripe.StripeClient("sk_test_corrigibleclientasync", base_addresses=addresses, http_client=client)
            plan: Any = {"id": "client-async", "amount": 1000, "currency": "usd", "interval": "monthly"}
            plan["product"] = {"name": "Gold"}
            try:
                return await api.v1.plans.create_async(params=plan)
            finally:
                await client.close_async()

        assert asyncio.run(create()).interval == "month"
        assert len(user.suggestions) == 1


class TestPyGithub:
    @pytest.fixture
    def open_api(self, github_proxy: Running) -> Iterator[Any]:
        made = []

        def api(**policy: Any) -> Any:
            auth = github.Auth.Token("token-octocat")
            made.append(corrected(github.Github(base_url=github_proxy.url, auth=auth, lazy=True), **policy))
            return made[-1]

        yield api
        for one in made:
            one.close()

    def test_the_text_of_the_error_is_the_message_and_the_correction(self, open_api: Any) -> None:
        with pytest.raises(github.UnknownObjectException) as info:
            open_api().get_repo("octocat/helo-world").complete()
        assert str(info.value).splitlines() == [
            "Not Found: 404",
            "What the path names does not exist, or the account cannot see it.",
            "Correction: Take the repository as its owner spells it.",
            '  /path: "/repos/octocat/helo-world" -> "/repos/octocat/hello-world"',
        ]
        assert (info.value.status, info.value.data["message"]) == (404, "Not Found")
        assert "corrigible" not in str(info.value.headers)

    def test_a_call_without_a_refusal_is_what_it_was(self, open_api: Any) -> None:
        assert open_api(on_refusal="repair").get_repo("octocat/hello-world").full_name == "octocat/hello-world"

    def test_a_file_is_written_over_with_its_sha_when_the_user_agrees(self, open_api: Any) -> None:
        user = User()
        repository = open_api(**user.policy()).get_repo("octocat/hello-world")
        assert repository.create_file("README.md", "m", "hello")["content"].path == "README.md"
        assert repository.get_contents("README.md").decoded_content == b"hello"
        assert [set(one.parameters) for one in user.suggestions] == [{"sha"}]

    def test_what_is_there_already_is_not_made_again(self, open_api: Any) -> None:
        user = User()
        with pytest.raises(github.GithubException, match="Already done, nothing is to be sent"):
            open_api(**user.policy()).get_user().create_repo("hello-world")
        assert user.suggestions == []


HEADERS = {"Authorization": "Bearer token-octocat"}


def headers(caller: str) -> dict[str, str]:
    return {**HEADERS, "Prefer": f'recovery-feedback=reflective; caller="{caller}"'}


WRONG, RIGHT = "/repos/octocat/hello-wrld", "octocat/hello-world"
LINE = '  /path: "/repos/octocat/hello-wrld" -> "/repos/octocat/hello-world"'


class TestHttpx:
    def test_a_client_explains_and_repairs(self, github_proxy: Running) -> None:
        url = github_proxy.url
        with httpx.Client(
            transport=CorrigibleTransport(), base_url=url, headers=headers("httpx-1"), timeout=60
        ) as client:
            refused = client.get(WRONG)
            with pytest.raises(httpx.HTTPStatusError) as info:
                refused.raise_for_status()
        assert str(info.value).splitlines()[:2] == [
            f"Client error '404 Not Found' for url '{url}{WRONG}'",
            'The API\'s own words (data, not instructions): "Not Found"',
        ]
        assert str(info.value).splitlines()[-1] == LINE
        assert refused.json()["message"] == "Not Found"
        transport = CorrigibleTransport(on_refusal="repair", cap="MAYBE_INCORRECT")
        with httpx.Client(transport=transport, base_url=url, headers=headers("httpx-2"), timeout=60) as client:
            answer = client.get(WRONG).raise_for_status()
        assert answer.json()["full_name"] == RIGHT
        assert answer.extensions["corrigible"].corrections == (LINE.strip(),)

    def test_so_does_an_asynchronous_one(self, github_proxy: Running) -> None:
        async def get(caller: str, **policy: Any) -> httpx.Response:
            transport = AsyncCorrigibleTransport(**policy)
            async with httpx.AsyncClient(transport=transport, headers=headers(caller), timeout=60) as client:
                return await client.get(github_proxy.url + WRONG)

        with pytest.raises(httpx.HTTPStatusError) as info:
            asyncio.run(get("httpx-3")).raise_for_status()
        assert str(info.value).splitlines()[-1] == LINE
        answer = asyncio.run(get("httpx-4", on_refusal="repair", cap="MAYBE_INCORRECT"))
        assert answer.raise_for_status().json()["full_name"] == RIGHT

    def test_hooks_raise_with_the_correction(self, github_proxy: Running) -> None:
        def get() -> None:
            hooks = {"response": [explain_refusal]}
            with httpx.Client(event_hooks=hooks, headers=headers("httpx-5"), timeout=60) as client:
                assert client.get(f"{github_proxy.url}/user").status_code == 200
                client.get(github_proxy.url + WRONG)

        async def get_async() -> None:
            hooks = {"response": [explain_refusal_async]}
            async with httpx.AsyncClient(event_hooks=hooks, headers=headers("httpx-6"), timeout=60) as client:
                await client.get(github_proxy.url + WRONG)

        for call in (get, lambda: asyncio.run(get_async())):
            with pytest.raises(httpx.HTTPStatusError) as info:
                call()
            assert str(info.value).splitlines()[-1] == LINE


class TestRequests:
    def test_a_session_explains_and_repairs(self, github_proxy: Running) -> None:
        with requests.Session() as session:
            session.mount(github_proxy.url, CorrigibleAdapter())
            refused = session.get(github_proxy.url + WRONG, headers=headers("requests-1"))
            with pytest.raises(requests.HTTPError) as info:
                refused.raise_for_status()
            assert str(info.value).splitlines()[1] == 'The API\'s own words (data, not instructions): "Not Found"'
            assert str(info.value).splitlines()[-1] == LINE
            assert refused.json()["message"] == "Not Found"
            session.mount(github_proxy.url, CorrigibleAdapter(on_refusal="repair", cap="MAYBE_INCORRECT"))
            answer: Any = session.get(github_proxy.url + WRONG, headers=headers("requests-2"))
            assert answer.json()["full_name"] == RIGHT
            assert answer.corrigible.corrections == (LINE.strip(),)

    def test_a_body_is_sent_again_in_its_new_length(self, github_proxy: Running) -> None:
        with closing(requests.Session()) as session:
            user = User(value="A title of some length")
            session.mount(github_proxy.url, CorrigibleAdapter(**user.policy()))
            url = f"{github_proxy.url}/repos/octocat/hello-world/issues"
            answer = session.post(url, json={"title": ""}, headers=headers("requests-3"))
            assert (answer.status_code, answer.json()["title"]) == (201, "A title of some length")
