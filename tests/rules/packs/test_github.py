"""The GitHub pack as a whole: its cases hold, and it keeps away from what only a person may do."""

from __future__ import annotations

import re

import pytest

from corrigible.adapters.apis.github.adapter import ADAPTER, description
from corrigible.rules.language.expression import Expression
from corrigible.rules.language.rule import TERMINAL, SuggestionSpec, Template
from corrigible.rules.pack.load import Pack
from tests._support.built_in_packs import pack_of
from tests._support.rows import rows
from tests._support.rule_entries import says


@pytest.fixture(scope="module")
def pack() -> Pack:
    return pack_of("github")


def texts(template: Template) -> list[str]:
    if isinstance(template, Expression):
        return [template.expanded]
    if isinstance(template, dict):
        return [text for inner in template.values() for text in texts(inner)]
    if isinstance(template, list):
        return [text for inner in template for text in texts(inner)]
    return [str(template)]


def edited(say: SuggestionSpec) -> list[tuple[str, str]]:
    """Return every edit as the place it writes to and what it writes; a patch that is computed has no place."""
    if isinstance(say.edits, Expression):
        return [("", say.edits.expanded)]
    if isinstance(say.changes, Expression):
        return [("", say.changes.expanded)]
    written = [(edit.path, edit.value) for edit in say.edits or () if edit.op not in ("test", "remove")]
    written += [(place, value) for place, value in say.changes or () if value is not None]
    return [(place if isinstance(place, str) else place.expanded, " ".join(texts(value))) for place, value in written]


_PLACE = r"/body/[a-z_]+"


def test_rules_listen_for_operations_that_exist(pack: Pack) -> None:
    unknown = {name for rule in pack.rules for name in rule.match.operations} - set(ADAPTER.operations.names)
    assert unknown == set()


def test_repeatable_operations_exist_and_none_of_them_adds_something_each_time(pack: Pack) -> None:
    table = set(pack.tables["repeatable"])
    assert table <= set(ADAPTER.operations.names)
    assert [name for name in table if "create" in name and "create-or-update" not in name] == []


def test_settings_that_may_be_written_to_what_is_there_are_none_that_protect(pack: Pack) -> None:
    settings = set(pack.tables["repository_settings"])
    described = set(description().facts("repos/update")["properties"])
    assert settings <= described
    assert settings.isdisjoint({"private", "visibility", "archived", "default_branch", "security_and_analysis"})


def test_paths_of_the_own_account_are_those_of_the_description(pack: Pack) -> None:
    assert pack.tables["user_paths"]
    for method, paths in pack.tables["user_paths"].items():
        known = {
            template.removeprefix(f"{method} /user/")
            for template in description().operations.templates
            if re.fullmatch(rf"{method} /user/[a-z_-]+", template)
        }
        assert set(paths) == known, method


@rows(
    "forbidden",
    [
        r"/protection\b",
        r"/rulesets\b",
        r"/check-runs\b",
        r"/collaborators/",
        r"/merge-upstream\b",
        r"\bAPPROVE\b",
        r"/dispatches\b",
    ],
)
def test_nothing_is_sent_first_or_elsewhere_that_only_a_person_may_do(pack: Pack, forbidden: str) -> None:
    assert [step for rule in pack.rules for entry in rule.entries for say in says(entry) for step in say.steps]
    for rule in pack.rules:
        for say in (say for entry in rule.entries for say in says(entry)):
            steps = [text for step in say.steps for text in texts(step)]
            moved = [text for path, text in edited(say) if path in ("", "/path")]
            found = [text for text in (*steps, *moved) if re.search(forbidden, text)]
            assert found == [], rule.id


def test_no_edit_weakens_a_protection(pack: Pack) -> None:
    weak = {"/body/force", "/body/archived", "/body/private", "/body/visibility", "/body/enforce_admins"}
    assert [edit for rule in pack.rules for entry in rule.entries for say in says(entry) for edit in edited(say)]
    for rule in pack.rules:
        for say in (say for entry in rule.entries for say in says(entry)):
            written: set[str] = set()
            for path, text in edited(say):
                written |= {path} if path else set(re.findall(_PLACE, text))
            names = {f"/body/{name}" for name in say.parameters} if say.base_action not in TERMINAL else set()
            assert (written | names) & weak == set(), rule.id


def test_credentials_are_secret(pack: Pack) -> None:
    assert {"token", "password", "secret", "client_secret", "encrypted_value"} <= pack.settings.secrets


def test_look_ups_are_allowed_on_an_enterprise_server_too(pack: Pack) -> None:
    plain = [path for path in pack.settings.lookups if path[:2] != ("api", "v3")]
    assert len(plain) * 2 == len(pack.settings.lookups)
    assert {("api", "v3", *path) for path in plain} <= set(pack.settings.lookups)
