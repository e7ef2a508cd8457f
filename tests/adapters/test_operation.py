"""From method and path to an operation."""

from __future__ import annotations

from corrigible.adapters.operation import Operations
from tests._support.rows import rows

OPERATIONS = Operations.load(
    """
    GET /: Root
    GET /v1/charges: ListCharges
    POST /v1/charges: CreateCharge
    GET /v1/charges/{charge}: GetCharge
    GET /v1/charges/search: SearchCharges
    POST /v1/charges/{charge}/capture: Capture
    POST /v1/charges/search/{index}: PickFound
    POST /v1/{kind}/{id}/{verb}: Anything
    get /v1/lower: Lower
    GET /v1/files/{+path}: GetFile
    GET /v1/files/{name}/history: GetHistory
    GET /v1/{owner}/refs/{+ref}: GetRef
    """
)


@rows(
    ("method", "path", "found"),
    [
        ("GET", "/", ("Root", {})),
        ("GET", "/v1/charges", ("ListCharges", {})),
        ("GET", "/v1/charges/", ("ListCharges", {})),
        ("POST", "/v1/charges", ("CreateCharge", {})),
        ("GET", "/v1/charges/search", ("SearchCharges", {})),
        ("GET", "/v1/charges/ch_1", ("GetCharge", {"charge": "ch_1"})),
        ("GET", "/v1/charges/a%2Fb%20c", ("GetCharge", {"charge": "a/b c"})),
        ("POST", "/v1/charges/ch_1/capture", ("Capture", {"charge": "ch_1"})),
        ("POST", "/v1/charges/search/1", ("PickFound", {"index": "1"})),
        ("POST", "/v1/charges/search/capture", ("PickFound", {"index": "capture"})),
        ("POST", "/v1/charges/ch_1/close", ("Anything", {"kind": "charges", "id": "ch_1", "verb": "close"})),
        ("POST", "/v1/x/y/z", ("Anything", {"kind": "x", "id": "y", "verb": "z"})),
        ("GET", "/v1/lower", ("Lower", {})),
        ("GET", "/v1/files/a", ("GetFile", {"path": "a"})),
        ("GET", "/v1/files/a/b%20c/d", ("GetFile", {"path": "a/b c/d"})),
        ("GET", "/v1/files/a/history", ("GetHistory", {"name": "a"})),
        ("GET", "/v1/files/a/history/b", ("GetFile", {"path": "a/history/b"})),
        ("GET", "/v1/o/refs/heads/main", ("GetRef", {"owner": "o", "ref": "heads/main"})),
        ("GET", "/v1/files", None),
        ("GET", "/v1/files/", None),
        ("PUT", "/v1/files/a", None),
        ("DELETE", "/v1/charges", None),
        ("get", "/v1/charges", None),
        ("POST", "/v1/charges//capture", None),
        ("GET", "/v1", None),
        ("GET", "/v2/charges", None),
        ("POST", "/v1/x/y/z/more", None),
    ],
)
def test_find(method: str, path: str, found: tuple[str, dict[str, str]] | None) -> None:
    assert OPERATIONS.find(method, path) == found


def test_joined_operations_keep_the_names_of_the_first() -> None:
    both = Operations({"GET /a": "MyA"}).merged_with(Operations({"GET /a": "TheirA", "GET /b": "TheirB"}))
    assert [both.find("GET", path) for path in ("/a", "/b")] == [("MyA", {}), ("TheirB", {})]


def test_segments_that_are_variables_in_part() -> None:
    operations = Operations(
        {
            "GET /a/{id}.json": "GetJson",
            "GET /a/{id}": "Get",
            "GET /a/me.json": "GetMe",
            "GET /a/{id}.json/{more}": "More",
            "POST /a/{name}:cancel": "Cancel",
            "GET /compare/{base}...{head}": "Compare",
        }
    )
    assert operations.find("GET", "/a/x.y.json") == ("GetJson", {"id": "x.y"})
    assert operations.find("GET", "/a/x.xml") == ("Get", {"id": "x.xml"})
    assert operations.find("GET", "/a/me.json") == ("GetMe", {})
    assert operations.find("GET", "/a/me.json/b") == ("More", {"id": "me", "more": "b"})
    assert operations.find("GET", "/a/.json") == ("Get", {"id": ".json"})
    assert operations.find("POST", "/a/x:cancel") == ("Cancel", {"name": "x"})
    assert operations.find("POST", "/a/x:start") is None
    assert operations.find("GET", "/compare/v1...a%2Fb") == ("Compare", {"base": "v1", "head": "a/b"})


def test_no_operations() -> None:
    assert Operations.load("").find("GET", "/") is None


def test_operations_can_be_found_under_another_base() -> None:
    moved = OPERATIONS.with_prefix("/api/v3")
    assert moved.find("GET", "/api/v3/v1/files/a/b") == ("GetFile", {"path": "a/b"})
    assert moved.find("GET", "/v1/files/a/b") is None


def test_base_paths_stand_before_the_shortest_path_of_an_operation() -> None:
    described = Operations({"GET /a": "list", "POST /a/{id}": "edit"})
    assert described.base_paths == [""]
    assert described.merged_with(described.with_prefix("/api")).merged_with(
        described.with_prefix("/v2")
    ).base_paths == ["", "/api", "/v2"]
    assert Operations({"GET /old/a": "a", "POST /b": "a", "GET /b": "a"}).base_paths == [""]


def test_a_segment_of_many_variables_names_nothing_and_costs_nothing() -> None:
    many = "-".join(f"{{v{number}}}" for number in range(3000))
    operations = Operations({f"POST /t/{many}": "Many", "POST /t/{a}-{b}": "Two"})
    assert operations.find("POST", "/t/" + "a-" * 3000) == ("Two", {"a": "a", "b": "-".join(["a"] * 2999) + "-"})
    assert Operations({f"POST /t/{many}": "Many"}).find("POST", "/t/" + "a-" * 3000) is None
