"""The demo holds from end to end, fits a terminal, and fails when a step does not hold."""

from __future__ import annotations

import io
import json
import signal
import subprocess
from contextlib import redirect_stdout
from importlib.resources import files

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.proxy import cli
from corrigible.proxy.command import demo
from corrigible.proxy.command.demo import preserves
from corrigible.proxy.demo import scene as scene_of_demo
from corrigible.proxy.demo.scene import SCENES, Answer, Page, cut
from corrigible.schema.exchange import Json, Request
from tests._support import tiny_model
from tests._support.command import FORKING, start
from tests._support.rows import rows

LINES, COLUMNS = 24, 88


def scenes(printed: str) -> list[list[str]]:
    """Return the lines of each scene, from its head to the line before the next one's."""
    heads = [at for at, line in enumerate(printed.splitlines()) if line.startswith("===")]
    lines = printed.splitlines()
    return [lines[start:end] for start, end in zip(heads, [*heads[1:], -1], strict=True)]


@pytest.fixture(scope="module")
def printed() -> str:
    """What the demo prints. CI runs it as users run it, too."""
    with redirect_stdout(io.StringIO()) as printed:
        assert parsed("demo") == 0
    return printed.getvalue()


def test_the_demo_shows_a_refusal_its_correction_and_success_by_default_on_servers_in_python(printed: str) -> None:
    recipe, stripe = scenes(printed)
    assert recipe[0] == "=== recipe service: pancakes for a person with celiac disease ".ljust(COLUMNS, "=")
    assert stripe[0] == "=== localstripe 1.15.10: a plan with a misspelt interval ".ljust(COLUMNS, "=")
    statuses = [line.strip().partition(":")[0] for line in recipe + stripe if line.startswith(("   200", "   400"))]
    assert statuses == ["200 OK", "200 OK", "200 OK", "400 Bad Request", "400 Bad Request", "200 OK"]
    assert '     /body/interval: "monthly" -> "month"' in stripe
    assert "     ... 2 more lines" in stripe
    assert "\033" not in printed
    assert printed.splitlines()[-1].startswith("Real servers rejected the calls and accepted")


def test_each_scene_fits_one_screen(
    printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scene_of_demo, "subprocess", FORKING)
    others = [scene.name for scene in SCENES if scene.name not in ("recipe", "stripe", "kubernetes")]
    assert parsed("demo", *others) == 0
    for scene in scenes(printed) + scenes(capsys.readouterr().out):
        assert len(scene) <= LINES, scene
        assert max(map(len, scene)) <= COLUMNS, scene


def test_the_model_of_a_scene_is_what_its_program_writes() -> None:
    assert files("corrigible.adapters.described").joinpath("tiny.gguf").read_bytes() == tiny_model.model()


def test_in_full_nothing_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed("demo", "--full", "recipe") == 0
    out = capsys.readouterr().out
    assert " more line" not in out
    assert '"schema": "self-reflective-api/0.1"' in out
    assert '"knowledge"' in out or '"evidence"' in out


def test_what_is_kept_answers_until_it_is_interrupted() -> None:
    plan = {"id": "gold", "amount": "1000", "currency": "usd", "interval": "monthly", "product[name]": "Gold"}
    with start(["corrigible", "demo", "--keep"], stdout=subprocess.PIPE, text=True) as kept:
        try:
            assert kept.stdout is not None
            said = list(iter(kept.stdout.readline, "  -d 'product[name]=Gold'\n"))
            assert "\n" in said[-1], "the demo ended"
            (url,) = {word for line in said for word in line.split() if word.endswith("/v1/plans") and ":" in word}
            with httpx.Client(headers={"authorization": "Bearer sk_test_x"}, trust_env=False, timeout=60) as client:
                answer = client.post(url, data=plan)
                assert answer.json()["recovery_feedback"]["suggestions"][0]["parameters"] == {"interval": "month"}
                kept.send_signal(signal.SIGINT)
                assert kept.wait(60) == 0
                with pytest.raises(httpx.TransportError):
                    client.post(url, data=plan)
        finally:
            kept.kill()


def test_only_one_scene_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed("demo", "--keep", "recipe", "stripe") == 1
    assert capsys.readouterr().err == "corrigible demo: --keep is for one scene\n"
    assert parsed("demo", "--keep", "mcp") == 1
    assert capsys.readouterr().err == "corrigible demo: --keep is not for the scene mcp: nothing listens there\n"


def test_a_scene_whose_program_is_missing_is_left_out_of_all_and_an_error_where_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setattr(demo, "SCENES", [scene for scene in SCENES if scene.name == "kubernetes"])
    assert parsed("demo", "--all") == 0
    assert capsys.readouterr().out.startswith("kubernetes is left out: ")
    assert parsed("demo", "kubernetes") == 1


def parsed(*words: str) -> int:
    return cli.main(words)


def test_a_step_that_does_not_hold_ends_the_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    adds_nothing = SCENES[0].server
    monkeypatch.setattr(demo, "proxy_for", lambda upstream, pack, options: adds_nothing)
    assert parsed("demo", "recipe") == 1
    assert capsys.readouterr().err == "corrigible demo: the proxy added nothing\n"


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (Request("GET", "/a", query={"q": "it's"}), "curl 'http://h/a?q=it%27s' \\\n  -H 'x-k: v'"),
        (
            Request("PUT", "/f", body={"text": "a'b"}),
            "curl -X PUT http://h/f \\\n  -H 'x-k: v' \\\n  -H 'content-type: application/json' \\\n"
            '  -d \'{"text": "a\'"\'"\'b"}\'',
        ),
    ],
)
def test_the_next_line_to_type_is_quoted_for_a_shell(call: Request, line: str) -> None:
    assert demo.curl("http://h", call, {"x-k": "v"}) == line


@rows(
    ("native", "corrected", "kept"),
    [
        ({"error": {"code": "x"}}, {"error": {"code": "x", "recovery_feedback": {}}, "validation_errors": []}, True),
        ({"error": {"code": "x"}}, {"error": {"code": "y"}}, False),
        ({"error": {"code": "x"}}, {"error": {}}, False),
        ({"error": {"code": None}}, {"error": {}}, False),
        ({"errors": [1]}, {"errors": [1, 2]}, True),
        ({"errors": [1, 2]}, {"errors": [2, 1, 2]}, False),
        ({"errors": [1, 2]}, {"errors": [1]}, False),
        ({"error": {}}, {"error": "x"}, False),
        ("text", "text", True),
    ],
)
def test_every_native_member_has_to_be_there(native: Json, corrected: Json, kept: bool) -> None:
    assert preserves(native, corrected) is kept


@given(st.text(), st.integers(min_value=2, max_value=9))
def test_a_text_of_any_length_is_cut_to_lines_that_fit(text: str, most: int) -> None:
    kept = cut(f"HEAD {json.dumps(text, ensure_ascii=False)}", most)
    assert len(kept) <= most
    assert all(len(line) <= COLUMNS - 5 for line in kept)


def test_a_page_for_no_terminal_has_no_colours_and_shows_the_changes() -> None:
    out = io.StringIO()
    page = Page(out)
    before = Request("POST", "/r", body={"amount": "5"}, form=True)
    page.change(before, Request("POST", "/r", body={"amount": 3}, form=True))
    page.answer(Answer(200, "OK", {"id": 1}), {"id": 1})
    assert out.getvalue() == '   POST /r, changed:\n     /body/amount: "5" -> 3\n   200 OK: {"id": 1}\n'
