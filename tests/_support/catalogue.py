"""A catalogue of operations as large as one likes."""

from __future__ import annotations

from typing import Final

from corrigible.adapters.mapping.operation import CanonicalOperation, Field

QUERIES: Final = (
    "refund of a customer",
    "list",
    "cancel the shipment of carrier number4711",
    "all that is wanted is done",
)


def many(count: int) -> tuple[CanonicalOperation, ...]:
    nouns = ("order", "invoice", "parcel", "refund", "customer", "label", "shipment", "rate", "carrier", "pickup")
    verbs = ("list", "create", "update", "delete", "cancel", "get")
    fields = tuple(Field(pointer=f"/body/field{at}", type="string", description="Some field.") for at in range(20))
    return tuple(
        CanonicalOperation(
            api=f"api{at // 100}",
            name=f"{verbs[at % 6]}{nouns[at % 10].title()}{at}",
            method="POST",
            path=f"/v1/{nouns[at % 10]}s/{at}/{nouns[at // 10 % 10]}",
            summary=f"{verbs[at % 6]} the {nouns[at % 10]} of a {nouns[at // 10 % 10]} number{at}",
            description="All that is wanted is done at once, as long as the account may do so. " * 2,
            arguments=fields,
        )
        for at in range(count)
    )
