"""The local GitHub starts from its lock with the users of its seed file, or of another."""

from __future__ import annotations

from pathlib import Path

import httpx

from corrigible.adapters.apis.github.sandbox import SEED, SERVERS
from corrigible.adapters.sandbox.server import Running


def login(running: Running, token: str) -> str:
    answer = httpx.get(f"{running.url}/user", headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return str(answer.json()["login"])


def test_it_has_the_users_and_repositories_of_its_seed() -> None:
    with SERVERS[0].start() as running:
        tokens = ("token-octocat", "token-dev", "token-reviewer")
        assert [login(running, token) for token in tokens] == ["octocat", "dev", "reviewer"]
        for repository in ("octocat/hello-world", "acme/anvil"):
            assert httpx.get(f"{running.url}/repos/{repository}", timeout=60).json()["full_name"] == repository


def test_another_seed_gives_another_world(tmp_path: Path) -> None:
    seed = tmp_path / "seed.yaml"
    seed.write_text("tokens: {token-ada: {login: ada, scopes: [repo]}}\ngithub: {users: [{login: ada, name: Ada}]}\n")
    assert SERVERS[0].seeded is not None
    with SERVERS[0].seeded(seed).start() as running:
        assert login(running, "token-ada") == "ada"
        assert httpx.get(f"{running.url}/repos/octocat/hello-world", timeout=60).status_code == 404
    assert SEED.is_file()
