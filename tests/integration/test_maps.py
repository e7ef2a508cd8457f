"""Operations that a real server lacks: the proxy says which other one does it, and it does. On both engines."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, Running, Server
from corrigible.proxy.build import MapFiles
from corrigible.proxy.cli import main
from corrigible.proxy.demo.scene import proxy_for
from corrigible.schema import NeedsInput, Next, Request, Terminal, apply
from corrigible.schema.document import form_pairs
from tests._support.command import start
from tests._support.envoy_command import eventually
from tests._support.raw_proxy import corrected

ROOT = Path(__file__).parents[2]
FLOWS = ROOT / "tests" / "_support" / "flow_service.py"
ENGINES = ("mitmproxy", "envoy")
KEY = {"authorization": "Bearer sk_test_maps"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "envoy":
        pytest.importorskip("envoy", exc_type=ImportError)
    return str(request.param)


@pytest.fixture(scope="module")
def stripe(stripe_server: Running, engine: str) -> Iterator[str]:
    """The address of a proxy before it."""
    with corrected(stripe_server.url, "stripe", engine=engine) as url:
        yield url


@pytest.fixture(scope="module")
def flows() -> Iterator[Running]:
    def command(port: int) -> Command:
        return Command(python_arguments(FLOWS.read_text("utf-8"), str(port), executable=sys.executable))

    with Server(name="flows", title="flows", deviation="", command=command).start() as running:
        yield running


def called(url: str, request: Request) -> httpx.Response:
    headers = {**KEY, **dict(request.headers)}
    content: Any = {"json": request.body} if request.body is not None else {}
    if request.form:
        content = {"data": dict(form_pairs(request.body))}
    return httpx.request(
        request.method, f"{url}{request.path}", params=dict(request.query), headers=headers, timeout=30, **content
    )


def followed(url: str, request: Request) -> tuple[dict[str, Any], Any]:
    """Return the suggestion for a refused call, and what a reader makes of it."""
    answer = called(url, request)
    assert answer.status_code >= 400, answer.text
    feedback = answer.json()["recovery_feedback"]
    return feedback["suggestions"][0], apply(feedback, request)


class TestStripe:
    @pytest.fixture
    def subscription(self, stripe_server: Running) -> Any:
        """Make a customer with a plan."""

        def made(path: str, **fields: str) -> Any:
            answer = httpx.post(f"{stripe_server.url}/v1/{path}", data=fields, headers=KEY, timeout=30)
            assert answer.status_code == 200, answer.text
            return answer.json()

        customer = made("customers", email="maps@example.com", source="tok_visa")
        product = made("products", name="p", type="service")
        plan = made("plans", currency="usd", amount="500", product=product["id"], interval="month")
        item = {"items[0][plan]": plan["id"], "items[0][quantity]": "1"}
        return made("subscriptions", customer=customer["id"], **item)

    def test_a_subscription_is_changed_by_its_item(
        self, stripe_server: Running, stripe: str, subscription: Any
    ) -> None:
        (item,) = subscription["items"]["data"]
        body = {"items": [{"id": item["id"], "quantity": "3"}]}
        request = Request("POST", f"/v1/subscriptions/{subscription['id']}", headers=FORM, body=body, form=True)
        suggestion, following = followed(stripe, request)
        assert suggestion["action"] == "USE_ALTERNATIVE_ENDPOINT"
        assert (suggestion["applicability"], suggestion["safety"]) == (
            "MAYBE_INCORRECT",
            {"side_effects": "certain", "changes_intent": False},
        )
        assert isinstance(following, Next)
        assert called(stripe, following.request).json()["quantity"] == 3
        stored = httpx.get(f"{stripe_server.url}/v1/subscriptions/{subscription['id']}", headers=KEY, timeout=30).json()
        assert [one["quantity"] for one in stored["items"]["data"]] == [3]

    def test_what_the_item_does_not_take_is_told_as_lost(self, stripe: str, subscription: Any) -> None:
        (item,) = subscription["items"]["data"]
        body = {"items": [{"id": item["id"], "quantity": "3"}], "cancel_at_period_end": "true"}
        request = Request("POST", f"/v1/subscriptions/{subscription['id']}", headers=FORM, body=body, form=True)
        suggestion, following = followed(stripe, request)
        assert suggestion["safety"]["loses"] == ["/body/cancel_at_period_end"]
        assert suggestion["safety"]["changes_intent"]
        assert isinstance(following, NeedsInput)

    def test_an_item_of_another_subscription_is_not_changed(self, stripe: str, subscription: Any) -> None:
        (item,) = subscription["items"]["data"]
        body = {"items": [{"id": item["id"], "quantity": "3"}]}
        request = Request("POST", "/v1/subscriptions/sub_another", headers=FORM, body=body, form=True)
        suggestion, following = followed(stripe, request)
        assert suggestion["evidence"]["kind"] == "rule"
        assert not isinstance(following, Next)

    def test_the_subscriptions_of_a_customer_are_listed_elsewhere(self, stripe: str, subscription: Any) -> None:
        path = f"/v1/customers/{subscription['customer']}/subscriptions"
        suggestion, following = followed(stripe, Request("GET", path, query={"limit": "3"}))
        assert suggestion["verification"] == {"status": "verified", "method": "lookup"}
        assert isinstance(following, Next)
        assert [one["id"] for one in called(stripe, following.request).json()["data"]] == [subscription["id"]]


class TestFlows:
    @pytest.mark.parametrize("path", ["/flow_runs", "/flow_runs/"])  # the one is a 404, the other a 405
    def test_a_list_is_read_by_the_filter_beside_it(
        self, flows: Running, engine: str, path: str, tmp_path: Path
    ) -> None:
        spec = tmp_path / "openapi.json"
        spec.write_bytes(httpx.get(f"{flows.url}/openapi.json", timeout=60).content)
        with corrected(flows.url, engine=engine, spec=spec) as url:
            request = Request("GET", path, query={"limit": "2", "state": "Failed"})
            suggestion, following = followed(url, request)
            assert suggestion["safety"] == {"side_effects": "possible", "changes_intent": False}
            assert isinstance(following, Next)
            runs = called(url, following.request).json()
            assert [run["id"] for run in runs] == ["0", "2"]

    def test_a_map_of_the_operator_is_read_and_read_anew(self, flows: Running, engine: str, tmp_path: Path) -> None:
        file = tmp_path / "map.json"
        write(file, "/flows/{id}")
        with proxy_for(
            flows.url, "http", options=["--map", str(file), "--reload", "--engine", engine]
        ).start() as proxy:
            following = followed(proxy.url, Request("GET", "/flows/3"))[1]
            assert isinstance(following, Next)
            assert called(proxy.url, following.request).json()["id"] == "3"
            assert not is_led(proxy.url, "/runs/3")
            write(file, "/runs/{id}")
            # Correctors read it each in their own time: whoever answers first, the others may still have the old one.
            eventually(lambda: [is_led(proxy.url, path) for path in ("/runs/3", "/flows/3") * 4] == [True, False] * 4)

    def test_credentials_are_not_sent_to_another_server(self, flows: Running, engine: str, tmp_path: Path) -> None:
        """The other one hears nothing at all; who listed it is told of it."""
        file = tmp_path / "map.json"
        write(file, "/flows/{id}", origin="https://elsewhere.test")
        for listed in ([], ["https://elsewhere.test"]):
            with corrected(flows.url, "http", engine=engine, maps=MapFiles([file], flows.url, listed)) as url:
                answer = called(url, Request("GET", "/flows/3"))
                if not listed:
                    assert "elsewhere" not in answer.text
                    continue
                feedback = answer.json()["recovery_feedback"]
                assert "patch" not in feedback["suggestions"][0]
                assert isinstance(apply(feedback, Request("GET", "/flows/3")), Terminal)

    def test_a_configuration_names_maps_too(self, flows: Running, tmp_path: Path) -> None:
        write(tmp_path / "map.json", "/flows/{id}")
        config = tmp_path / "corrigible.yaml"
        api = {"name": "flows", "upstream": flows.url, "pack": ["http"], "map": ["map.json"]}
        config.write_text(json.dumps({"apis": [api]}))
        with configured(config).start() as proxy:
            following = followed(proxy.url, Request("GET", "/flows/3"))[1]
            assert isinstance(following, Next)
            assert following.request.path == "/flow_runs/3"


def is_led(url: str, path: str) -> bool:
    """Whether somebody who asks for this, and has not asked before, hears of another operation."""
    request = Request("GET", path, headers={"authorization": f"Bearer {token_hex(4)}"})
    feedback = called(url, request).json().get("recovery_feedback") or {"suggestions": []}
    return any(one["action"] == "USE_ALTERNATIVE_ENDPOINT" for one in feedback["suggestions"])


def configured(config: Path) -> Server:
    def command(port: int) -> Command:
        code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
        words = ["proxy", "--config", str(config), "--listen", f"{HOST}:{port}"]
        return Command(python_arguments(code, *words, executable=sys.executable))

    return Server(name="proxy", title="proxy", deviation="", command=command)


def write(file: Path, source: str, *, origin: str = "") -> None:
    """Write a map of one read to another one."""
    mapping = {
        "source": {"api": "flows", "method": "GET", "path": source},
        "target": {"api": "other" if origin else "flows", "method": "GET", "path": "/flow_runs/{id}"},
        "equivalence": "same",
        "score": 1.0,
        "arguments": [{"source": "/path/id", "target": "/path/id"}],
    }
    apis = [{"name": "flows"}, {"name": "other", "origin": origin}]
    document = {"format": "corrigible map 1", "method": "by hand", "apis": apis, "mappings": [mapping]}
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(document), "utf-8")
    os.replace(fresh, file)


def test_the_command_of_the_guide(flows: Running) -> None:
    text = (ROOT / "docs/operators.md").read_text("utf-8").replace(" \\\n", " ")
    (line,) = (line for line in text.splitlines() if line.startswith("corrigible ") and "--map " in line)
    words = shlex.split(line)[1:]
    for option, value in (("--upstream", flows.url), ("--listen", f"{HOST}:0"), ("--map", "docs/examples/map.json")):
        at = words.index(option) + 1
        words[at] = str(ROOT / value) if option == "--map" else value
    with start(["corrigible", *words], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[1]
            suggestion, following = followed(url, Request("GET", "/flow_runs", query={"limit": "2"}))
            assert suggestion["safety"] == {"side_effects": "none", "changes_intent": False}
            assert isinstance(following, Next)
            assert [run["id"] for run in called(url, following.request).json()] == ["0", "1"]
        finally:
            process.terminate()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "the file: Invalid JSON"),
        ('{"method": "m", "mappings": [{"source": 1}]}', "mappings/0/source"),
        (None, "no such file"),
    ],
)
def test_a_wrong_map_is_told_before_anything_starts(
    tmp_path: Path, text: str | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "map.json"
    if text is not None:
        file.write_text(text)
    words = ["proxy", "--upstream", "http://127.0.0.1:9", "--pack", "http", "--listen", "127.0.0.1:0"]
    assert main([*words, "--map", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"corrigible proxy: {file}")
    assert told in said
