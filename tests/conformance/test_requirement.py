"""The requirements: well formed, rendered, and each MUST held by a check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

import pytest

from corrigible.conformance.checks import CHECKS, Run
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.suite.requirement import (
    DOCUMENT,
    FILE,
    book,
    read,
    render,
    traceability,
)
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.validators.finding import Finding
from tests._support.rows import rows

CONTRACT = files("corrigible.schema").joinpath("SPEC.md").read_text("utf-8")


def nothing(subject: Subject) -> Iterable[Finding]:
    return ()


def check(id: str, *requirements: str, role: str = "proxy", profile: str = "http-json") -> Check:
    return Check(id, "A check", requirements, nothing, frozenset({profile}), frozenset({role}))


def test_the_document_is_what_the_file_says() -> None:
    assert DOCUMENT.read_text("utf-8") == render(read(FILE)), "run python -m corrigible.conformance.suite.requirement"


def test_every_requirement_has_an_anchor_of_its_own() -> None:
    anchors = Counter(re.findall(r'<a id="([^"]+)"></a>', DOCUMENT.read_text("utf-8")))
    ids = [one.id for one in book().requirements] + [one.id for one in book().reserved]
    assert anchors == Counter(id.lower() for id in ids)
    assert set(anchors.values()) == {1}
    assert book().requirements[0].where == "SPEC.md#srf-trn-01"


def test_every_link_of_the_document_leads_somewhere() -> None:
    text = DOCUMENT.read_text("utf-8")
    headings = {
        re.sub(r"[^\w\s-]", "", h).strip().lower().replace(" ", "-") for h in re.findall(r"^## (.*)$", text, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_every_clause_is_one_of_the_contract() -> None:
    clauses = set(re.findall(r"^(\d+\.\d+) ", CONTRACT, re.MULTILINE))
    named = {(one.id, clause) for one in book().requirements for clause in one.numbers}
    assert {(id, clause) for id, clause in named if clause not in clauses} == set()


def test_the_prose_is_whole_sentences_and_says_nothing_twice() -> None:
    all_of_them = book().requirements
    for one in all_of_them:
        assert one.text.endswith("."), one.id
        assert one.why.endswith((".", "?")), one.id
        assert not one.title.endswith("."), one.id
        assert len(one.title) <= 70, one.id
    assert len({one.title for one in all_of_them}) == len({one.text for one in all_of_them}) == len(all_of_them)


def test_numbers_of_a_group_have_no_gaps_but_the_reserved_ones() -> None:
    reserved = {one.id for one in book().reserved}
    assert len(book().groups) > 5
    for group in book().groups:
        numbers = sorted([*(one.id for one in group.requirements), *(id for id in reserved if f"-{group.name}-" in id)])
        assert numbers == [f"SRF-{group.name}-{n:02d}" for n in range(1, len(numbers) + 1)]


def test_a_level_rests_on_those_below_it() -> None:
    counts = [len(book().up_to(level)) for level in ("L0", "L1", "L2", "L3")]
    assert counts == sorted(counts)
    assert counts[-1] == len(book().requirements)
    assert {one.level for one in book().up_to("L1")} == {"L0", "L1"}


def test_a_requirement_is_found_in_any_case() -> None:
    found = book().get("srf-ops-03")
    assert found is not None
    assert found.must
    assert book().get("SRF-OPS-99") is None


# traceability


def test_every_must_is_held_by_a_check_and_no_check_names_a_stranger() -> None:
    traced = traceability(CHECKS)
    assert traced.unknown_ids == ()
    assert traced.misplaced == ()
    assert [one.id for one in traced.unchecked] == []


def test_every_row_of_the_checks_names_a_function_and_no_check_is_there_twice() -> None:
    assert len({one.id for one in CHECKS}) == len(CHECKS)
    assert all(callable(one.run.ask()) for one in CHECKS if isinstance(one.run, Run))


def test_a_must_without_a_check_is_told() -> None:
    unheld = {one.id for one in traceability([check("a", "SRF-TRN-01")]).unchecked}
    assert "SRF-TRN-01" not in unheld
    assert "SRF-TRN-02" in unheld
    assert "SRF-TRN-11" not in unheld  # a SHOULD


def test_a_check_that_names_what_nobody_requires_is_told() -> None:
    traced = traceability([check("a", "SRF-TRN-01", "SRF-TRN-99"), check("b", "SRF-SEC-04")])
    assert traced.unknown_ids == (("a", "SRF-TRN-99"), ("b", "SRF-SEC-04"))


def test_a_check_that_can_never_meet_its_requirement_is_told() -> None:
    wrong_role = check("a", "SRF-TRN-01", role="pack")
    wrong_profile = check("b", "SRF-MCP-01", profile="grpc")
    assert traceability([wrong_role, wrong_profile]).misplaced == (("a", "SRF-TRN-01"), ("b", "SRF-MCP-01"))


# mistakes in the file

GOOD = """\
groups:
  - group: TRN
    title: Transparency
    about: A proxy harms nothing.
    level: L0
    roles: [proxy]
    profiles: [grpc]
    requirements:
      - id: SRF-TRN-01
        keyword: MUST
        title: Bytes
        text: Bytes stay.
        why: Because.
reserved:
  - {id: SRF-TRN-09, note: Later.}
"""


def test_what_a_requirement_leaves_out_its_group_says(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(GOOD, "utf-8")
    (one,) = read(path).requirements
    assert (one.level, one.roles, one.profiles) == ("L0", ["proxy"], ["grpc"])
    path.write_text(GOOD.replace("why: Because.", "why: Because.\n        level: L2\n        roles: [pack]"), "utf-8")
    (one,) = read(path).requirements
    assert (one.level, one.roles, one.profiles) == ("L2", ["pack"], ["grpc"])


@rows(
    ("old", "new", "said"),
    [
        (
            "keyword: MUST",
            "keyword: MAY",
            "r.yaml:10: groups.0.requirements.0.keyword: input should be 'MUST'",
        ),
        ("why: Because.", "wy: Because.", 'r.yaml:13: unknown key "wy"; did you mean "why"?'),
        ("        why: Because.\n", "", 'r.yaml:9: "why" is missing'),
        ("SRF-TRN-01", "SRF-TRN-1", "r.yaml:9: groups.0.requirements.0.id: string should match pattern"),
        ("SRF-TRN-01", "SRF-COR-01", "r.yaml:9: SRF-COR-01 stands in the group TRN"),
        ("roles: [proxy]", "roles: [prox]", 'r.yaml:6: no role is called "prox"; did you mean "proxy"?'),
        ("profiles: [grpc]", "profiles: [grcp]", 'r.yaml:7: no profile is called "grcp"; did you mean "grpc"?'),
        ("level: L0", "level: L9", "r.yaml:5: groups.0.level: input should be"),
        ("SRF-TRN-09", "SRF-TRN-01", "r.yaml:15: SRF-TRN-01 is in use"),
        ("title: Bytes", "title: [", "r.yaml:13: no YAML"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "r.yaml"
    assert GOOD.count(old) == 1
    path.write_text(GOOD.replace(old, new), "utf-8")
    with pytest.raises(UsageError, match=re.escape(said)):
        read(path)


def test_an_id_that_is_given_twice_is_told(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    head, entry = GOOD.split("requirements:\n")
    entry, reserved = entry.split("reserved:")
    path.write_text(f"{head}requirements:\n{entry}{entry}reserved:{reserved}", "utf-8")
    with pytest.raises(UsageError, match=r"r\.yaml:14: SRF-TRN-01 is given twice"):
        read(path)
