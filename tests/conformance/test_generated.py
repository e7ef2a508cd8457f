"""Producers judged by requests that are made from their descriptions: what is sent, what is said, how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.demo.recipe import service
from corrigible.adapters.sandbox.server import Running
from corrigible.conformance.checks.http import generated_request
from corrigible.conformance.checks.http.generated_request import Plan, load, plan
from corrigible.conformance.cli import main
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest, request_document
from corrigible.conformance.transport.process import ServerProcess, free_port
from corrigible.conformance.validators.openapi import Description
from corrigible.schema.exchange import Json
from tests._support.raw_proxy import corrected
from tests._support.rows import rows

from .made import checks_of
from .stand_in import Spoil, edited, fronted

SHOP = SUITE / "reference" / "openapi.yaml"
RECIPE = Path(service.__file__).parent / "openapi.yaml"
FASTAPI = Path(__file__).parent.parent / "_support" / "fastapi_service.py"
MOST = 40
QUICK = ["--rate", "1000", "--requests", str(MOST)]


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(load(SHOP), most=MOST)


def judged(url: str, spec: Path, *more: str) -> int:
    return main(["check", "--target", url, "--role", "producer", "--spec", str(spec), *QUICK, *more])


@contextmanager
def running(command: list[str], port: int) -> Iterator[str]:
    with ServerProcess(command, address=f"127.0.0.1:{port}"):
        yield f"http://127.0.0.1:{port}"


# What is sent


def test_every_request_breaks_the_description_and_only_harmless_methods_are_tried(planned: Plan) -> None:
    description = Description.load(SHOP)
    assert len(planned.requests) == MOST == len({one.sent for one in planned.requests})
    for one in planned.requests:
        assert description.breaches_of(request_document(one.sent)), one
        assert one.what and one.sent.method in ("GET", "POST")
    assert any("--unsafe also tries PATCH" in said for said in planned.left_out)
    assert any(one.sent.method == "PATCH" for one in plan(load(SHOP), most=MOST, unsafe=True).requests)


def test_operations_take_turns(planned: Plan) -> None:
    first = [one.operation for one in planned.requests[:6]]
    assert len(set(first)) == len(first)


def test_a_seed_makes_the_same_requests_again_and_another_seed_others(planned: Plan) -> None:
    generated_request._plan.cache_clear()
    assert plan(load(SHOP), most=MOST).requests == planned.requests
    assert plan(load(SHOP), seed=1, most=MOST).requests != planned.requests


@pytest.mark.nightly
def test_a_seed_makes_the_same_requests_in_another_process(planned: Plan) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from corrigible.conformance.checks.http.generated_request import load, plan;"
        "print(*(repr(one) for one in plan(load(Path(sys.argv[1])), most=int(sys.argv[2])).requests), sep='\\n')"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(SHOP), str(MOST)], capture_output=True, text=True, check=True
    ).stdout
    assert said.splitlines() == [repr(one) for one in planned.requests]


BROKEN: dict[str, tuple[str, str]] = {
    "no YAML": ("a: [", "neither YAML nor JSON"),
    "a list": ("[]", "an OpenAPI description is an object, not list"),
    "nothing": ("", "an OpenAPI description is an object, not NoneType"),
    "an older one": ('swagger: "2.0"', 'it does not say "openapi"'),
    "no paths": ("openapi: 3.1.0", "it describes no paths"),
    "a path that is none": ("openapi: 3.1.0\npaths: {/a: 1}", "a path item is an object, not int"),
    "a reference to nowhere": (
        "openapi: 3.1.0\npaths: {/a: {get: {parameters: [{$ref: '#/components/parameters/A'}]}}}",
        "a reference leads nowhere: #/components/parameters/A",
    ),
    "another file": ("openapi: 3.1.0\npaths: {/a: {$ref: 'other.yaml#/a'}}", "bundle it first"),
}


@rows(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_description_is_told_in_a_sentence(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "openapi.yaml"
    path.write_text(text)
    assert judged("http://127.0.0.1:9", path) == 2
    found = capsys.readouterr().err
    assert said in found and str(path) in found and "Traceback" not in found


def test_a_description_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert judged("http://127.0.0.1:9", Path("nowhere.yaml")) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--rate", "0"], ["--requests", "-1"], ["--header", "Authorization"]])
def test_options_that_make_no_sense_are_refused(options: list[str]) -> None:
    assert judged("http://127.0.0.1:9", SHOP, *options) == 2


def test_a_description_may_only_have_operations_that_cannot_be_called_wrongly(tmp_path: Path) -> None:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps({"openapi": "3.1.0", "info": {}, "paths": {"/a": {"get": {"responses": {}}}}}))
    made = plan(load(path))
    assert made.requests == () and made.left_out == ("GET /a: nothing that it takes can be wrong",)


# What is said


def test_a_proxy_that_conforms_passes(capsys: pytest.CaptureFixture[str]) -> None:
    with fronted("http-json", str(SUITE / "reference" / "pack"), spec=SHOP, api=Shop()) as subject:
        assert judged(subject.wire.url, SHOP) == 2  # nothing failed, and what needs provocations was not run
    said = " ".join(capsys.readouterr().out.split())
    assert f"{MOST} bad requests were made from the description (seed 0): {MOST} refused." in said
    assert "openapi-core, a second judge, agrees about" in said


def test_a_bare_api_says_nothing_and_hears_it_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with Upstream(Shop()) as shop:
        assert judged(shop.url, SHOP) == 1
    said = capsys.readouterr().out
    assert f"None of {MOST} requests that were refused for breaking the description got recovery_feedback." in said
    assert said.count("FAILED") == 1 and "curl -i -X" in said


def lacking(name: str) -> Callable[[Any], None]:
    def edit(body: Any) -> None:
        for one in body.get("recovery_feedback", {}).get("suggestions", ()):
            one.pop(name, None)

    return edit


def useless(body: Any) -> None:
    """Put a value that is as wrong as the one before it, wherever one is put."""
    for one in body.get("recovery_feedback", {}).get("suggestions", ()):
        for op in one.get("patch", ()):
            if "value" in op and op["op"] != "test" and op["path"].startswith("/query/"):
                op["value"] = "xyzzy"


def newly_wrong(body: Any) -> None:
    """Put a wrong value where the request was right, beside each edit."""
    for one in body.get("recovery_feedback", {}).get("suggestions", ()):
        if any(op["path"].startswith("/body/") for op in one.get("patch", ())):
            one["patch"].append({"op": "add", "path": "/body/customer", "value": {"wrong": True}})


def mute_about_orders(said: Any) -> None:
    if said.asked.target.startswith("/v1/orders"):
        said.body = said.native.body


FAULTS: dict[str, tuple[Spoil, str, str]] = {
    "no feedback in one place": (mute_about_orders, "generated/answered", "SRF-COR-01"),
    "no parameters": (edited(lacking("parameters")), "generated/shape", "SRF-COR-06"),
    "a clamp goes unsaid": (edited(lacking("safety")), "generated/edits", "SRF-OPS-09"),
    "what is put is as wrong": (edited(useless), "generated/mends", "SRF-COR-14"),
    "what is put is wrong where all was right": (edited(newly_wrong), "generated/second-judge", "SRF-COR-14"),
    "no evidence": (edited(lacking("evidence")), "generated/words", "SRF-SEC-03"),
}


@rows(("spoil", "check", "requirement"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_caught_and_told_once(
    spoil: Spoil, check: str, requirement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    with fronted("http-json", str(SUITE / "reference" / "pack"), spoil, spec=SHOP, api=Shop()) as subject:
        assert judged(subject.wire.url, SHOP, "--report", f"json={report}") == 1
    flaws = [
        (one["check"], flaw["requirement"], flaw["message"])
        for one in map(json.loads, report.read_text().splitlines())
        for flaw in one.get("flaws", ())
    ]
    assert (check, requirement) in {flaw[:2] for flaw in flaws}
    assert len(flaws) < 15


def test_what_is_let_through_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with Upstream(lambda received: answer(200, {})) as careless:
        assert judged(careless.url, SHOP) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert f"{MOST} that the description forbids were let through" in said
    assert "of them writes that may have done something" in said


def test_server_errors_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with Upstream(lambda received: answer(500, {})) as broken:
        judged(broken.url, SHOP)
    assert f"{MOST} were answered with a server error" in capsys.readouterr().out


def test_who_wants_no_more_is_asked_no_more() -> None:
    with Upstream(lambda received: answer(429, {}, [("Retry-After", "3600")])) as busy:
        judged(busy.url, SHOP)
        paths = [one.sent.target.partition("?")[0] for one in busy.requests]
    assert [path for path in paths if path != "/conformance/silence"] == ["/v1/items"]  # a slow run asks that, too


def test_nothing_that_writes_is_mended_by_sending_it_unless_told_to() -> None:
    """A mended request is a good one: whoever points the suite at an API does not want an order for each."""
    sent: list[HttpRequest] = []

    def refuses(received: Received) -> Script:
        sent.append(received.sent)
        return _with_a_way(received.sent)

    with Upstream(refuses) as api:
        judged(api.url, SHOP)
        description = Description.load(SHOP)
        good = [one for one in sent if not description.breaches_of(request_document(one))]
        assert good and {one.method for one in good} == {"GET"}
        sent.clear()
        judged(api.url, SHOP, "--unsafe")
        assert any(one.method == "POST" and one.target == "/v1/shipments" for one in sent)


def _with_a_way(sent: HttpRequest) -> Script:
    said: Json = {"action": "MODIFY_PARAMS", "parameters": {}, "message": "Ask for less."}
    if sent.method == "GET":
        said["patch"] = [{"op": "replace", "path": "/query", "value": {}}]
    else:
        body = {"order": "ord_1"}
        said["patch"] = [{"op": "add", "path": "/body", "value": body}, {"op": "add", "path": "/query", "value": {}}]
    feedback = {"type": "recovery_guidance", "message": "Not so.", "suggestions": [said]}
    return answer(422, {"error": "no", "recovery_feedback": feedback})


def test_credentials_of_the_config_go_out_and_stay_out_of_the_report(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    key = "sk_test_0123456789abcdef"
    with Upstream(lambda received: answer(422, {})) as api:
        judged(api.url, SHOP, "--header", f"Authorization: Bearer {key}", "--report", f"json={report}")
        assert [one.sent for one in api.requests if one.sent.header("authorization") != f"Bearer {key}"] == []
        assert len({one.sent.header("prefer") for one in api.requests}) == len(api.requests)
    assert key not in json.loads(report.read_text().splitlines()[0])["options"]


# Subjects that are not of the suite


def test_the_recipe_service_does_not_explain_what_breaks_its_description(
    recipe_server: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its feedback is about recipes; a body in the wrong form is refused without any."""
    assert judged(recipe_server.url, RECIPE) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "requests that were refused for breaking the description got no recovery_feedback, in 2 operations" in said
    assert "FAILED" in said and said.count("FAILED") == 1


def test_a_service_of_fastapi_conforms_behind_our_proxy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    with running([sys.executable, str(FASTAPI), str(port)], port) as upstream:
        spec = tmp_path / "openapi.json"
        spec.write_bytes(HttpClient(upstream).send(HttpRequest("GET", "/openapi.json")).body)
        with corrected(upstream, spec=spec) as url:
            assert judged(url, spec) == 2
            said = capsys.readouterr().out
            assert "7 passed, 0 failed, 37 not run\n" in said
            assert "could not tell: SRF 0.1 L3, 1 of 33 run" in said  # no level, and no badge


def test_the_checks_are_for_producers_with_a_description() -> None:
    assert {role for one in checks_of("generated/") for role in one.roles} == {"producer"}
    with Upstream(Shop()) as shop:
        assert main(["check", "--target", shop.url, "--role", "producer"]) == 2


def test_a_generator_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "schemathesis", None)
    with pytest.raises(UsageError, match="not installed"):
        plan(load(SHOP), seed=291)  # plans are kept, and no other test makes this one
