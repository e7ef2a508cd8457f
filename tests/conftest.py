"""What every test may rely on: a sane namespace, and real servers that are started once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Protocol

import pytest
from hypothesis import HealthCheck, settings

from tests._support.command import FORKING
from tests._support.heap import pytest_collection as pytest_collection
from tests._support.order import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests._support.order import pytest_terminal_summary as pytest_terminal_summary
from tests._support.rows import pytest_configure as pytest_configure
from tests._support.skips import pytest_addoption as pytest_addoption
from tests._support.skips import pytest_make_collect_report as pytest_make_collect_report
from tests._support.skips import pytest_runtest_makereport as pytest_runtest_makereport
from tests._support.time_limit import heed_interrupts
from tests._support.time_limit import pytest_timeout_set_timer as pytest_timeout_set_timer

if TYPE_CHECKING:
    from corrigible.adapters.sandbox.server import Running

_ROOT = Path(__file__).resolve().parent.parent
# A stray corrigible/__init__.py hides the four other parts. Checked here since no ordinary test would get
# to run, and before anything of ours is imported: hence the imports inside the fixtures.
_STRAY = [
    str(path.relative_to(_ROOT))
    for area in ("proxy", "rules", "protos", "adapters", "conformance")
    if (path := _ROOT / area / "corrigible" / "__init__.py").exists()
]
if _STRAY:
    raise pytest.UsageError(f"must not exist, it hides the other parts of the namespace: {', '.join(_STRAY)}")

heed_interrupts()
# A busy machine is no failure. Other examples come with each run, and at night many.
settings.register_profile("usual", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("night", settings.get_profile("usual"), max_examples=400)
settings.load_profile("usual")
os.environ.setdefault("CORRIGIBLE_TIME_LIMIT", "20")  # nor is it here: what is late passes as it is, by design


@pytest.fixture(scope="session", autouse=True)
def servers_of_ours_are_forked() -> Iterator[None]:
    """Sandboxes start servers and proxies of ours without the time that their imports take."""
    from corrigible.adapters.openapi import compiled_file
    from corrigible.adapters.sandbox import server
    from corrigible.conformance.lift import environment
    from corrigible.conformance.transport import process

    with pytest.MonkeyPatch.context() as patch:
        for module in (server, process, compiled_file, environment):
            patch.setattr(module, "subprocess", FORKING)
        yield


@pytest.fixture(scope="session")
def stripe_server() -> Iterator[Running]:
    """The default Stripe sandbox, fresh for this run of the tests and shared by them."""
    from corrigible.proxy.demo.scene import SANDBOXES

    with SANDBOXES["stripe"][0].start() as running:
        yield running


@pytest.fixture(scope="session")
def stripe_proxy(stripe_server: Running) -> Iterator[Running]:
    """`corrigible proxy --pack stripe` in front of `stripe_server`."""
    from corrigible.proxy.demo.scene import proxy_for

    with proxy_for(stripe_server.url, "stripe").start() as running:
        yield running


@pytest.fixture(scope="session")
def recipe_server() -> Iterator[Running]:
    """The recipe service."""
    from corrigible.proxy.demo.scene import RECIPE

    with RECIPE.start() as running:
        yield running


class WritePack(Protocol):
    def __call__(self, *, manifest: str = "", **rules: str) -> Path: ...


@pytest.fixture
def write_pack(tmp_path: Path) -> WritePack:
    """Write a pack called apex, each rule from the lines after its header: the first of them is line 6 of its file."""

    def write(*, manifest: str = "", **rules: str) -> Path:
        folder = tmp_path / "apex"
        shutil.rmtree(folder, ignore_errors=True)  # of the row before
        folder.mkdir()
        head = "name: apex\ntitle: Apex\nversion: 2.1.0\napi: {name: Apex API}\nlicense: Apache-2.0\n"
        (folder / "pack.yaml").write_text(head + dedent(manifest), "utf-8")
        for name, text in rules.items():
            slug = name.replace("_", "-")
            end = "author: A\ndate: 2026-01-01\n"
            top = f"id: apex.{slug}\ntitle: About {slug}\nstatus: stable\nreferences: [https://a.test]\n"
            (folder / f"{slug}.yaml").write_text(f"{top}diagnosis: It is {slug}.\n{dedent(text)}\n{end}", "utf-8")
        return folder

    return write
