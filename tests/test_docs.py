"""The examples in the documentation, run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest
import yaml
from fastapi import Body, FastAPI

from corrigible.adapters.sandbox.server import Running
from corrigible.client.httpx import CorrigibleTransport
from corrigible.conformance import cli as conformance
from corrigible.conformance.transport.process import ServerProcess, free_port
from corrigible.proxy import cli
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.pack_tools.lint import lint_pack, run_cases
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pack.load import load_pack
from corrigible.rules.wordings import Kind, Rows, Wordings, languages, read
from corrigible.rules.wordings.check import check_language
from corrigible.rules.wordings.reader import Said
from corrigible.rules.wordings.slots import SLOTS
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

ROOT = Path(__file__).parent.parent
PAGES = sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))
proxy_parser, suite_parser = cache(cli.parser), cache(conformance.parser)
SPECIFICATION = "protos/corrigible/schema/SPEC.md"


WIDE = 88
"""Columns of a code block: more does not fit beside the navigation of the site, or on a phone."""


def code(text: str) -> Iterator[str]:
    """Yield the lines of code blocks: fenced, indented, and those of the files that a block includes."""
    fence = ""
    for line in text.splitlines():
        opening = re.match(r" *(`{3,})", line)
        if opening is not None:
            fence = "" if fence and line.strip() == fence else fence or opening[1]
        elif (included := re.fullmatch(r'--8<-- "([\w./-]+?)"', line)) and fence:
            yield from (ROOT / included[1]).read_text("utf-8").splitlines()
        elif fence or re.match(r" {4}\S", line):
            yield line


GUIDES = ["README.md", *PAGES, "rules/README.md", "conformance/README.md", "proxy/deploy/README.md", SPECIFICATION]


@rows("page", GUIDES)
def test_code_fits_the_screen(page: str) -> None:
    assert [line for line in code((ROOT / page).read_text("utf-8")) if len(line) > WIDE] == []


def test_no_page_installs_from_an_index_that_has_no_release() -> None:
    committed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    pages = [ROOT / name for name in committed.stdout.split("\0") if name]
    assert ROOT / "README.md" in pages
    assert [page for page in pages if re.search(r"pip install '?corrigible", page.read_text("utf-8"))] == []


def test_the_demo_installs_what_it_needs_and_the_tests_add_the_rest(tmp_path: Path) -> None:
    def steps(target: str) -> str:
        command = ["make", "--dry-run", "--no-print-directory", f"VENV={tmp_path / 'venv'}", target]
        plain = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=plain).stdout

    assert "'.[demo]'" in steps("demo")
    assert "--group" not in steps("demo") and "sandboxes" not in steps("demo")
    assert "'.[demo,sandboxes]'" in steps("demo-all")
    assert "'.[all]' --group dev" in steps("test")


def test_wide_code_is_seen_in_fences_lists_and_includes() -> None:
    text = 'a\n```sh\nb\n    c\n```\nd\n    e\n  ```yaml\n  f\n  ```\n```python\n--8<-- "docs/specification.md"\n```\n'
    assert [*code(text)][:4] == ["b", "    c", "    e", "  f"]


def blocks(file: str, language: str) -> list[str]:
    text = (ROOT / file).read_text("utf-8").replace(" \\\n", " ")  # a command on several lines is one
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_middleware_of_the_guide_corrects_the_refusals_of_a_fastapi_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = FastAPI()

    @app.post("/orders")
    def create(quantity: Annotated[int, Body(embed=True, le=100)]) -> int:
        return quantity

    (program,) = (block for block in blocks("docs/providers.md", "python") if "json.dumps(app" in block)
    names: dict[str, Any] = {"app": app}
    exec(program, names)

    async def order(quantity: Any) -> httpx.Response:
        transport = httpx.ASGITransport(names["app"])
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:
            return await client.post("/orders", json={"quantity": quantity})

    assert asyncio.run(order(7)).json() == 7
    (suggestion,) = asyncio.run(order(250)).json()["recovery_feedback"]["suggestions"]
    assert (suggestion["parameters"], suggestion["safety"]["changes_intent"]) == ({"quantity": 100}, True)


def test_the_config_of_the_guide_gives_the_level_and_its_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "docs/examples/fastapi_service.py", tmp_path)
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "fastapi_service:app", "--port", str(port)]
    (text,) = (block for block in blocks("docs/providers.md", "yaml") if "provocations:" in block)
    shown = [line for block in blocks("docs/providers.md", "sh") for line in block.splitlines() if " init " in line]
    with ServerProcess(command, address=f"127.0.0.1:{port}", folder=tmp_path, wait=60):
        (tmp_path / "mine.yaml").write_text(text.replace(":9000", f":{port}"), "utf-8")
        assert conformance.main(["check", "--config", "mine.yaml"]) == 0
        assert "conforms: SRF 0.1 L3" in capsys.readouterr().out
        for line in shown:
            assert conformance.main(shlex.split(line.replace(":9000", f":{port}"), comments=True)[1:]) == 0
        assert conformance.main(["check", "--config", "conformance.yaml"]) == 2
        assert "needs `accepted` in the config file" in capsys.readouterr().out


def test_the_rule_of_the_guide_lints_and_passes_its_cases(tmp_path: Path) -> None:
    rule, *_, cases, manifest, _ = blocks("rules/README.md", "yaml")
    pack = tmp_path / "shop"
    pack.mkdir()
    (pack / "pack.yaml").write_text(manifest, "utf-8")
    (pack / "refund-exceeds-remaining.yaml").write_text(rule, "utf-8")
    (pack / "refund-exceeds-remaining.cases.yaml").write_text(cases, "utf-8")
    result = run_cases(pack)
    assert [verdict.failures for verdict in result.cases] == [(), ()]
    assert result.problems == ()


@pytest.mark.parametrize("pack", sorted(file.parent.name for file in (ROOT / "docs/examples").glob("*/pack.yaml")))
def test_the_packs_of_the_guide_lint_pass_their_cases_and_reach_every_entry(pack: str) -> None:
    folder = ROOT / "docs/examples" / pack
    linted, result = lint_pack(folder), run_cases(folder)
    assert (linted.mistakes, linted.notes, result.problems) == ((), (), ())
    assert [(one.case.text.name, one.failures) for one in result.cases if one.failures] == []


def test_the_cookbook_shows_each_of_its_rules() -> None:
    page = (ROOT / "docs/pack-authors.md").read_text("utf-8")
    shown = re.findall(r"docs/examples/cookbook/([a-z-]+)\.yaml", page.partition("## Six patterns")[2])
    rules = [rule.id.partition(".")[2] for rule in load_pack(ROOT / "docs/examples/cookbook").rules]
    assert sorted(shown) == sorted(rules)
    assert len(rules) == 6


def test_the_edits_and_questions_of_the_guide_are_taken_by_the_rule_language(tmp_path: Path) -> None:
    rule, edits, patch, asks, _, manifest, _ = blocks("rules/README.md", "yaml")
    functions = re.findall(
        r"^  ```yaml\n(.*?)^  ```", (ROOT / "rules/README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "pack.yaml").write_text(manifest + textwrap.dedent(functions[0]), "utf-8")
    texts = [{key: value} for key, value in yaml.safe_load(edits).items()]
    texts += [yaml.safe_load(text) for text in (patch, *asks.splitlines())]
    assert [*texts[1]] == ["set"]
    for text in texts:
        written = yaml.safe_load(rule)
        written["let"].update({"name": "'x'", "missing": "['a']"} if "each" not in str(text) else {"missing": "['a']"})
        written["suggest"] = [{"message": "Take milk.", **text}]
        written["date"] = str(written["date"])
        (tmp_path / "refund-exceeds-remaining.yaml").write_text(yaml.safe_dump(written), "utf-8")
        assert load_pack(tmp_path).rules[0].entries[0].condition is None


@rows(
    "line",
    [
        line.partition("#")[0].strip()
        for file, language in (("README.md", "sh"), ("rules/README.md", ""), *((page, "sh") for page in PAGES))
        for block in [
            *blocks(file, language),
            *re.findall(r"(?:^    .*\n)+", (ROOT / file).read_text("utf-8"), re.MULTILINE),
        ]
        for line in block.splitlines()
        if line.strip().startswith("corrigible ")
    ],
)
def test_every_command_shown_is_one_that_the_parser_takes(line: str) -> None:
    assert callable(proxy_parser().parse_args(shlex.split(line)[1:]).run)


@rows(
    "line",
    [
        command.partition(" #")[0].strip()
        for file in (
            "README.md",
            "conformance/README.md",
            "conformance/corrigible/conformance/vectors/README.md",
            *PAGES,
        )
        for block in blocks(file, "sh")
        for line in block.splitlines()
        if (command := line.partition("_API_KEY=... ")[2] or line).startswith("conformance ")
    ],
)
def test_every_command_of_the_suite_shown_is_one_that_its_parser_takes(line: str) -> None:
    assert callable(suite_parser().parse_args(shlex.split(line)[1:]).run)


@rows("page", PAGES)
def test_what_a_page_includes_exists(page: str) -> None:
    lines = [line for line in (ROOT / page).read_text("utf-8").splitlines() if re.match(r"-+\s*8\s*<", line)]
    for line in lines:
        included = re.fullmatch(r'--8<-- "([\w./-]+?)(?::(\w+))?"', line)
        assert included is not None, line
        text = (ROOT / included[1]).read_text("utf-8")
        assert included[2] is None or f"[start:{included[2]}]" in text


def blocks_of_commands(file: str) -> list[str]:
    return [line for block in blocks(file, "sh") for line in block.splitlines()]


def _read(text: str, rows: Rows) -> tuple[Said, ...]:
    return read(text, only=Wordings(rows)).said


def test_the_wordings_of_the_guide_are_read_as_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row, pack, language = blocks("docs/wordings.md", "yaml")
    shown, shown_after = blocks("docs/wordings.md", "text")
    before, after = (shlex.split(line)[1:] for line in blocks_of_commands("docs/wordings.md") if " explain " in line)
    assert proxy_parser().parse_args(before).run(proxy_parser().parse_args(before)) == 0
    assert capsys.readouterr().out == shown
    assert read(after[1]).of(Kind.VALUE) == ()
    (tmp_path / "nl.yaml").write_text(language, "utf-8")
    dutch = check_language(tmp_path / "nl.yaml")
    assert [said.states for said in _read("leeftijd dient een geheel getal te zijn", dutch)] == []
    assert [said.states for said in _read("leeftijd moet een geheel getal zijn", dutch)] == [{"type": "integer"}]
    head = languages()["en"].path.read_text("utf-8").partition("rows:\n")[0]
    (tmp_path / "en.yaml").write_text(f"{head}rows:\n{row}", "utf-8")
    [said] = _read(after[1], check_language(tmp_path / "en.yaml"))
    lines = [f'{said.kind}: "{after[1][said.start : said.end]}"', f"  thing: {', '.join(said.slots['thing'])}"]
    assert [*lines, f"  row: {said.row}"] == shown_after.splitlines()
    (tmp_path / "cinema").mkdir()
    (tmp_path / "cinema/pack.yaml").write_text(pack, "utf-8")
    assert load_pack(tmp_path / "cinema").wordings is not None


def test_the_guide_of_wordings_lists_all_slots_and_kinds() -> None:
    page = (ROOT / "docs/wordings.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `{(\w+)}` \| (.*) \|$", page, re.MULTILINE)) == {
        name: text.replace("|", "\\|") for name, text in SLOTS.items()
    }
    assert re.findall(r"^\| `(\w+)` \|", page.partition("### Kinds")[2].partition("## ")[0], re.MULTILINE) == [*Kind]


def test_the_picture_is_what_the_rule_makes_of_that_request() -> None:
    before, _, after = blocks("README.md", "")[0].partition("\nafter ")
    sent = re.search(r"POST (\S+) charge=(\S+) amount=(\d+)", before)
    refusal = re.search(r'"message": "(.*?)"', " ".join(before.split()))
    assert sent is not None and refusal is not None
    shown = json.loads("{" + after[after.index('"recovery_feedback"') :] + "}")["recovery_feedback"]

    body = {"charge": sent[2], "amount": sent[3]}
    error = {"error": {"message": refusal[1], "type": "invalid_request_error", "param": "amount"}}
    request = Request("POST", sent[1], body=body, form=True)
    deciding = build_engine(["stripe"]).decide(Exchange(request, 400, {}, json.dumps(error).encode(), "e", 0.0))
    charge = LookupAnswer(200, json.dumps({"id": sent[2], "amount": 1000, "amount_refunded": 700}).encode())
    asked: list[str] = []

    def look_up(lookup: Lookup) -> LookupAnswer:
        asked.append(lookup.path)
        return charge

    decision = run_with_lookups_sync(deciding, look_up)
    assert asked == [f"/v1/charges/{sent[2]}"]
    assert isinstance(decision, Annotate)
    assert part_of(decision.feedback, shown) == shown


def part_of(whole: Any, shown: Any) -> Any:
    """Return the members that are shown, at any depth, as they are in the whole."""
    if isinstance(whole, Mapping) and isinstance(shown, Mapping):
        return {name: part_of(whole[name], shown[name]) for name in shown if name in whole}
    if isinstance(whole, Sequence) and not isinstance(whole, str) and isinstance(shown, Sequence):
        return [part_of(one, other) for one, other in zip(whole, shown, strict=True)]
    return whole


def run_program(file: str, proxy: Running, **names: Any) -> dict[str, Any]:
    program = blocks(file, "python")[0]
    assert "http://127.0.0.1:8080" in program
    exec(program.replace("http://127.0.0.1:8080", proxy.url), names)
    return names


def test_the_program_of_the_first_page_is_corrected_when_the_user_agrees(
    stripe_proxy: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "y"

    run_program("docs/start.md", stripe_proxy, input=answer)
    assert len(asked) == 1
    without_key = [line for line in asked[0].splitlines() if "/headers/idempotency-key: " not in line]
    assert without_key[1:] == [
        "Correction: Use the one allowed value that is near.",
        '  /body/interval: "monthly" -> "month"',
        "To be sent:",
        "  POST /v1/plans",
        '    /body/interval: "monthly" -> "month"',
        "Send it? [y/n] ",
    ]
    assert capsys.readouterr().out == "200 month\n"


def test_the_guide_shows_the_text_of_an_error(stripe_proxy: Running) -> None:
    (shown,) = (block for block in blocks("docs/agents.md", "text") if block.startswith("Invalid interval"))
    plan = {"id": "gold", "amount": 1000, "currency": "usd", "interval": "monthly", "product[name]": "Gold"}
    with httpx.Client(transport=CorrigibleTransport(), auth=("sk_test_readme", "")) as client:
        answer = client.post(f"{stripe_proxy.url}/v1/plans", data=plan)
    explanation = answer.extensions["corrigible"].explanation
    assert f"{answer.json()['error']['message']}\n{explanation}\n" == shown


def test_the_program_of_the_contract_repairs_a_real_refusal(stripe_proxy: Running) -> None:
    names = run_program("protos/corrigible/schema/SPEC.md", stripe_proxy)
    assert names["refused"].status_code == 400
    assert names["repaired"].body["interval"] == "month"
    assert (names["accepted"].status_code, names["accepted"].json()["interval"]) == (200, "month")


def test_security_names_what_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    rows = text[text.index("## What is promised") : text.index("## Limits")]
    named = set(re.findall(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.(?:py|json))?)`", rows))
    assert len(named) > 20
    homes = (ROOT / "tests", ROOT / "conformance/corrigible/conformance/vectors", ROOT)
    assert {one for one in named if not any((home / one).exists() for home in homes)} == set()
