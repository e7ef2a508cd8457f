"""`conformance init` tries what a description says, harmlessly, and writes a config that `conformance check` takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from corrigible.conformance.cli import main
from corrigible.conformance.command.init import Found, config, planned
from corrigible.conformance.model.vector import request_of
from corrigible.conformance.model.yaml_file import SUITE, load_yaml
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.conformance.suite.config import load
from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.conformance.validators.openapi import Description
from tests._support.rows import rows

from .stand_in import fronted

SHOP = SUITE / "reference" / "openapi.yaml"


def described(**paths: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {f"/{n}": v for n, v in paths.items()}}


def required(**properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": [*properties], "properties": properties}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}, "responses": {}}


def settings_of(path: Path) -> dict[str, Any]:
    return load(path).subjects["http-json"].settings


def test_a_config_is_made_of_what_the_api_refuses_and_accepts(tmp_path: Path) -> None:
    out = tmp_path / "c.yaml"
    with Upstream(Shop()) as shop:
        assert main(["init", shop.url, "--spec", str(SHOP), "--out", str(out), "--yes"]) == 0
        asked = [received.sent for received in shop.requests]
        made = settings_of(out)
        again = [Shop()(Received(HttpRequest(**of(one["request"])), b"", 0.0)) for one in made["provocations"]]
    assert {one.method for one in asked} == {"GET", "POST", "PATCH"}
    assert {one.body for one in asked if one.method != "GET"} == {b"{}"}
    assert all(status(script) in (400, 422) for script in again)
    assert len(made["provocations"]) > 5 and len(made["accepted"]) >= 2
    assert load(out).subjects["http-json"].spec == str(SHOP)


def of(entry: dict[str, Any]) -> dict[str, Any]:
    from corrigible.conformance.checks.support.exchange import as_sent

    sent = as_sent(request_of(entry))
    return {"method": sent.method, "target": sent.target, "headers": sent.headers, "body": sent.body}


def status(script: Script) -> int:
    head = script.parts[0]
    assert isinstance(head, bytes)
    return int(head.split()[1])


def test_every_write_that_is_tried_lacks_what_nothing_stands_for() -> None:
    document = load_yaml(SHOP.read_text("utf-8"))
    description = Description(document)
    for attempt in planned(document, 200):
        request = attempt.sent
        if attempt.writes:
            assert request.method != "DELETE" and request.body == b"{}" and attempt.missing
        elif not attempt.accepted:
            assert description.breaches_of(request_of(parsed(request))), attempt


def parsed(sent: HttpRequest) -> dict[str, Any]:
    from corrigible.conformance.transport.http1 import request_document

    request = request_document(sent)
    return {"method": request.method, "path": request.path, "query": request.query, "headers": request.headers}


HARMFUL = {
    "a delete": described(a={"delete": required(b={"type": "string"})}),
    "members that may be left out": described(a={"post": required()}),
    "a default": described(a={"post": required(b={"type": "string", "default": "x"})}),
    "what only answers have": described(a={"post": required(b={"type": "string", "readOnly": True})}),
    "a list": described(a={"post": {"requestBody": {"content": {"application/json": {"schema": {"type": "array"}}}}}}),
    "no body": described(a={"post": {"responses": {}}}),
    "an optional body": described(a={"post": {"requestBody": {"content": {}}, "responses": {}}}),
}


def reads(template: str, *parameters: Any) -> dict[str, Any]:
    operation = {"get": {"parameters": [*parameters], "responses": {}}}
    return {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {template: operation}}


def header(name: str, value: Any) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": True, "example": value, "schema": {"type": "string"}}


STRANGE = {
    "another host": reads("/a", header("Host", "elsewhere.test")),
    "another length": reads("/a", header("Content-Length", "5")),
    "another method": reads("/a", header("X-HTTP-Method-Override", "DELETE")),
    "a line end in a value": reads("/a", header("X-A", "b\r\nX-C: d")),
    "a line end in a path": reads("/a\r\nX-C: d"),
    "a blank in a path": reads("/a b"),
    "no latin letters": reads("/ä", header("X-A", "ü")),
    "no parameters": reads("/a", 1, {"name": 1}, {"in": "query"}),
}


@rows("document", STRANGE.values(), ids=STRANGE.keys())
def test_nothing_of_a_description_leaves_its_place_in_a_request(document: dict[str, Any], tmp_path: Path) -> None:
    with Upstream(serving(document, lambda sent: answer(200, {}))) as api:
        main(["init", api.url, "--yes", "--out", str(tmp_path / "c.yaml")])
        for received in api.requests:
            names = {name.lower() for name, _ in received.sent.headers}
            assert names <= {"host", "prefer", "x-a"} and received.sent.header("host") == api.url.removeprefix(
                "http://"
            )
            assert received.sent.target in ("/openapi.json", "/a") or received.sent.target.startswith("/a?")


def test_writes_are_tried_however_many_reads_there_are() -> None:
    wrong = {"get": {"parameters": [{"name": "n", "in": "query", "schema": {"type": "integer"}}], "responses": {}}}
    document = described(**{f"r{number}": wrong for number in range(30)}, w={"post": required(b={"type": "string"})})
    attempts = planned(document, 20)
    assert len(attempts) == 20 and attempts[-1].sent.method == "POST"


@rows("document", HARMFUL.values(), ids=HARMFUL.keys())
def test_what_an_api_may_do_is_not_tried(document: dict[str, Any]) -> None:
    assert planned(document, 100) == []


@pytest.mark.parametrize(
    ("options", "methods"), [(["--dry-run"], set()), (["--dry-run", "--yes"], set()), ([], {"GET"})]
)
def test_writes_need_a_yes_and_a_dry_run_sends_nothing(
    options: list[str], methods: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c.yaml"
    with Upstream(Shop()) as shop:
        assert main(["init", shop.url, "--spec", str(SHOP), "--out", str(out), *options]) == 0
        assert {received.sent.method for received in shop.requests} == methods
    assert "POST /v1/orders  {}" in capsys.readouterr().out
    assert out.exists() == (not options)


def test_without_a_url_nothing_is_tried_and_the_config_says_so(tmp_path: Path) -> None:
    out = tmp_path / "c.yaml"
    assert main(["init", "--spec", str(SHOP), "--out", str(out)]) == 0
    assert "# Nothing was tried: set `target`" in out.read_text("utf-8")
    assert any(one["name"].startswith("POST /v1/orders") for one in settings_of(out)["provocations"])


def serving(document: dict[str, Any], answers: Callable[[HttpRequest], Script]) -> Callable[[Received], Script]:
    def serve(received: Received) -> Script:
        if received.sent.target == "/openapi.json":
            return answer(200, document)
        return answers(received.sent)

    return serve


def test_the_description_is_read_from_the_api_and_kept_beside_the_config(tmp_path: Path) -> None:
    document = described(a={"post": required(b={"type": "string"}, c={"type": "integer"})})
    with Upstream(serving(document, lambda sent: answer(422, {"missing": ["b", "c"]}))) as api:
        assert main(["init", api.url, "--yes", "--out", str(tmp_path / "c.yaml")]) == 0
        assert main(["init", f"{api.url}/openapi.json", "--yes", "--out", str(tmp_path / "d.yaml")]) == 0
    assert json.loads((tmp_path / "c.openapi.yaml").read_text("utf-8")) == document
    first = settings_of(tmp_path / "c.yaml")["provocations"][0]
    assert first == {
        "name": "POST /a without b, c",
        "faults": 2,
        "request": {"method": "POST", "path": "/a", "body": {}},
    }


def test_a_form_is_sent_as_a_form(tmp_path: Path) -> None:
    document = described(a={"post": required(b={"type": "string"})})
    content = document["paths"]["/a"]["post"]["requestBody"]["content"]
    content["application/x-www-form-urlencoded"] = content.pop("application/json")
    with Upstream(serving(document, lambda sent: answer(400, {}))) as api:
        assert main(["init", api.url, "--yes", "--out", str(tmp_path / "c.yaml")]) == 0
        write = api.requests[-1].sent
    assert (write.header("content-type"), write.body) == ("application/x-www-form-urlencoded", b"")
    (made, _) = settings_of(tmp_path / "c.yaml")["provocations"]
    assert made["request"] == {"method": "POST", "path": "/a", "form": True, "body": {}}
    assert of(made["request"])["body"] == b""


def test_what_is_done_though_it_is_forbidden_is_told_and_not_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = described(a={"post": required(b={"type": "string"})})
    with Upstream(serving(document, lambda sent: answer(201, {}))) as api:
        assert main(["init", api.url, "--yes", "--out", str(tmp_path / "c.yaml")]) == 2
    assert "1 of the requests got 201, though the description forbids them" in capsys.readouterr().out
    assert "needs `provocations`" in (tmp_path / "c.yaml").read_text("utf-8")


def test_credentials_are_sent_and_not_written(tmp_path: Path) -> None:
    document = described(a={"post": required(b={"type": "string"})})

    def answers(sent: HttpRequest) -> Script:
        return answer(401 if sent.header("X-Api-Key") != "sk-very-secret" else 422, {})

    with Upstream(serving(document, answers)) as api:
        options = ["--yes", "--header", "X-Api-Key: sk-very-secret", "--out", str(tmp_path / "c.yaml")]
        assert main(["init", api.url, *options]) == 0
        assert [one.sent.header("x-api-key") for one in api.requests] == ["sk-very-secret"] * 2
        assert main(["check", "--config", str(tmp_path / "c.yaml"), *options[1:3], "--only", "core/present"]) == 1
        assert {one.sent.header("x-api-key") for one in api.requests} == {"sk-very-secret"}
    assert all("sk-very-secret" not in path.read_text("utf-8") for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    "spoilt",
    [
        {"servers": ["x"]},
        {"paths": {"/a": {"post": {"parameters": [{"$ref": "#/components/nowhere"}], "requestBody": 5}}}},
        {"paths": {"/a": {"get": {"parameters": [{"$ref": {}}], "responses": {}}}}},
    ],
)
def test_what_is_no_openapi_is_told(spoilt: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "openapi.json"
    spec.write_text(json.dumps(described(a={"get": {"responses": {}}}) | spoilt))
    assert main(["init", "--spec", str(spec), "--out", str(tmp_path / "c.yaml")]) == 2
    assert "Traceback" not in (said := capsys.readouterr().err) and said.count("\n") == 1


REFUSED = {
    "nothing": ([], "give the API's URL"),
    "https": (["https://127.0.0.1:1"], "not http://host:port"),
    "credentials": (["http://a:b@127.0.0.1:1"], "credentials do not belong in the URL"),
    "nobody": (["http://127.0.0.1:9"], "no answer from http://127.0.0.1:9"),
    "no number": (["--spec", str(SHOP), "--requests", "0"], "a number above 0"),
    "no description": (["--spec", "nowhere.yaml"], "No such file"),
}


@rows(("arguments", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_makes_no_sense_is_told(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", *arguments, "--out", str(tmp_path / "c.yaml")]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.yaml"
    out.write_text("mine")
    assert main(["init", "--spec", str(SHOP), "--out", str(out)]) == 2
    assert out.read_text() == "mine" and "is there already" in capsys.readouterr().err


def test_the_config_runs_and_what_it_calls_missing_is_what_is_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, record = tmp_path / "c.yaml", tmp_path / "run.jsonl"
    quick = ["--rate", "1000", "--requests", "20", "--report", f"json={record}"]
    with fronted("http-json", str(SUITE / "reference" / "pack"), spec=SHOP, api=Shop()) as subject:
        assert main(["init", subject.wire.url, "--spec", str(SHOP), "--out", str(out), "--yes"]) == 0
        main(["check", "--config", str(out), *quick])
    entries = [json.loads(line) for line in record.read_text("utf-8").splitlines()][1:-1]
    not_run = {one["reason"] for one in entries if one["outcome"] == "not run"}
    commented = {line[4:] for line in out.read_text("utf-8").splitlines() if line.startswith("# - ")}
    assert not_run == commented
    assert [one["check"] for one in entries if one["outcome"] == "failed"] == []
    assert sum(one["outcome"] == "passed" for one in entries) > 40


texts = st.text(max_size=30) | st.sampled_from(
    ["a: b", "x\n- y: z", "# no\nsubjects: {}", "'", '"', "{a}", "\u2028", "&a *a"]
)


def test_nothing_of_a_description_becomes_yaml_of_ours() -> None:
    def written(title: str, found: Found) -> str:
        return config("http://127.0.0.1:1", SHOP, Path("c.yaml"), {"info": {"title": title}}, found)

    # Requests of the description are generated at the first call and kept: Schemathesis may not run within an example.
    written("any", Found([]))

    @settings(max_examples=25, deadline=None)
    @given(title=texts, name=texts, value=texts)
    def holds(title: str, name: str, value: str) -> None:
        found = Found([{"name": name, "request": {"method": "GET", "path": "/a", "query": {name: value}}}])
        made = yaml.safe_load(written(title, found))
        assert made.keys() == {"subject", "subjects"}
        assert made["subjects"]["http-json"].keys() == {"role", "target", "spec", "settings"}
        assert made["subjects"]["http-json"]["settings"] == {"provocations": found.provocations}

    holds()
