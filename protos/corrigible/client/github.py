"""PyGithub: corrections for the calls of a `github.Github`.

    api = corrected(github.Github(auth=auth, base_url=url), on_refusal="repair")

`str(error)` of a `github.GithubException` starts with GitHub's message and the correction.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final, Unpack

import requests
from github import Github, GithubException
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester, RequestsResponse

from .policy import Policy, PolicyMembers, policy_of
from .requests import CorrigibleAdapter, ExplainedResponse

__all__ = ["corrected"]

_EXPLANATION: Final = "corrigible-explanation"
"""A header of the response as PyGithub sees it, which takes the text from the adapter to the exception."""


def corrected(api: Github, policy: Policy | None = None, **members: Unpack[PolicyMembers]) -> Github:
    """Return the same client, whose calls from now on are corrected as the policy allows."""
    requester = _requester(policy_of(policy, **members))
    # Github makes its Requester itself. The subclass has the same arguments, so that all that is set stays.
    api.close()
    setattr(api, _REQUESTER, requester(**api.requester.kwargs))
    return api


_REQUESTER: Final = "_Github__requester"


def _requester(policy: Policy) -> type[Requester]:
    def mounted(kind: Any, prefix: str) -> Any:
        class Connection(kind):  # type: ignore[misc]  # a class that is known at run time
            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **options)
                _mount(self, prefix, policy)

            def getresponse(self) -> RequestsResponse:
                return _carrying(super().getresponse())

        return Connection

    class CorrigibleRequester(Requester):
        @classmethod
        def createException(cls, status: int, headers: dict[str, Any], output: Any) -> GithubException:
            explanation = headers.pop(_EXPLANATION, None)
            error = super().createException(status, headers, output)
            if explanation is None:
                return error
            kind: Any = type(error)
            return _explaining(kind)(error.status, error.data, error.headers, error.message, explanation)  # type: ignore[no-any-return]

    CorrigibleRequester.injectConnectionClasses(  # of this class alone
        mounted(HTTPRequestsConnectionClass, "http://"), mounted(HTTPSRequestsConnectionClass, "https://")
    )
    setattr(CorrigibleRequester, _PERSIST, True)
    return CorrigibleRequester


@cache
def _explaining(kind: Any) -> Any:
    """Return a subclass of an exception of PyGithub whose text is the message and the correction, without the JSON."""

    class Explaining(kind):  # type: ignore[misc]  # a class that is known at run time
        def __init__(self, status: int, data: Any, headers: Any, message: str | None, explanation: str) -> None:
            super().__init__(status, data, headers, message)
            self.explanation: str = json.loads(explanation)

        def __str__(self) -> str:
            native = self.data.get("message") if isinstance(self.data, dict) else None
            return f"{self.message or native or 'refused'}: {self.status}\n{self.explanation}"

    Explaining.__name__ = Explaining.__qualname__ = kind.__name__
    return Explaining


_PERSIST: Final = "_Requester__persist"
"""Whether connections stay open: to inject classes turns it off."""


def _mount(connection: Any, prefix: str, policy: Policy) -> None:
    adapter = CorrigibleAdapter(
        policy,
        max_retries=connection.retry,
        pool_connections=connection.pool_size,
        pool_maxsize=connection.pool_size,
    )
    connection.adapter = adapter
    connection.session.mount(prefix, adapter)


def _carrying(response: RequestsResponse) -> RequestsResponse:
    native: requests.Response = response.response
    native.headers.pop(_EXPLANATION, None)  # an answer's own would stand as our words
    if isinstance(native, ExplainedResponse) and native.corrigible.explanation:
        native.headers[_EXPLANATION] = json.dumps(native.corrigible.explanation)
    return response
