"""Bodies that a server could not read at all: their media type, their charset, their coding, JSON that is none."""

from __future__ import annotations

import gzip
import json
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_corrector
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.rows import rows

ORDER = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "gift": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "password": {"type": "string"},
    },
}
JSON, FORM, MERGE = "application/json", "application/x-www-form-urlencoded", "application/merge-patch+json"


def operation(name: str, *media: str) -> dict[str, Any]:
    content = {one: {"schema": ORDER} for one in media}
    return {"operationId": name, "requestBody": {"content": content}, "responses": {"200": {"description": "ok"}}}


DESCRIPTION = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/orders": {"post": operation("create", JSON)},
        "/forms": {"post": operation("fill", FORM)},
        "/both": {"post": operation("either", JSON, FORM)},
        "/merged": {"patch": operation("merge", MERGE)},
        "/patched": {"patch": operation("patch", MERGE, "application/strategic-merge-patch+json")},
        "/notes": {"post": operation("note", "text/csv")},
    },
}


@pytest.fixture(scope="module")
def corrector(tmp_path_factory: pytest.TempPathFactory) -> HttpCorrector:
    path = tmp_path_factory.mktemp("description") / "openapi.json"
    path.write_text(json.dumps(DESCRIPTION))
    return build_corrector([], spec=path)


class Refused:
    """A refused request, and what the proxy makes of it."""

    def __init__(
        self,
        corrector: HttpCorrector,
        body: bytes,
        media: str | None = JSON,
        *,
        target: str = "/orders",
        status: int = 400,
        answer: Any = None,
        headers: tuple[tuple[str, str], ...] = (),
        sent: tuple[tuple[str, str], ...] = (),
    ) -> None:
        fields = [*([("Content-Type", media)] if media is not None else []), *sent]
        method = "PATCH" if target in ("/merged", "/patched") else "POST"
        answer = {"message": "Bad Request"} if answer is None else answer
        raw = answer if isinstance(answer, bytes) else orjson.dumps(answer)
        native = HttpExchange(
            RequestHead(method, target, fields), body, ResponseHead(status, [("Content-Type", JSON), *headers]), raw
        )
        running = corrector.correct(native, id="e", started=1.0)
        self.feedback: Any = run_with_lookups_sync(running, lambda path: LookupAnswer(0)).feedback
        self.request = corrector._http.decode(native, "e", 1.0, 0.0, "").request

    @property
    def suggestion(self) -> dict[str, Any]:
        (suggestion,) = self.feedback["suggestions"]
        assert isinstance(suggestion, dict)
        return suggestion

    def repaired(self) -> tuple[str | None, Any]:
        """Return the media type and the body of the next request, which loses nothing."""
        assert self.suggestion["safety"] == {"side_effects": "certain", "changes_intent": False}
        after = apply(self.feedback, self.request)
        assert isinstance(after, Next), after
        return after.request.headers.get("content-type"), after.request.body

    def asked(self) -> list[str]:
        return [str(one["pointer"]) for one in self.suggestion["placeholders"]]


@rows("status", [400, 415, 422])
@rows(
    ("body", "value"),
    [
        (b'{"name": "a",}', {"name": "a"}),
        (b'{"name": "a", "tags": ["b", "c", ], }', {"name": "a", "tags": ["b", "c"]}),
        (b'{"name": ",}",\n}', {"name": ",}"}),
        (b'\xef\xbb\xbf{"name": "a"}', {"name": "a"}),
        (b'"{\\"name\\": \\"a\\"}"', {"name": "a"}),
    ],
)
def test_json_that_is_nearly_such_is_sent_as_it_was_meant(
    corrector: HttpCorrector, status: int, body: bytes, value: Any
) -> None:
    assert Refused(corrector, body, status=status).repaired() == (JSON, value)


@rows(
    ("body", "words"),
    [
        (b'{"count": 1', "line 1, column 12 a comma, or the end of the object or list is expected"),
        (b"{'name' 'a'}", "line 1, column 2 a member name in double quotes is expected"),
        (b'{"name": "a" // note\n}', "line 1, column 14 a comma"),
        (b'{\n  "name": "a"\n  "count": 1\n}', "line 3, column 3 a comma"),
        (b'{"name" "a"}', "line 1, column 9 a colon is expected"),
        (b'{"name": a}', "line 1, column 10 a value is expected"),
        (b'{"name": "a}', "line 1, column 10 the end of the text that begins there is expected"),
        (b'{"name": "a"} {}', "line 1, column 15 the end of the body is expected"),
        (b'{"name": "a", "count": NaN}', "line 1, column 24 a number is expected"),
        (b'{"name": "a", "name": "b",}', "Send valid JSON."),
        (b"name=a", "line 1, column 1 a value is expected"),
        (b'{"name": "gro\xdf"}', "in UTF-8"),
    ],
)
def test_json_that_is_broken_is_asked_for_with_the_place(corrector: HttpCorrector, body: bytes, words: str) -> None:
    refused = Refused(corrector, body)
    assert refused.asked() == ["/body"]
    assert words in refused.suggestion["message"]
    assert refused.feedback["message"].startswith("The body is no valid JSON")


