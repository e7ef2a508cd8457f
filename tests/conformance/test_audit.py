"""The audit of packs and tasks, from end to end: what is planted is found, what is ours is clean."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from corrigible.conformance.audit.audit import SCHEMA, Audit, audit, gather
from corrigible.conformance.audit.subject import AuditSubject, command, packs, task_file
from corrigible.conformance.cli import main
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.suite.subject import Subject
from corrigible.proxy.pack_tools.export import render

from .made import checks_of

HEAD = "name: acme\ntitle: Acme\nversion: 2.1.0\napi: {name: Acme API}\nlicense: Apache-2.0\n"
TOP = "id: acme.jam\ntitle: About jam\nstatus: stable\nreferences: [https://a.test]\n"
RULE = """\
match: {code: bad}
lookup: {shelf: {get: "'/shelf'", optional: true}}
suggest:
  - if: shelf != null
    action: MODIFY_PARAMS
    message: The shelf has it.
    parameters: {flavour: shelf.flavour}
  - if: request.body.flavour in tables.flavours
    action: MODIFY_PARAMS
    message: It is known under another name.
    parameters: {flavour: "tables.flavours[request.body.flavour]"}
  - action: MODIFY_PARAMS
    message: The usual one.
    parameters: {flavour: "'blackcurrant'", grams: 62.5}
