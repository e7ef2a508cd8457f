"""Worlds: what is said of them, what is missing, and what makes two runs of them comparable."""

from __future__ import annotations

import base64
import socket
from pathlib import Path
from typing import Any

import pytest

from corrigible.conformance.lift.environment import ENVIRONMENTS, Environment, Normalizer, environments, start
from corrigible.conformance.lift.task import TASKS
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.transport.process import free_port
from tests._support.rows import rows


def environment(**more: Any) -> Environment:
    members = {
        "why": "w",
        "upstream": "u",
        "proxy": "p",
        "callers": {"owner": {"authorization": "Bearer {tenant}-key"}},
    }
    return Environment.model_validate({**members, **more})


def test_every_task_file_has_a_world() -> None:
    assert {path.stem for path in TASKS.glob("*.yaml")} <= set(environments(ENVIRONMENTS))


@rows("name", environments())
def test_every_world_has_an_owner_and_says_how_state_is_fresh(name: str) -> None:
    one = environments()[name]
    assert "owner" in one.callers and one.why
    assert "{port}" in one.upstream and "{port}" in one.proxy and "{upstream}" in one.proxy
    assert bool(one.descriptors) is one.grpc


def test_a_wrong_world_is_said_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "worlds.yaml").write_text("x: {why: w, upstream: u, proxy: p, callers: {}, restart: yes}")
    with pytest.raises(UsageError, match="restart"):
        environments(tmp_path / "worlds.yaml")


def test_what_is_missing_is_said() -> None:
    one = environment(needs={"ASSETS": "name a folder"})
    assert one.why_unavailable({}) == "ASSETS is not set: name a folder"
    assert one.why_unavailable({"ASSETS": "/x"}) == ""


def test_credentials_are_filled_in_and_left_out_where_nothing_was_saved() -> None:
    one = environment(callers={"owner": {"authorization": "Bearer {tenant}-key"}, "agent": {"token": "{token}"}})
    assert one.credentials("owner", {"tenant": "e1"}) == {"authorization": "Bearer e1-key"}
    assert one.credentials("agent", {"tenant": "e1"}) == {}
    assert one.credentials("agent", {"token": "t"}) == {"token": "t"}
    assert one.agent == "agent" and environment().agent == "owner"
    with pytest.raises(UsageError, match='did you mean "owner"'):
        one.credentials("ownr", {})


def test_tasks_with_servers_of_their_own_are_named_by_patterns() -> None:
    one = environment(fresh=["users-*"])
    assert one.is_fresh("users-add") and not one.is_fresh("add-users")


@pytest.mark.parametrize(
    ("upstream", "said"),
    [
        ("python -c pass", "ended with exit status 0"),
        ("no-such-program", "could not be started"),
        ("corrigible sandbox recipe --port {port} --mode x", "ended with exit status 2"),
    ],
)
def test_an_upstream_that_does_not_come_up_is_said(upstream: str, said: str) -> None:
    with pytest.raises(UsageError, match=said), start(environment(upstream=upstream)):
        pass


def test_a_port_that_somebody_else_took_meanwhile_is_not_taken_for_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        ports = iter([free_port(), other.getsockname()[1]])
        monkeypatch.setattr("corrigible.conformance.lift.environment.free_port", lambda: next(ports))
        with (
            pytest.raises(UsageError, match=r"(?s)the proxy ended with exit status 1: .* address already in use"),
            start(environments()["recipe"]),
        ):
            pass


class TestCanon:
    def test_ids_are_numbered_by_appearance_and_keep_their_names(self) -> None:
        normalizer = Normalizer(environment(ids=[r"\bch_\w{8,}\b"]), {"tenant": "e12345678"})
        assert normalizer({"charge": "ch_aaaaaaaa", "text": "no ch_bbbbbbbb for ch_aaaaaaaa of e12345678"}) == {
            "charge": "<id:1>",
            "text": "no <id:2> for <id:1> of <tenant>",
        }
        assert normalizer(["ch_bbbbbbbb"]) == ["<id:2>"]

    def test_clocks_times_and_numbers_of_the_server(self) -> None:
        normalizer = Normalizer(environment(clocks=["created"], numbered=["id"], times=[r"rev\d+"]), {})
        said = {
            "created": 1795251410,
            "id": 17,
            "at": "2026-11-21T08:00:00Z",
            "next": {"id": 17},
            "rev": "rev22",
            "n": 17,
        }
        assert normalizer(said) == {
            "created": "<time>",
            "id": "<id:1>",
            "at": "<time>",
            "next": {"id": "<id:1>"},
            "rev": "<time>",
            "n": 17,
        }

    def test_a_patch_of_a_clock(self) -> None:
        normalizer = Normalizer(environment(clocks=["resourceVersion"]), {})
        edit = {"op": "replace", "path": "/body/metadata/resourceVersion", "value": "812"}
        assert normalizer([edit]) == [{**edit, "value": "<time>"}]

    def test_uuids_and_fingerprints_are_never_the_same(self) -> None:
        uid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
        assert Normalizer(environment(), {})({"uid": uid, "fingerprint": "aa"}) == {
            "uid": "<id:1>",
            "fingerprint": "<fingerprint>",
        }

    def test_bytes_of_grpc_that_name_the_tenant(self) -> None:
        coded = base64.b64encode(b"/e12345678/flag").decode()
        normalizer = Normalizer(environment(grpc=True), {"tenant": "e12345678"})
        assert normalizer({"key": coded, "value": "aW5hY3RpdmU="}) == {
            "key": "<base64:/<tenant>/flag>",
            "value": "aW5hY3RpdmU=",
        }

    def test_what_looks_like_an_id_and_is_none(self) -> None:
        normalizer = Normalizer(environment(ids=[r"\btok_\w+"], known=["tok_visa"]), {})
        assert normalizer(["tok_visa", "tok_x"]) == ["tok_visa", "<id:1>"]

    def test_plain_values_stay(self) -> None:
        said = {"a": [1, 2.5, True, None, "text"]}
        assert Normalizer(environment(), {})(said) == said
