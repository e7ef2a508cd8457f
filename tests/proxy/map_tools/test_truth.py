"""How right maps are on the ground truth that was kept out of tuning: GitHub and Gitea, etcd's gRPC and its gateway.

The other pairs take minutes; `corrigible map evaluate` scores them all.
"""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.cli import main
from tests._support.skips import MAPPINGS

pytestmark = pytest.mark.nightly

APIS = ("github 2026-09", "gitea 1.20", "etcd grpc 3.5", "etcd gateway 3.5")
PAIRS = ("github-2026-09--gitea-1.20", "etcd-grpc-3.5--etcd-gateway-3.5", "etcd-gateway-3.5--etcd-grpc-3.5")


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    if not MAPPINGS.is_dir():
        pytest.skip("no ground truth of mappings here")
    known = json.loads((MAPPINGS / "descriptions/index.json").read_text("utf-8"))
    folder: Path = tmp_path_factory.mktemp("truth")
    index = str(folder / "x.index")
    specs = [f"{api}={MAPPINGS / 'descriptions' / known[api]['file']}" for api in APIS]
    assert main(["map", "index", *specs, "--out", index]) == 0
    files = [str(MAPPINGS / "truth" / f"{pair}.kept_out.json") for pair in PAIRS]
    out = StringIO()
    with redirect_stdout(out):
        assert main(["map", "evaluate", "--index", index, "--truth", *files, "--json"]) == 0
    return [json.loads(line) for line in out.getvalue().splitlines() if line.startswith("{")]


def test_mappings_are_right_and_most_are_found(scores: list[dict[str, Any]]) -> None:
    own = scores[0]["targets"]
    assert own["precision"] >= 0.85
    assert own["recall"] >= 0.7


def test_pairs_of_fields_are_right(scores: list[dict[str, Any]]) -> None:
    assert scores[0]["fields"]["precision"] >= 0.9


def test_neither_names_nor_descriptions_alone_are_as_good(scores: list[dict[str, Any]]) -> None:
    own, *others = scores
    assert len(others) == 2
    for other in others:
        assert own["targets"]["f1"] > other["targets"]["f1"], other["method"]