def test_json_that_lacks_only_its_end_is_closed_once_that_is_confirmed(corrector: HttpCorrector) -> None:
    refused = Refused(corrector, b'{"name": "a"')
    assert isinstance(apply(refused.feedback, refused.request), NeedsInput)
    after = apply(refused.feedback, refused.request, confirm=True)
    assert isinstance(after, Next) and after.request.body == {"name": "a"}


@pytest.mark.parametrize("body", [b'"x"', b' "name"\n', b'"{name"', b'""'])
def test_a_text_is_valid_json_of_another_type(corrector: HttpCorrector, body: bytes) -> None:
    refused = Refused(corrector, body)
    assert refused.feedback["message"] == "The body is valid JSON, but a text. The operation takes an object."
    assert refused.asked() == ["/body"]
    assert refused.suggestion["message"] == "Send an object as the body, not a text."
    assert refused.suggestion["placeholders"][0]["schema"]["required"] == ["name"]


def test_a_text_is_no_mistake_where_nothing_says_so() -> None:
    assert Refused(build_corrector([]), b'"x"', target="/elsewhere").feedback is None


def test_a_text_that_only_begins_like_one_is_no_json(corrector: HttpCorrector) -> None:
    refused = Refused(corrector, b'"x" y')
    assert refused.feedback["message"].startswith("The body is no valid JSON: line 1")


def test_numbers_that_would_be_rounded_are_left_to_the_caller(corrector: HttpCorrector) -> None:
    assert Refused(corrector, b'{"name": "a", "count": 0.12345678901234567890,}').asked() == ["/body"]


def test_broken_json_is_told_without_a_description(corrector: HttpCorrector) -> None:
    refused = Refused(build_corrector([]), b'{"name": "a",}', target="/elsewhere")
    assert refused.repaired() == (JSON, {"name": "a"})


FLASK = {"message": "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."}
FASTAPI = {"detail": [{"type": "model_attributes_type", "loc": ["body"], "msg": "Input should be a valid dictionary"}]}
JOI = {"errors": [{"field": "name", "message": '"name" is required'}]}


@rows(("status", "answer"), [(415, FLASK), (415, b""), (422, FASTAPI), (400, JOI), (400, b""), (400, b"Invalid JSON")])
@rows("media", ["text/plain", "text/plain; charset=utf-8", "application/octet-stream", None, FORM])
def test_json_under_another_name_gets_its_own(
    corrector: HttpCorrector, media: str | None, status: int, answer: Any
) -> None:
    if media is None and (status, answer) == (400, b""):
        return  # nothing says that it is about the body
    refused = Refused(corrector, b'{"name": "a"}', media, status=status, answer=answer)
    assert refused.feedback is not None
    after = apply(refused.feedback, refused.request)
    assert isinstance(after, Next)
    assert (after.request.headers["content-type"], after.request.body) == (JSON, {"name": "a"})


def test_a_form_becomes_json_of_the_described_types(corrector: HttpCorrector) -> None:
    refused = Refused(corrector, b"name=5&count=7&gift=true&tags[]=a&tags[]=b&more=x", FORM, status=415)
    body = {"name": "5", "count": 7, "gift": True, "tags": ["a", "b"], "more": "x"}
    assert refused.repaired() == (JSON, body)
    assert refused.suggestion["verification"] == {"status": "verified", "method": "schema"}


def test_a_form_is_the_matter_where_a_number_in_it_is_no_number(corrector: HttpCorrector) -> None:
    answer = {"errors": [{"field": "count", "message": "count must be an integer"}]}
    assert Refused(corrector, b"name=a&count=7", FORM, answer=answer).repaired() == (JSON, {"name": "a", "count": 7})
    assert Refused(corrector, b"name=a&count=x", FORM, answer=answer).asked() == ["/body/count"]


