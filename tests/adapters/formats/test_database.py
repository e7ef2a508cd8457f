"""What the sentences of databases say, and what looks like one and is none."""

from __future__ import annotations

import pytest

from corrigible.adapters.formats.database import stored_constraint
from tests._support.rows import rows


@rows(
    ("message", "kind", "columns"),
    [
        ("UNIQUE constraint failed: orders.sku", "unique", ["sku"]),
        ("UNIQUE constraint failed: orders.customer_id, orders.sku", "unique", ["customer_id", "sku"]),
        ('duplicate key value violates unique constraint "orders_customer_email_key"', "unique", []),
        ('ERROR: ... unique constraint "u_1"\n  Detail: Key (sku)=(A-1) already exists.', "unique", ["sku"]),
        ("SQLSTATE[23000]: 1062 Duplicate entry 'A-1' for key 'orders.orders_sku_unique'", "unique", []),
        ("Violation of UNIQUE KEY constraint 'UQ_Orders_Sku'. Cannot insert duplicate key.", "unique", []),
        ('duplicate key value violates unique constraint "uq_1"', "unique", []),
        ("FOREIGN KEY constraint failed", "foreign key", []),
        (
            'insert or update on table "orders" violates foreign key constraint "orders_customer_id_fkey"',
            "reference",
            [],
        ),
        ('Key (customer_id)=(9) is not present in table "customers".', "reference", ["customer_id"]),
        (
            "Cannot add or update a child row: a foreign key constraint fails (`shop`.`orders`, CONSTRAINT `c`"
            " FOREIGN KEY (`customer_id`) REFERENCES `customers` (`id`))",
            "reference",
            [],
        ),
        ("Cannot delete or update a parent row: a foreign key constraint fails (`shop`.`orders`)", "referenced", []),
        ('update or delete on table "a" violates foreign key constraint "b" on table "c"', "referenced", []),
        ('The DELETE statement conflicted with the REFERENCE constraint "FK_Orders".', "referenced", []),
        ("NOT NULL constraint failed: orders.quantity", "required", []),
        ('null value in column "quantity" of relation "orders" violates not-null constraint', "required", []),
        ("Column 'quantity' cannot be null", "required", []),
        ('new row for relation "orders" violates check constraint "orders_quantity_check"', "check", []),
        ("Check constraint 'orders_chk_1' is violated.", "check", []),
        ("CHECK constraint failed: quantity > 0", "check", []),
    ],
)
def test_a_constraint_of_a_database(message: str, kind: str, columns: list[str]) -> None:
    constraint = stored_constraint(message)
    assert constraint is not None and constraint.kind == kind
    assert list(constraint.columns) == columns


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
