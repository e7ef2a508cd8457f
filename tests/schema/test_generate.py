"""The generated code is fresh, and a stale one would be noticed."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "protos" / "generate.py"


@pytest.fixture
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_checked_in_is_fresh() -> None:
    run = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_a_stale_file_is_named(generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (generate.PROTO, *generate.GENERATED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SCRIPT.parent / name, tmp_path / name)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert list(generate.stale()) == []
    proto = tmp_path / generate.PROTO
    proto.write_text(proto.read_text("utf-8").replace("after_seconds = 2", "after_seconds = 12"), "utf-8")
    assert list(generate.stale()) == ["corrigible/schema/v0_1/feedback_pb2.py is stale: run python protos/generate.py"]


def test_a_schema_that_lacks_a_member_is_named(
    generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = tmp_path / "corrigible/schema/feedback.schema.json"
    schema.parent.mkdir(parents=True)
    text = (SCRIPT.parent / "corrigible/schema/feedback.schema.json").read_text("utf-8")
    schema.write_text(text.replace('"relax_structure"', '"relax"').replace('"fingerprint"', '"print"'), "utf-8")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert list(generate.differences()) == [
        "Loop: the JSON Schema lists ['print', 'attempt', 'action'], not ['fingerprint', 'attempt', 'action']",
        "Loop.action: the JSON Schema lists ['none', 'next_alternative', 'relax', 'escalate'], "
        "not ['none', 'next_alternative', 'relax_structure', 'escalate']",
    ]


def test_a_stale_descriptor_set_is_named(generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, files in generate.DESCRIPTORS.items():
        folder = (tmp_path / name).parent
        folder.mkdir(parents=True)
        for file in (Path(name).name, *files):
            shutil.copy((generate.REPOSITORY / name).parent / file, folder / file)
    monkeypatch.setattr(generate, "REPOSITORY", tmp_path)
    assert list(generate.stale()) == []
    *_, last = generate.DESCRIPTORS
    (tmp_path / last).write_bytes(b"")
    assert list(generate.stale()) == [f"{last} is stale: run python protos/generate.py"]
