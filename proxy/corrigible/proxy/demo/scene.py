"""The scenes of `corrigible demo`: one call each that a real server rejects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from corrigible.adapters.apis.kubernetes.sandbox import TOKENS, authority, find_apiserver
from corrigible.adapters.demo.recipe.tasks import task as recipe_task
from corrigible.adapters.sandbox.runtimes import find_node
from corrigible.adapters.sandbox.server import Server
from corrigible.schema.exchange import Request

from .client import Caller
from .servers import RECIPE, SANDBOXES

_STRIPE: Final = {server.name: server for server in SANDBOXES["stripe"]}


@dataclass(frozen=True, slots=True)
class Scene:
    """One call that is rejected, and its set-up."""

    name: str
    server: Server
    pack: str
    title: str
    call: Callable[[Caller], Request]
    """Prepares the state of the API and returns the call."""
    shown_members: Sequence[str]
    """Members of the final answer that are printed."""
    headers: Mapping[str, str] = field(default_factory=dict)
    authority: Callable[[int], Path] | None = None
    """Returns the CA file of the server on this port, if it uses TLS."""
    check_machine: Callable[[], object] | None = None
    """Raises SandboxError where a program is missing that no package of the demo brings. None: played by default."""


def _plan(api: Caller) -> Request:
    plan = {"id": "gold", "amount": "1000", "currency": "usd", "interval": "monthly", "product": {"name": "Gold"}}
    return Request("POST", "/v1/plans", body=plan, form=True)


def _refund(api: Caller) -> Request:
    card = {"amount": "1000", "currency": "usd", "source": "tok_visa"}
    charge = api.send(Request("POST", "/v1/charges", body=card, form=True))
    refund = {"charge": charge.body["id"], "amount": "700"}
    api.send(Request("POST", "/v1/refunds", body=refund, form=True))
    return Request("POST", "/v1/refunds", body={**refund, "amount": "500"}, form=True)


def _recipe(api: Caller) -> Request:
    task = recipe_task("adv_ctx_001")
    return Request("POST", task.path, body=task.request)


def _github(api: Caller) -> Request:
    path = "/repos/octocat/hello-world/contents/README.md"
    return Request("PUT", path, body={"message": "Greet", "content": "SGVsbG8h"})


def _kubernetes(api: Caller) -> Request:
    resources = {"requests": {"memory": "512Mi"}, "limits": {"memory": "256Mi"}}
    container = {"name": "web", "image": "nginx:1.27", "resources": resources}
    template = {"metadata": {"labels": {"app": "store"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "shop"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": spec}
    return Request("POST", "/apis/apps/v1/namespaces/default/deployments", body=body)


_STRIPE_KEY: Final = {"authorization": "Bearer sk_test_corrigible0000000001"}
SCENES: Final = (
    Scene("recipe", RECIPE, "recipe", "pancakes for a person with celiac disease", _recipe, ("success",)),
    Scene(
        "stripe",
        _STRIPE["localstripe"],
        "stripe",
        "a plan with a misspelt interval",
        _plan,
        ("id", "object", "amount", "interval"),
        _STRIPE_KEY,
    ),
    Scene(
        "refund",
        _STRIPE["stateful-mock"],
        "stripe",
        "a refund of $5.00 when $3.00 is left on the charge",
        _refund,
        ("id", "object", "amount", "status"),
        _STRIPE_KEY,
        check_machine=find_node,
    ),
    Scene(
        "github",
        SANDBOXES["github"][0],
        "github",
        "a file updated without the sha of its present content",
        _github,
        ("content",),
        {"authorization": "Bearer token-octocat"},
        check_machine=find_node,
    ),
    Scene(
        "kubernetes",
        SANDBOXES["kubernetes"][0],
        "kubernetes",
        "a Deployment whose selector does not match its pods",
        _kubernetes,
        ("apiVersion", "kind"),
        {"authorization": f"Bearer {TOKENS['admin']}"},
        authority=authority,
        check_machine=find_apiserver,
    ),
)
