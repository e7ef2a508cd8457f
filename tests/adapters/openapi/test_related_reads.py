"""Which reads show the state that a call ran into, by the shapes of an API's paths."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from corrigible.adapters.openapi.related_reads import Item, NamedResource, RelatedReads
from corrigible.adapters.operation import Operations
from corrigible.rules.budget import Budget, Exhausted, within
from tests._support.rows import rows

PATHS = [
    "GET /shops",
    "POST /shops",
    "GET /shops/{shopId}",
    "PATCH /shops/{shopId}",
    "PUT /shops/{shopId}",
    "DELETE /shops/{shopId}",
    "GET /shops/{shopId}/widgets/",
    "POST /shops/{shopId}/widgets/",
    "PATCH /shops/{shopId}/widgets/{widget_id}",
    "GET /variables/name/{name}",
    "PATCH /variables/name/{name}",
    "DELETE /variables/{id}",
    "GET /variables/{id}",
    "POST /variables",
    "GET /work_pools/",
    "GET /searched",
    "POST /searched",
    "GET /searched/{id}",
    "POST /lonely",
    "GET /files/{+path}",
    "POST /search/{query}",
    "GET /owners",
    "GET /v2/owners",
    "GET /v2/categories",
    "POST /v2/things",
]
READS = RelatedReads(Operations({path: path for path in PATHS}), lambda name: name == "GET /searched")


@rows(
    ("method", "path", "named"),
    [
        ("GET", "/shops/7", [NamedResource("shopId", "7", 1, "/shops")]),
        (
            "PATCH",
            "/shops/a%2Fb/widgets/w%201",
            [
                NamedResource("widget_id", "w 1", 3, "/shops/a%2Fb/widgets/"),
                NamedResource("shopId", "a/b", 1, "/shops"),
            ],
        ),
        ("DELETE", "/variables/7", [NamedResource("id", "7", 1, "")]),
        ("GET", "/searched/7", [NamedResource("id", "7", 1, "")]),
        ("GET", "/shops", []),
        ("GET", "/nowhere/7", []),
        ("GET", "/files/a/b", []),
        ("GET", "/shops/" + "x/" * 50, []),
    ],
)
def test_the_resources_that_a_path_names(method: str, path: str, named: list[NamedResource]) -> None:
    assert READS.named(method, path) == named


SHOP = Item("Id", "shopId", "/shops", True, ("PATCH", "PUT"))
WIDGET = Item("id", "widget_id", "/shops/7/widgets", False, ("PATCH",))
VARIABLE = Item("id", "id", "/variables", True, (), others=frozenset({"name"}))
BY_NAME = Item("name", "name", "/variables/name", True, ("PATCH",), True)


@rows(
    ("method", "path", "creation"),
    [
        ("POST", "/shops", ("/shops", (SHOP,))),
        ("POST", "/shops/7/widgets", ("/shops/7/widgets/", (WIDGET,))),
        ("POST", "/variables", ("", (VARIABLE, BY_NAME))),
        ("POST", "/searched", ("", (Item("id", "id", "/searched", True, ()),))),
        ("POST", "/lonely", None),
        ("POST", "/search/x", None),
        ("GET", "/shops", None),
        ("POST", "/nowhere", None),
    ],
)
def test_the_collection_that_a_call_adds_to(
    method: str, path: str, creation: tuple[str, tuple[Item, ...]] | None
) -> None:
    assert READS.creation(method, path) == creation


def test_the_path_of_an_item() -> None:
    assert SHOP.path("a/b c") == "/shops/a%2Fb%20c"


@rows(
    ("member", "path", "collections"),
    [
        ("shopId", "/lonely", ["/shops"]),
        ("shop_ids", "/lonely", ["/shops"]),
        ("shop", "/lonely", ["/shops"]),
        ("shops", "/lonely", ["/shops"]),
        ("shop-name", "/lonely", ["/shops"]),
        *((f"shop_{ending}", "/lonely", ["/shops"]) for ending in ("names", "key", "slug", "uuid", "ref", "code")),
        ("work_pool_name", "/lonely", ["/work_pools/"]),
        ("widget_id", "/shops/7/widgets", ["/shops/7/widgets/"]),
        ("widget_id", "/lonely", []),
        ("searched", "/lonely", []),
        ("owner_id", "/v2/things", ["/owners", "/v2/owners"]),
        ("owner_id", "/lonely", ["/owners"]),
        ("category_id", "/v2/things", ["/v2/categories"]),
        ("category_id", "/lonely", ["/v2/categories"]),
        ("id", "/lonely", []),
        ("colour", "/lonely", []),
    ],
)
def test_the_listings_of_what_a_member_refers_to(member: str, path: str, collections: list[str]) -> None:
    assert READS.collections(member, "POST", path) == collections


ACTING = RelatedReads(
    Operations(
        {
            "GET /users": "listUsers",
            "POST /users": "createUser",
            "GET /users/{name}": "getUser",
            "GET /users/Exit": "leave",
            "GET /restart": "GET /restart",
            "GET /mail": "sendMail",
            "GET /exports": "runExportsList",
            "GET /queue/pop": "next_message",
            "GET /queue/pop/{n}": "messages",
            "DELETE /queue/pop/{n}": "delete_message",
            "GET /projects/{project}/members": "members",
            "GET /projects/all/members": "every_member",
            "DELETE /projects/{project}/members/{member}": "delete_member",
            "POST /things": "create",
        }
    ),
    lambda name: False,
)


@pytest.mark.parametrize(
    ("name", "path"), [("ann", "/users/ann"), ("exit", ""), ("EXIT", ""), ("logout", ""), ("Logout", "")]
)
def test_what_may_be_another_operation_is_no_path_of_an_item(name: str, path: str) -> None:
    creation = ACTING.creation("POST", "/users")
    assert creation is not None
    assert creation.items[0].path(name) == path


@pytest.mark.parametrize(
    ("member", "collections"), [("user", ["/users"]), ("restart", []), ("mail", []), ("exports", ["/exports"])]
)
def test_a_get_that_does_something_is_no_listing(member: str, collections: list[str]) -> None:
    assert ACTING.collections(member, "POST", "/things") == collections


@pytest.mark.parametrize(
    ("path", "collection"),
    [("/queue/pop/7", ""), ("/projects/all/members/7", ""), ("/projects/p/members/7", "/projects/p/members")],
)
def test_a_collection_is_read_only_where_it_is_one(path: str, collection: str) -> None:
    assert ACTING.named("DELETE", path)[0].collection == collection


def test_the_listing_of_one_is_beside_it_in_the_plural() -> None:
    paths = ["GET /v1/node/{name}", "GET /v1/nodes", "GET /v1/box/{name}", "GET /boxes", "GET /v1/mail/{id}"]
    reads = RelatedReads(Operations({path: path for path in paths}), lambda name: False)
    found = {path: reads.named("GET", path)[0].collection for path in ("/v1/node/n1", "/v1/box/b1", "/v1/mail/7")}
    assert found == {"/v1/node/n1": "/v1/nodes", "/v1/box/b1": "", "/v1/mail/7": ""}


def test_paths_that_are_looked_at_are_counted() -> None:
    reads = RelatedReads(Operations({f"GET /p{number}": f"p{number}" for number in range(80)}), lambda name: False)

    def counted() -> Generator[object, None, None]:
        yield reads.collections("shop_id", "POST", "/lonely")

    with pytest.raises(Exhausted):
        next(within(Budget(9), counted()))


@pytest.mark.parametrize(
    ("path", "collections"),
    [
        ("/v3/users", ["/v3/domains", "/v3/auth/domains"]),
        ("/v3/auth/tokens", ["/v3/domains", "/v3/auth/domains"]),
        ("/v3/admin/users", ["/v3/domains", "/v3/auth/domains"]),
    ],
)
def test_of_several_collections_the_one_nearest_to_the_root_comes_first(path: str, collections: list[str]) -> None:
    paths = [
        "GET /v3/auth/domains",
        "GET /v3/domains",
        "POST /v3/users",
        "POST /v3/auth/tokens",
        "POST /v3/admin/users",
    ]
    reads = RelatedReads(Operations({path: path for path in paths}), lambda name: False)
    assert reads.collections("domain_id", "POST", path) == collections


def test_of_equally_near_collections_the_one_beside_comes_first() -> None:
    paths = ["GET /eu/domains", "GET /eu/x", "GET /us/domains", "POST /us/users"]
    reads = RelatedReads(Operations({f"{one}": one for one in paths}), lambda name: False)
    assert reads.collections("domain_id", "POST", "/us/users") == ["/us/domains"]
    both = [one.replace("/eu", "/api/eu").replace("/us/", "/api/us/") for one in paths]
    reads = RelatedReads(Operations({one: one for one in both}), lambda name: False)
    assert reads.collections("domain_id", "POST", "/api/us/users") == ["/api/us/domains", "/api/eu/domains"]
