"""Loading packs: what a pack is, and what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.rules.errors import AuthoringError
from corrigible.rules.pack.load import built_in, find_pack, load_pack, rule_files
from tests._support.built_in_packs import pack_of
from tests._support.rows import rows
from tests._support.rule_entries import says

SAYS = "suggest: [{action: ESCALATE, actor: somebody_else, message: m}]\n"
FULL = """\
mirror: /error
idempotency_header: Idempotency-Key
secret_parameters: [cvc]
lookups: [/v1/things/, "/v1/things/{id}"]
actions:
  PICK_BRAND: {base_action: MODIFY_PARAMS, description: Take another brand., parameters: {type: object}}
"""


def mistakes(folder: Path) -> list[str]:
    with pytest.raises(AuthoringError) as caught:
        load_pack(folder)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def test_what_a_pack_holds(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(manifest=FULL, b=SAYS, a_b=SAYS)
    (folder / "tables").mkdir()
    (folder / "tables" / "zero-decimal.yaml").write_text("[JPY, KRW]\n", "utf-8")
    (folder / "a-b.cases.yaml").write_text("not: [looked, at\n", "utf-8")
    pack = load_pack(folder)
    assert [rule.id for rule in pack.rules] == ["apex.a-b", "apex.b"]
    assert pack.tables == {"zero_decimal": ["JPY", "KRW"]}
    assert (pack.name, pack.label, pack.path) == ("apex", "apex 2.1.0", folder)
    assert pack.settings.idempotency_header == "idempotency-key"
    assert pack.settings.secrets == {"cvc"}
    assert pack.settings.lookups == (("v1", "things"), ("v1", "things", "{id}"))
    assert pack.vocabulary.actions["PICK_BRAND"].base_action == "MODIFY_PARAMS"
    assert [file.name for file in rule_files(folder)] == ["a-b.yaml", "b.yaml"]


@rows(
    ("manifest", "expected_message"),
    [
        ("lookps: []", ['6: unknown key "lookps"; did you mean "lookups"?']),
        ("lookups: [v1/things]", ["6: \"lookups\": string should match pattern '^(POST )?/[^?#\\s]+$'"]),
        (
            "lookups:\n  - /a\n  - /v1/things?x=1",
            ["8: \"lookups\": string should match pattern '^(POST )?/[^?#\\s]+$'"],
        ),
        ("mirror: error", ["6: \"mirror\": string should match pattern '^/'"]),
        ("redact: [error]", ["6: \"redact\": string should match pattern '^/'"]),
        ("name: x", ['6: key "name" stands twice']),
        (
            "actions: {GO: {base_action: MODIFY_PARAM, description: d}}",
            ['6: "MODIFY_PARAM" is no base action; did you mean "MODIFY_PARAMS"?'],
        ),
        ("actions:\n  go: {base_action: ESCALATE, description: d}", ["7: go: not upper snake case"]),
        ("actions: {GO: {base_action: ESCALATE, description: ' '}}", ["6: GO: no description"]),
        ("actions: {GO: {base_action: ESCALATE}}", ['6: "description" is missing']),
        (
            "actions: {ESCALATE: {base_action: ESCALATE, description: d}}",
            ["6: ESCALATE is registered already, with another meaning"],
        ),
        (
            "actions: {GO: {base_action: ESCALATE, description: d, parameters: {type: objct}}}",
            [
                '6: GO: parameters are no JSON Schema: "objct" is not valid under any of the schemas listed in the '
                "'anyOf' keyword"
            ],
        ),
    ],
)
def test_a_manifest_that_is_wrong(write_pack: Callable[..., Path], manifest: str, expected_message: list[str]) -> None:
    assert mistakes(write_pack(manifest=manifest, x=SAYS)) == [f"pack.yaml:{line}" for line in expected_message]


def test_the_mistakes_of_all_files_come_at_once(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(a="suggest: [{action: ESCALAT, message: m}]\nwhen: zz\n", b=SAYS, c=SAYS + "wen: 1\n")
    (folder / "tables").mkdir()
    (folder / "tables" / "t.yaml").write_text("a: 1\na: 2\n", "utf-8")
    assert mistakes(folder) == [
        'tables/t.yaml:2: key "a" stands twice',
        'a.yaml:6: action "ESCALAT" is not registered in pack.yaml; did you mean "ESCALATE"?',
        "a.yaml:7: CEL: column 1: undeclared reference to 'zz'; a text has quotes of its own: \"'zz'\"",
        'c.yaml:7: unknown key "wen"; did you mean "when"?',
    ]


def test_a_pack_is_found_by_name_or_folder(tmp_path: Path, write_pack: Callable[..., Path]) -> None:
    folder = write_pack(x=SAYS)
    assert find_pack(folder) == find_pack(str(folder)) == folder
    assert find_pack("stripe") == built_in()["stripe"]
    with pytest.raises(AuthoringError, match=r'^strip: no built-in pack .*; did you mean "stripe"\?$'):
        find_pack("strip")
    with pytest.raises(AuthoringError, match=r"/pack\.yaml: a pack is a folder: did you mean .*apex\?$"):
        find_pack(folder / "pack.yaml")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(AuthoringError, match=re.escape(f"{empty / 'pack.yaml'}: a pack folder needs this file")):
        find_pack(empty)


@rows("name", sorted(built_in()))
def test_every_built_in_pack_loads(name: str) -> None:
    pack = load_pack(name)
    assert pack.name == name
    assert pack.rules


def test_what_may_be_looked_up_may_begin_with_a_base(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(manifest='bases: [/api/v3]\nlookups: [/user, "/files/{+path}"]\n', a=SAYS)
    assert load_pack(folder).settings.lookups == (
        ("user",),
        ("files", "{+path}"),
        ("api", "v3", "user"),
        ("api", "v3", "files", "{+path}"),
    )


@rows("name", sorted(built_in()))
def test_every_pack_says_who_can_act(name: str) -> None:
    unsaid = [
        f"{rule.id}: {say.action}"
        for rule in pack_of(name).rules
        for entry in rule.entries
        for say in says(entry)
        if say.base_action in ("ESCALATE", "NO_RECOVERY_AVAILABLE") and say.actor is None
    ]
    assert unsaid == []


@pytest.mark.parametrize(
    ("functions", "problem"),
    [
        ('"half": "1"', '"half" is no signature such as remaining(charge)'),
        ('"half(n)": n / m', "CEL: column 5: undeclared reference to 'm'"),
        ('"at(n)": n', '"at" is a name that every rule has'),
        ('"half(request)": request', '"request" is a name that every rule has'),
        ('"half(n)": n / 2\n  "other(n)": half(n, n)', "half is called with 2 arguments, pack.yaml has half(n)"),
    ],
)
def test_a_function_that_is_wrong(write_pack: Callable[..., Path], functions: str, problem: str) -> None:
    with pytest.raises(AuthoringError) as caught:
        load_pack(write_pack(manifest=f"functions:\n  {functions}\n"))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "when",
    ["left > 0", "error.code in .left", "error.code in.left", "errors.all(left, true) && left > 0", "[left][0] == 1"],
)
def test_a_rule_has_no_names_of_another_rule(when: str, write_pack: Callable[..., Path]) -> None:
    folder = write_pack(a="let: {left: '1'}\n" + SAYS, b=f'when: "{when}"\n' + SAYS)
    assert re.fullmatch(r"""b\.yaml:6: .*undeclared reference to '\.?left'.*""", "\n".join(mistakes(folder)))


@pytest.mark.parametrize(
    "when", ["error.left == 1", "has(error.left)", "errors.all(left, left.code == '')", "'left' == ''"]
)
def test_what_another_rule_names_may_be_a_member_a_variable_or_a_text(
    when: str, write_pack: Callable[..., Path]
) -> None:
    folder = write_pack(a="let: {left: '1'}\n" + SAYS, b=f'when: "{when}"\n' + SAYS)
    assert len(load_pack(folder).rules) == 2