def test_json_becomes_a_form_where_it_is_flat(corrector: HttpCorrector) -> None:
    refused = Refused(corrector, b'{"name": "a", "count": 7, "gift": true}', target="/forms", status=415)
    assert refused.repaired() == (FORM, {"name": "a", "count": "7", "gift": "true"})
    assert Refused(corrector, b'{"name": "a", "tags": ["b"]}', target="/forms", status=415).asked() == [
        "/headers/content-type"
    ]


def test_a_secret_is_not_written_anew(corrector: HttpCorrector) -> None:
    refused = Refused(corrector, b"name=a&password=hunter2", FORM, status=415)
    assert refused.asked() == ["/headers/content-type"]
    assert "hunter2" not in json.dumps(refused.feedback)


def test_a_kind_of_patch_is_chosen_where_there_is_one(corrector: HttpCorrector) -> None:
    assert Refused(corrector, b'{"name": "a"}', target="/merged", status=415).repaired() == (MERGE, {"name": "a"})
    several = Refused(corrector, b'{"name": "a"}', target="/patched", status=415)
    assert several.suggestion["placeholders"][0]["schema"]["enum"] == [MERGE, "application/strategic-merge-patch+json"]


def test_what_the_answer_lists_beats_the_description(corrector: HttpCorrector) -> None:
    listed = (("Accept-Patch", "application/vnd.acme+json; q=1, text/csv"),)
    refused = Refused(corrector, b'{"name": "a"}', target="/merged", status=415, headers=listed)
    assert refused.repaired() == ("application/vnd.acme+json", {"name": "a"})


def test_what_cannot_be_converted_is_asked_for(corrector: HttpCorrector) -> None:
    refused = Refused(corrector, b'{"name": "a"}', target="/notes", status=415)
    assert refused.suggestion["placeholders"][0]["schema"] == {"type": "string", "enum": ["text/csv"]}


def test_another_charset_goes(corrector: HttpCorrector) -> None:
    refused = Refused(corrector, '{"name": "gro\u00df"}'.encode("latin-1"), f"{JSON}; charset=iso-8859-1", status=415)
    assert refused.repaired() == (JSON, {"name": "gro\u00df"})


def test_a_coding_that_is_none_goes(corrector: HttpCorrector) -> None:
    coded = (("Content-Encoding", "gzip"),)
    refused = Refused(corrector, b'{"name": "a"}', sent=coded)
    assert [op["op"] for op in refused.suggestion["patch"]] == ["remove"]
    assert Refused(corrector, gzip.compress(b'{"name": "a"}')).asked() == ["/headers/content-encoding"]
    right = Refused(corrector, gzip.compress(b'{"name": "a"}'), sent=coded)
    assert "content-encoding" not in json.dumps(right.feedback) and "patch" not in json.dumps(right.feedback)


@rows("status", [401, 402, 403, 404, 409, 412, 423, 428, 429, 500, 503])
@rows("body", [b'{"name": "a",}', b"name=a"])
def test_no_other_refusal_is_about_the_body(corrector: HttpCorrector, status: int, body: bytes) -> None:
    condition = (("If-Match", '"1"'),) if status == 412 else ()
    feedback = Refused(corrector, body, JSON if body[:1] == b"{" else FORM, status=status, sent=condition).feedback
    assert "contentJson" not in json.dumps(feedback) and '"/body"' not in json.dumps(feedback)
    assert "content-type" not in json.dumps(feedback)


@pytest.mark.parametrize(
    ("answer", "media"),
    [
        ({"message": "An order of that name exists already."}, "text/plain"),
        ({"errors": [{"field": "count", "message": "must be a number"}]}, FORM),
        ({"message": "Bad Request"}, "application/vnd.acme+json"),
    ],
)
def test_a_complaint_of_something_else_is_not_about_the_media_type(
    corrector: HttpCorrector, answer: Any, media: str
) -> None:
    body = b'{"name": "a", "count": 1}' if media != FORM else b"name=a&count=x"
    feedback = Refused(corrector, body, media, answer=answer).feedback
    assert "/headers/content-type" not in json.dumps(feedback)


@pytest.mark.parametrize("media", [JSON, FORM, f"{JSON}; charset=UTF-8"])
def test_a_media_type_that_is_taken_stays(corrector: HttpCorrector, media: str) -> None:
    body = b"name=a" if media == FORM else b'{"name": "a"}'
    assert Refused(corrector, body, media, target="/both", status=415).feedback is None
