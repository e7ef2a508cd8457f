"""Packs that say where an API keeps errors and operations: the example of rules/README.md, and one of AWS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import Command, Server
from corrigible.proxy.pack_tools.lint import lint_pack, run_cases
from corrigible.rules.pack.load import load_pack
from tests._support.raw_proxy import PATIENT, corrected

ROOT = Path(__file__).parents[2]
HEAD = "name: shop\ntitle: Shop\nversion: 1.0.0\napi: {name: Shop}\nlicense: Apache-2.0\n"
HEADER = "title: T\nstatus: draft\nreferences: [https://a.test]\n"
CHANNEL = f"""\
id: shop.channel
{HEADER}
match: {{operation: PostMessage, status: [200], code: no_channel}}
let: {{near: "nearest(string(at(request, error.pointer)), ['general', 'random'])"}}
suggest: [{{message: Take it., set: {{(error.pointer): "near[0]"}}}}]
diagnosis: There is no such channel.
"""
FLOW = f"""\
id: shop.flow
{HEADER}
match: {{operation: CreateFlow, code: FlowExists}}
lookup: {{same: {{post: "'/flows/filter'", body: {{name: request.body.name}}}}}}
suggest: [{{action: ALREADY_DONE, message: It is there., parameters: {{id: "same[0].id"}}}}]
diagnosis: The flow exists.
"""
ME = {"authorization": "Bearer me"}
CREATE = {"x-shop-target": "Shop_2026.CreateFlow", **ME}


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pack of the example in the documentation, with two rules."""
    text = (ROOT / "rules/README.md").read_text("utf-8")
    (example,) = re.findall(r"```yaml\n(operation: .*?)```", text, re.DOTALL)
    folder = tmp_path_factory.mktemp("packs") / "shop"
    folder.mkdir()
    (folder / "pack.yaml").write_text(HEAD + example, "utf-8")
    (folder / "channel.yaml").write_text(CHANNEL, "utf-8")
    (folder / "flow.yaml").write_text(FLOW, "utf-8")
    return folder


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    source = (ROOT / "tests/_support/shop_service.py").read_text("utf-8")
    with Server("shop", "shop", "none", lambda port: Command(python_arguments(source, str(port)))).start() as running:
        yield running.url


@pytest.fixture(scope="module")
def proxy(shop: str, pack: Path) -> Iterator[str]:
    with corrected(shop, pack) as url:
        yield url


def feedback(answer: httpx.Response) -> Any:
    return answer.json()["recovery_feedback"]


def test_a_refusal_in_a_success_is_corrected_and_the_repair_passes(proxy: str) -> None:
    sent = {"method": "post_message", "channel": "generall"}
    suggestion = feedback(httpx.post(f"{proxy}/call", json=sent, timeout=60))["suggestions"][0]
    assert suggestion["parameters"] == {"channel": "general"}
    assert httpx.post(f"{proxy}/call", json={**sent, **suggestion["parameters"]}, timeout=60).json()["ok"] is True


@pytest.mark.parametrize(
    "sent", [{"method": "post_message", "channel": "random"}, {"method": "echo"}, {"method": "other"}, {}]
)
def test_every_other_success_passes_unchanged(proxy: str, shop: str, sent: dict[str, str]) -> None:
    through, direct = (httpx.post(f"{url}/call", json=sent, timeout=60) for url in (proxy, shop))
    assert through.content == direct.content
    dropped = {"date", "server"}
    assert [one for one in through.headers.raw if one[0].decode().lower() not in dropped] == [
        one for one in direct.headers.raw if one[0].decode().lower() not in dropped
    ]


def test_a_read_by_post_is_made_as_the_caller(proxy: str) -> None:
    suggestion = feedback(httpx.post(proxy, json={"name": "nightly"}, headers=CREATE, timeout=60))["suggestions"][0]
    assert (suggestion["action"], suggestion["parameters"]) == ("ALREADY_DONE", {"id": 7})
    assert suggestion["evidence"]["lookups"] == ["POST /flows/filter"]
    stranger = httpx.post(
        proxy, json={"name": "nightly"}, headers={**CREATE, "authorization": "Bearer you"}, timeout=60
    )
    assert "recovery_feedback" not in stranger.json()


def test_no_lookups_holds_for_reads_by_post(shop: str, pack: Path) -> None:
    with corrected(shop, pack, limits=replace(PATIENT, lookups=0)) as url:
        answer = httpx.post(url, json={"name": "nightly"}, headers=CREATE, timeout=60)
        assert (answer.status_code, answer.json().keys()) == (400, {"__type", "text"})


def test_what_the_example_says_is_what_is_read(pack: Path) -> None:
    mapping, names = load_pack(pack).error, load_pack(pack).operation
    assert mapping is not None
    assert names is not None
    (one,) = mapping.errors({"text": "m"}, {"x-shop-error": "Bad:http://shop.test"})
    assert (one.code, one.message) == ("Bad", "m")


def test_the_pack_for_three_protocols_holds_on_recorded_answers() -> None:
    """`live.py` beside it made them, and shows that the real server accepts each repair."""
    folder = Path(__file__).parent / "mapped_pack"
    assert lint_pack(folder).mistakes == ()
    result = run_cases(folder)
    assert ([*map(str, result.problems)], result.passed, len(result.cases)) == ([], 6, 6)
