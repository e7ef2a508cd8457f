"""Sentences of many kinds of servers, each about a small API: asked or repaired at the right place, and nothing else.

`own/sentences.yaml` has them. Of a sentence that says too little (`class: silent`) any question is as good as none.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from .case import Case, Stranger, load_described
from .judge import Episode, judge, kind_of, wrong_edits
from .replay import replay

LEAST_RIGHT: Final = 0.0
"""The share of the sentences with a place or a repair that were answered right when this was measured."""


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Stranger, Case, Episode]]:
    servers = load_described("sentences.yaml", tmp_path_factory.mktemp("apis"))
    return [(server, case, replay("own", server, case)) for server in servers for case in server.cases]
