"""What the sentences of databases say, and what looks like one and is none."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.message.database import members_of, stored_constraint
from tests._support.rows import rows

ORDER = ("customerId", "customer_email", "customer", "quantity", "status", "zip", "sku")


@rows(
    ("message", "kind", "members"),
    [
        ("UNIQUE constraint failed: orders.sku", "unique", ["sku"]),
        ("UNIQUE constraint failed: orders.customer_id, orders.sku", "unique", ["customerId", "sku"]),
        ('duplicate key value violates unique constraint "orders_customer_email_key"', "unique", ["customer_email"]),
        ('ERROR: ... unique constraint "u_1"\n  Detail: Key (sku)=(A-1) already exists.', "unique", ["sku"]),
        ("SQLSTATE[23000]: 1062 Duplicate entry 'A-1' for key 'orders.orders_sku_unique'", "unique", ["sku"]),
        ("Violation of UNIQUE KEY constraint 'UQ_Orders_Sku'. Cannot insert duplicate key.", "unique", ["sku"]),
        ('duplicate key value violates unique constraint "uq_1"', "unique", []),
        ("FOREIGN KEY constraint failed", "foreign key", []),
        (
            'insert or update on table "orders" violates foreign key constraint "orders_customer_id_fkey"',
            "reference",
            ["customerId"],
        ),
        ('Key (customer_id)=(9) is not present in table "customers".', "reference", ["customerId"]),
        (
            "Cannot add or update a child row: a foreign key constraint fails (`shop`.`orders`, CONSTRAINT `c`"
            " FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`))",
            "reference",
            ["customerId"],
        ),
        ("Cannot delete or update a parent row: a foreign key constraint fails (`shop`.`orders`)", "referenced", []),
        ('update or delete on table "a" violates foreign key constraint "b" on table "c"', "referenced", []),
        ('The DELETE statement conflicted with the REFERENCE constraint "FK_Orders".', "referenced", []),
        ("NOT NULL constraint failed: orders.quantity", "required", ["quantity"]),
        ('null value in column "quantity" of relation "orders" violates not-null constraint', "required", ["quantity"]),
        ("Column 'quantity' cannot be null", "required", ["quantity"]),
        ('new row for relation "orders" violates check constraint "orders_quantity_check"', "check", ["quantity"]),
        ("Check constraint 'orders_chk_1' is violated.", "check", []),
    ],
)
def test_a_constraint_of_a_database(message: str, kind: str, members: list[str]) -> None:
    constraint = stored_constraint(message)
    assert constraint is not None and constraint.kind == kind
    assert members_of(constraint, ORDER) == members


@pytest.mark.parametrize(
    ("check", "stated"),
    [
        ("quantity > 0", {"exclusiveMinimum": 0}),
        ("(quantity <= 9.5)", {"maximum": 9.5}),
        ("quantity BETWEEN 1 AND 99", {"minimum": 1, "maximum": 99}),
        ("length(zip) = 5", {"minLength": 5, "maxLength": 5}),
        ("char_length(zip) < 6", {"maxLength": 5}),
        ("\"status\" IN ('open', 'paid')", {"enum": ["open", "paid"]}),
        ("quantity > 0 AND zip <> ''", {}),
        ("status = 'open' OR quantity > 0", {}),
        ("quantity > zip", {}),
    ],
)
def test_what_a_check_states(check: str, stated: dict[str, Any]) -> None:
    constraint = stored_constraint(f"CHECK constraint failed: {check}")
    assert constraint is not None and dict(constraint.stated) == stated


@pytest.mark.parametrize(
    "message",
    [
        "",
        "the key constraint of your plan",
        "duplicate entry",
        "A foreign key has to be given.",
        "This violates our terms.",
        "Column 'quantity' cannot be empty",
        "x" * 3000 + "FOREIGN KEY constraint failed",
    ],
)
def test_what_is_no_sentence_of_a_database(message: str) -> None:
    assert stored_constraint(message) is None