"""
TABLE = "{red: raspberry, blue: huckleberry, green: gooseberry, black: blackberry}\n"
CASES: list[dict[str, Any]] = [
    {
        "name": "another name",
        "origin": "synthetic",
        "request": {"body": {"flavour": "red", "grams": 50}},
        "response": {"status": 400, "body": {"error": {"code": "bad", "message": "no such flavour"}}},
        "expect": {"suggestions": [{"parameters": {"flavour": "raspberry"}}]},
    },
    {
        "name": "on the shelf",
        "origin": "synthetic",
        "request": {"body": {"flavour": "pink", "grams": 50}},
        "response": {"status": 400, "body": {"error": {"code": "bad", "message": "no such flavour"}}},
        "lookups": {"GET /shelf": {"flavour": "lingonberry", "shelf": "rack-9f"}},
        "expect": {"suggestions": [{"parameters": {"flavour": "lingonberry"}}]},
    },
    {
        "name": "another complaint",
        "origin": "synthetic",
        "request": {},
        "response": {"status": 400, "body": {"error": {"code": "other"}}},
        "no_match": True,
    },
]
MANIFEST = "lookups: [/shelf]\nredact: [/error/message]\nparaphrases: {blackcurrant: [what cassis is made of]}\n"


NATIVE = "no such flavour"


def written(
    root: Path, *, diagnosis: str = "The flavour is not known.", native: str = NATIVE, manifest: str = MANIFEST
) -> Path:
    """Write a pack that gives nothing away, but for what a test changes in it."""
    folder = root / "acme"
    (folder / "tables").mkdir(parents=True)
    (folder / "pack.yaml").write_text(HEAD + manifest, "utf-8")
    (folder / "jam.yaml").write_text(f"{TOP}diagnosis: {json.dumps(diagnosis)}\n{RULE}", "utf-8")
    (folder / "tables/flavours.yaml").write_text(TABLE, "utf-8")
    cases = json.loads(json.dumps(CASES).replace(NATIVE, native))
    (folder / "jam.cases.yaml").write_text(yaml.safe_dump(cases), "utf-8")
    return folder


@pytest.fixture
def jam(tmp_path: Path) -> Callable[..., Path]:
    return partial(written, tmp_path)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> list[AuditSubject]:
    """The pack as it is, rendered once."""
    return rendered_here(written(tmp_path_factory.mktemp("clean")))


def rendered_here(pack: Path | str) -> list[AuditSubject]:
    """Return a pack as `gather` does, rendered without a process of its own."""
    return packs([json.loads(orjson.dumps(document)) for document in render(pack)])


def audited(pack: Path) -> Audit:
    return audit(rendered_here(pack))


def told(done: Audit) -> set[tuple[str, object, str]]:
    return {(hit.text.channel, hit.fix.value, hit.fix.source) for hit in done.leaks}


def test_a_pack_that_gives_nothing_away_is_clean(jam: Callable[..., Path]) -> None:
    done = audited(jam())
    assert (done.hits, done.texts > 0, done.comparisons > 0) == ((), True, True)


@pytest.mark.parametrize(
    ("diagnosis", "value", "source"),
    [
        ("The flavour should be raspberry.", "raspberry", "feedback"),
        ("Huckleberries are meant.", "huckleberry", "table"),
        ("There is only Blackcurrant.", "blackcurrant", "literal"),
        ("It takes sixty-two and a half of it.", 62.5, "literal"),
        ("It is at rack 9F of the store.", "rack-9f", "look-up"),
        ("It is what cassis is made of.", "what cassis is made of", "paraphrase"),
    ],
)
def test_a_diagnosis_that_gives_the_fix_away_is_a_leak(
    jam: Callable[..., Path], diagnosis: str, value: object, source: str
) -> None:
    done = audited(jam(diagnosis=diagnosis))
    assert ("diagnosis", value, source) in told(done)
    assert {hit.fix.value for hit in done.leaks} == {value}


@pytest.mark.parametrize("diagnosis", ["A red one is not known.", "The jam of this flavour has no table."])
def test_a_diagnosis_may_say_what_the_request_says(jam: Callable[..., Path], diagnosis: str) -> None:
    assert audited(jam(diagnosis=diagnosis)).leaks == ()


def test_a_third_party_may_say_it_and_that_is_disclosed(jam: Callable[..., Path]) -> None:
    done = audited(jam(native="take raspberry instead"))
    assert done.leaks == ()
    assert [(hit.text.channel, hit.fix.value) for hit in done.disclosed] == [("verbose", "raspberry")]


def test_what_traditional_does_not_blank_is_a_leak(jam: Callable[..., Path]) -> None:
    done = audited(jam(native="take raspberry instead", manifest=MANIFEST.replace("redact: [/error/message]\n", "")))
    assert told(done) == {("traditional", "raspberry", "feedback")}
    assert "jam.cases.yaml" in done.leaks[0].text.where


@pytest.mark.nightly
def test_our_own_packs_and_tasks_are_clean(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.json"
    assert main(["audit", "--certificate", str(certificate)]) == 0
    written = json.loads(certificate.read_text("utf-8"))
    assert (written["schema"], written["leaks"]) == (SCHEMA, [])
    assert date.fromisoformat(written["date"])
    names = {(one["kind"], one["name"].partition(" ")[0]) for one in written["audited"]}
    packs = {"acme", "etcd", "github", "grpc", "http", "kubernetes", "recipe", "stripe"}
    assert names >= {
        *(("pack", name) for name in packs),
        ("tasks", "recipe/tasks.yaml"),
        ("tasks", "tasks/github.yaml"),
    }
    assert all(len(one["sha256"]) == 64 for one in written["audited"])
    assert written["disclosed"]["count"] == len(written["disclosed"]["each"]) > 0
    assert "no leak" in capsys.readouterr().out


def tasks_at(folder: Path, **members: object) -> Path:
    folder.mkdir(exist_ok=True)
    task = {"name": "jam", "request": {"body": {"flavour": "red"}}, **members}
    path = folder / "tasks.yaml"
    path.write_text(yaml.safe_dump({"pack": "acme", "tasks": [task]}), "utf-8")
    return path


@pytest.mark.parametrize(
    ("members", "channel", "value"),
    [
        ({"prompt": "Order jam, raspberry if need be."}, "prompt", "raspberry"),
        ({"prompt": ["Order jam.", {"hint": "gooseberries sell well"}]}, "prompt", "gooseberry"),
        (
            {"prompt": "Order jam.", "success_criteria": "The order says blackcurrant."},
            "success criteria",
            "blackcurrant",
        ),
        ({"prompt": "Order jam.", "success": {"text": "It has 62.5 grams."}}, "success criteria", 62.5),
        ({"prompt": "Order jam.", "name": "lingonberry order"}, "prompt", "lingonberry"),
        ({"prompt": "Pay 17.25 for it.", "final": {"body": {"price": 17.25}}}, "prompt", 17.25),
        ({"prompt": "It goes to order_77x.", "names": ["order_77x"]}, "prompt", "order_77x"),
        ({"prompt": "The berry of Worcester.", "paraphrases": ["berry of Worcester"]}, "prompt", "berry of Worcester"),
        ({"prompt": "What cassis is made of.", "shown": ["prompt"]}, "prompt", "what cassis is made of"),
    ],
)
def test_a_task_that_gives_the_fix_away_is_a_leak(
    clean: list[AuditSubject], tmp_path: Path, members: dict[str, object], channel: str, value: object
) -> None:
    done = audit([task_file(tasks_at(tmp_path / "lab", **members), clean)])
    assert [(hit.text.channel, hit.fix.value) for hit in done.leaks] == [(channel, value)]


@pytest.mark.parametrize(
    "members",
    [
        {"prompt": "Order red jam.", "success_criteria": "The API accepts the order."},
        {"prompt": "Order jam.", "final": {"body": {"flavour": "red"}}},
        {"prompt": "Order 9 of {jar}.", "names": ["{jar}"]},
        {"name": "raspberry"},  # nobody sees it: there is no prompt
        {"prompt": "Order jam.", "comment": "raspberry is right"},
        {"prompt": "Order jam.", "name": "raspberry", "shown": ["prompt"]},
    ],
)
def test_a_task_that_keeps_its_secret_is_clean(
    clean: list[AuditSubject], tmp_path: Path, members: dict[str, object]
) -> None:
    assert audit([task_file(tasks_at(tmp_path / "lab", **members), clean)]).hits == ()


def test_the_command_says_where_what_and_how(
    jam: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    certificate = tmp_path / "certificate.json"
    folder = jam(diagnosis="The flavour should be Raspberry.")
    assert main(["audit", str(folder), "--certificate", str(certificate)]) == 1
    said = capsys.readouterr()
    assert "LEAK  'raspberry' in diagnosis, in another case" in said.out
    assert "»Raspberry«" in said.out and "acme/jam.yaml" in said.out and "feedback: acme.jam" in said.out
    assert not certificate.exists() and "is not written" in said.err


def test_strict_takes_what_a_third_party_says_for_a_leak(
    jam: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(jam(native="take raspberry instead"))
    assert main(["audit", folder]) == 0
    assert main(["audit", folder, "--strict"]) == 1
    assert "LEAK (strict)" in capsys.readouterr().out


def test_everything_for_machines(jam: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(jam(diagnosis="Raspberry!")), "--json"]) == 1
    (leak, again) = json.loads(capsys.readouterr().out)["leaks"]
    assert (leak["value"], leak["rule"], leak["channel"], leak["text"]) == (
        "raspberry",
        "acme.jam",
        "diagnosis",
        "»Raspberry«!",
    )
    assert again["channel"] == "verbose"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["audit", "no-such-pack"], "no built-in pack"),
        (["audit", "recipe", "--tasks", "nowhere.yaml"], "No such file"),
        (["audit", "--corrigible", "no-such-command"], "no-such-command"),
    ],
)
def test_what_cannot_be_audited_is_neither_clean_nor_a_leak(
    capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    assert main(words) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[1, 2]", "{tasks: 3}", "{", "a: 1"])
def test_a_file_without_tasks_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=re.escape(str(path))):
        task_file(path, [])


def test_a_pack_is_rendered_by_the_command_as_in_this_process(jam: Callable[..., Path]) -> None:
    folder = jam()
    (printed,), (here,) = gather([str(folder)], (), command()), rendered_here(folder)
    assert (printed.digest, printed.facts, printed.pool) == (here.digest, here.facts, here.pool)
    assert [scope.fixes for scope in printed.scopes] == [scope.fixes for scope in here.scopes]


def found(id: str, pack: Path, *tasks: Path) -> list[str]:
    check = next(one for one in checks_of("audit/") if one.id == id)
    config = {"pack": str(pack), "tasks": [str(path) for path in tasks]}
    return [one.requirement for one in check.run(Subject("pack", "http-json", config=config))]


def test_the_checks_tell_answers_from_tasks(jam: Callable[..., Path], tmp_path: Path) -> None:
    pack = jam()
    kept = tasks_at(tmp_path / "kept", prompt="Order jam.")
    assert (found("audit/answers", pack, kept), found("audit/tasks", pack, kept)) == ([], [])
    leaky = tasks_at(tmp_path / "leaky", prompt="Order raspberry jam.")
    assert (found("audit/answers", pack, leaky), found("audit/tasks", pack, leaky)) == ([], ["SRF-AUD-02"])


def test_the_check_of_answers_finds_a_diagnosis(jam: Callable[..., Path], tmp_path: Path) -> None:
    leaky, secret = jam(diagnosis="Raspberry!"), tasks_at(tmp_path / "kept", prompt="Order jam.")
    assert set(found("audit/answers", leaky, secret)) == {"SRF-AUD-01"}
    assert found("audit/tasks", leaky, secret) == []


PAPER = [
    {
        "name": "Gratin",
        "description": "Convert this gratin to traditional French cuisine.",
        "success_criteria": "Agent should replace coconut milk with regular milk or cream",
        "request": {"target_cuisine": "french", "ingredients": [{"name": "coconut milk", "amount": 2}]},
    },
    {
        "name": "Bread",
        "description": "Scale this bread from 8 to 13 servings.",
        "success_criteria": "Amounts are multiplied by 1.625, so flour has expected_amount: 3.25.",
        "request": {"original_servings": 8, "target_servings": 13, "ingredients": [{"name": "flour", "amount": 2}]},
        "final": {"ingredients": [{"name": "flour", "amount": 2, "scaled_amount": 3.25}]},
        "paraphrases": ["1.625"],
    },
    {
        "name": "Flapjacks",
        "prompt": "Use Bob\u2019s Red Mill certified gluten-free oats.",
        "request": {"dietary_requirements": ["celiac_safe"], "ingredients": [{"name": "oats"}]},
    },
    {
        "name": "Frittata",
        "description": "Scale this frittata. A worked example: eight eggs become 11 eggs.",
        "request": {"ingredients": [{"name": "eggs", "amount": 8}]},
        "fixes": [{"eggs": 11}],
    },
]


def test_the_leaks_that_the_paper_tells_of_are_found(tmp_path: Path) -> None:
    """Section 5.2 of "Structure Beats Verbosity": replacement, ratio and target amount, brand, worked example."""
    path = tmp_path / "tasks.yaml"
    path.write_text(yaml.safe_dump({"pack": "recipe", "tasks": PAPER}), "utf-8")
    recipe = rendered_here("recipe")
    found_in: dict[str, set[object]] = {}
    for hit in audit([task_file(path, recipe)]).leaks:
        found_in.setdefault(hit.text.where.split()[1], set()).add(hit.fix.value)
    assert found_in == {
        "Gratin": {"regular milk or cream"},
        "Bread": {"1.625", 3.25},
        "Flapjacks": {"Bob's Red Mill Certified Gluten-Free Oats", "Bob's Red Mill"},
        "Frittata": {11},
    }
