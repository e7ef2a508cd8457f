"""Packs are bounded as requests are: lint ends, and a rule that grows leaves the answer as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.proxy.build import profile_of
from corrigible.proxy.core.decision import PassThrough
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.pack_tools.lint import lint_pack
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.errors import AuthoringError
from corrigible.rules.lookup import LookupAnswer
from corrigible.rules.pack.load import load_pack
from corrigible.rules.pack.reference import new_pack
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

BOMBS: dict[str, Callable[[str], str]] = {
    "lists": lambda of: "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else of] * 9)}]" for n in range(30)),
    "maps": lambda of: "\n".join(
        f"a{n}: &a{n} {{{', '.join(f'k{m}: ' + (f'*a{n - 1}' if n else of) for m in range(9))}}}" for n in range(30)
    ),
    "a text": lambda of: f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 2000)}]",
    "a text in lists": lambda of: f"a: &a [{'x' * 100_000}]\nb: &b [{', '.join(['*a'] * 500)}]\nc: [*b, *b, *b, *b]",
}
PLACES: dict[str, tuple[str, str]] = {
    "table": ("tables/one.yaml", "{}\n"),
    "rule": ("example.yaml", "id: shop.example\n{}\n"),
    "pack": ("pack.yaml", "name: shop\n{}\n"),
    "case": ("more.cases.yaml", "- name: a\n  request:\n    body:\n      "),
}


@rows("kind", BOMBS)
@rows("place", PLACES)
def test_lint_ends_on_aliases(tmp_path: Path, kind: str, place: str) -> None:
    folder = tmp_path / "shop"
    new_pack(folder, author="Ada", date="2026-11-29")
    name, template = PLACES[place]
    (folder / name).parent.mkdir(exist_ok=True)
    bomb = BOMBS[kind]("x")
    text = template + bomb.replace("\n", "\n      ") if place == "case" else template.format(bomb)
    (folder / name).write_text(text)
    if place == "case":
        (folder / "more.yaml").write_text("id: shop.more\ntitle: More\n")
    try:
        found = [str(one) for one in lint_pack(folder).mistakes]
    except AuthoringError as error:
        found = [str(error)]
    assert any("what aliases stand for written out" in one for one in found), found


@pytest.mark.parametrize(
    "lets",
    [
        {"a": "'xxxxxxxxxxxxxxxx'", "b": "a + a + a + a", "c": "cel.bind(d, b+b+b+b+b, cel.bind(e, d+d+d+d+d+d, " * 1
         + "cel.bind(f, e+e+e+e+e+e+e, cel.bind(g, f+f+f+f+f+f+f, cel.bind(h, g+g+g+g+g+g+g, h+h+h+h+h)))))"},
        {"a": "cel.bind(d, [1.5 < 2.5], cel.bind(e, [d,d,d,d,d,d,d,d], cel.bind(f, [e,e,e,e,e,e,e,e], cel.bind(g, "
         "[f,f,f,f,f,f,f,f], cel.bind(h, [g,g,g,g,g,g,g,g], [h,h,h,h,h,h,h,h].map(i, [h,h,h,h,h,h,h,h]))))))"},
    ],
)  # fmt: skip
def test_a_let_that_grows_leaves_the_answer_as_it_is(tmp_path: Path, lets: dict[str, str]) -> None:
    folder = tmp_path / "shop"
    new_pack(folder, author="Ada", date="2026-11-29")
    rule = next(one for one in folder.glob("*.yaml") if one.name != "pack.yaml" and ".cases" not in one.name)
    written = "".join(f'  {name}: "{text}"\n' for name, text in lets.items())
    rule.write_text(rule.read_text().replace("suggest:", f"let:\n{written}suggest:"))
    code = rule.stem.replace("-", "_")
    body = f'{{"error": {{"code": "{code}", "message": "no"}}}}'.encode()
    exchange = Exchange(
        Request("POST", "/a", {}, {}, {"example": 1}), 422, {"content-type": "application/json"}, body, "1", 0.0
    )
    decision = run_with_lookups_sync(
        Engine([profile_of(load_pack(folder))]).decide(exchange), lambda _: LookupAnswer(0)
    )
    assert isinstance(decision, PassThrough)
    assert decision.fault
    assert "make" in decision.reason
