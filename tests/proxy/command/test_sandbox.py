"""`corrigible sandbox` in the foreground: one ready line, a quiet end, and an honest one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from corrigible.adapters.sandbox.server import free_port
from tests._support.command import run, start

COMMAND = ["corrigible", "sandbox"]


@contextmanager
def sandbox(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = start([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=240)


def ready(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def child_of(pid: int) -> int:
    """Return the server; what forks it for tests was there before."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[-1])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["stripe"],
            "stripe-stateful-mock 0.0.16 listening on URL; it implements API version 2020-08-27, "
            "has no PaymentIntents and accepts unknown parameters\n",
        ),
        (
            ["stripe", "--server", "emulate"],
            "emulate 0.12.2 listening on URL; it has no refunds, no POST /v1/charges, no declines and no idempotency\n",
        ),
        (
            ["github"],
            "emulate 0.12.2 listening on URL; it takes an unknown token for the first user's, says no errors[], "
            "and has no rulesets or rate limits\n",
        ),
        (
            ["recipe"],
            "recipe service listening on URL; it is this project's own example and stands for no other API\n",
        ),
    ],
)
def test_it_says_where_it_listens_and_sigterm_ends_it_and_its_server(arguments: list[str], line: str) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with sandbox(*arguments, "--port", str(port)) as process:
        assert ready(process) == line.replace("URL", url)
        assert httpx.get(f"{url}/nowhere", timeout=60).status_code in (401, 404)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=240)
        assert (process.returncode, out, err) == (0, "", "")
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/nowhere", timeout=60)


def test_the_death_of_the_server_is_reported() -> None:
    with sandbox("stripe") as process:
        assert re.search(r"listening on http://127\.0\.0\.1:\d+;", ready(process))
        os.kill(child_of(process.pid), signal.SIGKILL)
        _, err = process.communicate(timeout=240)
        assert process.returncode == 1
        assert err == ("corrigible sandbox: stripe-stateful-mock 0.0.16 ended by SIGKILL:\n    (it printed nothing)\n")


def test_a_server_that_is_not_known_is_refused_with_those_that_are() -> None:
    done = run([*COMMAND, "recipe", "--server", "emulate"])
    assert done.returncode == 2
    assert done.stderr == "--server emulate: recipe has only recipe\n"


def test_a_seed_file_is_for_a_server_that_takes_one(tmp_path: Path) -> None:
    missing = tmp_path / "seed.yaml"
    done = run([*COMMAND, "github", "--seed", str(missing)])
    assert (done.returncode, done.stderr) == (2, f"--seed {missing}: no such file\n")
    missing.write_text("{}")
    done = run([*COMMAND, "recipe", "--seed", str(missing)])
    assert (done.returncode, done.stderr) == (2, "--seed cannot be used with recipe service: it starts empty\n")


def test_a_seed_file_says_what_the_server_has(tmp_path: Path) -> None:
    seed, port = tmp_path / "seed.yaml", free_port()
    seed.write_text("tokens: {token-ada: {login: ada, scopes: [repo]}}\ngithub: {users: [{login: ada, name: Ada}]}\n")
    with sandbox("github", "--seed", str(seed), "--port", str(port)) as process:
        assert ready(process).startswith("emulate 0.12.2 listening on")
        answer = httpx.get(f"http://127.0.0.1:{port}/user", headers={"Authorization": "Bearer token-ada"}, timeout=60)
        assert answer.json()["login"] == "ada"


def test_acme_stands_before_the_stripe_that_is_named_at_the_moment_that_is_named() -> None:
    with sandbox("stripe") as stripe:
        found = re.search(r"listening on (http://127\.0\.0\.1:\d+);", ready(stripe))
        assert found is not None
        with sandbox("acme", "--stripe", found[1], "--now", "2030-01-01T00:00:00Z") as process:
            line = ready(process)
            url = re.search(r"^Acme billing listening on (http://127\.0\.0\.1:\d+); it is", line)
            assert url is not None
            owner = {"authorization": "Bearer acme_test_t_owner"}
            made = httpx.post(
                f"{url[1]}/v1/test_helpers/payments", json={"order": "A-1", "amount": 700}, headers=owner, timeout=60
            )
            assert made.json()["paid_at"] == "2030-01-01T00:00:00Z"
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=240)
            assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["recipe", "--stripe", "http://x"], "--stripe and --now cannot be used with recipe service, only with acme\n"),
        (["acme", "--now", "noon"], "--now noon: Invalid isoformat string: 'noon'\n"),
        (["acme", "--now", "2030-01-01"], "--now 2030-01-01: the time zone is missing\n"),
    ],
)
def test_what_acme_alone_takes_is_checked(arguments: list[str], line: str) -> None:
    done = run([*COMMAND, *arguments])
    assert (done.returncode, done.stderr) == (2, line)
