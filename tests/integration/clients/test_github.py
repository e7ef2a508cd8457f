"""Users of PyGithub and of octokit find the feedback where they would look, and everything native as it was."""

from __future__ import annotations

import importlib
import json
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corrigible.adapters.sandbox.runtimes import find_node, npm_folder
from corrigible.adapters.sandbox.server import Running
from tests._support.raw_proxy import corrected
from tests._support.rows import rows

github = importlib.import_module("github")


def file(api: Any) -> None:
    api.get_repo("octocat/hello-world").create_file("README.md", "m", "hello")


def issue(api: Any) -> None:
    api.get_repo("octocat/hello-world").create_issue(title="")


def misspelt(api: Any) -> None:
    api.get_repo("octocat/helo-world").complete()


def forbidden(api: Any) -> None:
    api.get_repo("octocat/hello-world").edit(description="mine")


def twice(api: Any) -> None:
    api.get_user().create_repo("hello-world")


@dataclass(frozen=True)
class Refusal:
    """A call that is refused, and what its user gets."""

    call: Callable[[Any], None]
    python: str
    status: int
    message: str
    action: str
    """Of the first suggestion."""
    token: str = "token-octocat"

    @property
    def name(self) -> str:
        return self.call.__name__


REFUSALS = [
    Refusal(file, "GithubException", 422, '"sha" wasn\'t supplied. README.md already exists.', "MODIFY_PARAMS"),
    Refusal(issue, "GithubException", 422, "Validation failed", "MODIFY_PARAMS"),
    Refusal(misspelt, "UnknownObjectException", 404, "Not Found", "MODIFY_PARAMS"),
    Refusal(forbidden, "GithubException", 403, "Forbidden", "ESCALATE", token="token-dev"),
    Refusal(twice, "GithubException", 422, "Repository already exists", "ALREADY_DONE"),
]
each_refusal = rows("refusal", REFUSALS, ids=lambda refusal: refusal.name)
DOCUMENTATION = "https://emulate.dev/github"


def caught(refusal: Refusal, server: Running | SimpleNamespace) -> Any:
    auth = github.Auth.Token(refusal.token)
    with (
        closing(github.Github(base_url=server.url, auth=auth, retry=None, lazy=True)) as api,
        pytest.raises(github.GithubException) as info,
    ):
        refusal.call(api)
    return info.value


def native(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer says without what was added to it."""
    return {name: value for name, value in data.items() if name not in ("recovery_feedback", "validation_errors")}


class TestPyGithub:
    @each_refusal
    def test_the_native_error_is_what_it_was(
        self, refusal: Refusal, github_server: Running, github_proxy: Running
    ) -> None:
        direct, proxied = caught(refusal, github_server), caught(refusal, github_proxy)
        assert type(direct).__name__ == type(proxied).__name__ == refusal.python
        assert proxied.status == direct.status == refusal.status
        assert proxied.message == direct.message
        assert direct.data == {"message": refusal.message, "documentation_url": DOCUMENTATION}
        feedback = proxied.data["recovery_feedback"]
        assert native(proxied.data) == direct.data
        assert feedback["suggestions"][0]["action"] == refusal.action

    def test_the_suggested_sha_is_that_of_the_file(self, github_server: Running) -> None:
        """Behind a proxy that has not refused this call before: it would say that the call comes back."""
        with corrected(github_server.url, "github") as url:
            with closing(github.Github(base_url=url, auth=github.Auth.Token("token-octocat"), lazy=True)) as api:
                there = api.get_repo("octocat/hello-world").get_contents("README.md")
            refused = caught(REFUSALS[0], SimpleNamespace(url=url))
        suggestion = refused.data["recovery_feedback"]["suggestions"][0]
        assert suggestion["parameters"] == {"sha": there.sha}


@pytest.fixture(scope="module")
def seen_by_octokit(github_server: Running, github_proxy: Running) -> Mapping[str, Mapping[str, Any]]:
    """What octokit's user finds in each error: without and with the proxy."""
    folder = Path(__file__).parent / "octokit"
    script = (folder / "refusals.mjs").read_text("utf-8")
    modules = npm_folder("test-octokit", folder)

    def run(server: Running) -> Any:
        # A script from the command line finds its modules from where it is run.
        command = [str(find_node().executable), "--input-type=module", "--eval", script, "--", server.url]
        done = subprocess.run(command, cwd=modules, capture_output=True, text=True, timeout=240, check=True)
        return json.loads(done.stdout)

    return {"direct": run(github_server), "proxied": run(github_proxy)}


class TestOctokit:
    @each_refusal
    def test_the_native_error_is_what_it_was(
        self, refusal: Refusal, seen_by_octokit: Mapping[str, Mapping[str, Any]]
    ) -> None:
        direct, proxied = seen_by_octokit["direct"][refusal.name], seen_by_octokit["proxied"][refusal.name]
        assert direct["class"] == "RequestError"
        assert direct["instance"] is True
        assert (direct["status"], direct["feedback"]) == (refusal.status, None)
        assert direct["message"] == f"{refusal.message} - {DOCUMENTATION}"
        assert direct["native"] == {"message": refusal.message, "documentation_url": DOCUMENTATION}
        assert {**proxied, "feedback": None, "native": native(proxied["native"])} == direct

    @each_refusal
    def test_the_feedback_is_in_the_answer(
        self, refusal: Refusal, seen_by_octokit: Mapping[str, Mapping[str, Any]]
    ) -> None:
        feedback = seen_by_octokit["proxied"][refusal.name]["feedback"]
        assert feedback["suggestions"][0]["action"] == refusal.action
