"""The log survives kills, and tells where two of them differ."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from corrigible.conformance.lift.log import LOG, Episode, Manifest, Turn, compare, opened, read
from corrigible.conformance.model.outcome import UsageError
from tests._support.rows import rows

MANIFEST = Manifest(plan={}, seed=0)


def episode(key: str = "k", **more: object) -> Episode:
    members = {"task": "t", "domain": "d", "needs": "nothing", "arm": "none", "agent": "a", "kind": "scripted"}
    return Episode.model_validate({"key": key, **members, "seed": 0, "outcome": "success", **more})


def written(folder: Path, *episodes: Episode, manifest: Manifest = MANIFEST) -> Path:
    with opened(folder) as store:
        store.add(manifest)
        for one in episodes:
            store.add(one)
    return folder


def test_what_is_written_is_read(tmp_path: Path) -> None:
    log = read(written(tmp_path, episode("a"), episode("b")))
    assert [one.key for one in log.episodes] == ["a", "b"]
    assert log.manifest == MANIFEST and not log.warnings


def test_the_last_word_on_a_key_counts(tmp_path: Path) -> None:
    written(tmp_path, episode("a", outcome="error", why="crash"), episode("b"), episode("a"))
    assert [(one.key, one.outcome) for one in read(tmp_path).episodes] == [("a", "success"), ("b", "success")]


@rows("left", range(1, 60, 7))
def test_a_torn_last_line_is_dropped_with_a_warning(tmp_path: Path, left: int) -> None:
    written(tmp_path, episode("a"), episode("b"))
    content = (tmp_path / LOG).read_bytes()
    whole = content[: content.rstrip(b"\n").rfind(b"\n") + 1]
    (tmp_path / LOG).write_bytes(content[: len(whole) + left])
    with opened(tmp_path) as store:
        assert store.log is not None
        assert [one.key for one in store.log.episodes] == ["a"]
        assert "torn" in store.log.warnings[0]
        store.add(episode("c"))
    log = read(tmp_path)
    assert [one.key for one in log.episodes] == ["a", "c"] and not log.warnings


def test_a_broken_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    written(tmp_path, episode("a"))
    with (tmp_path / LOG).open("a") as file:
        file.write('{"key": 1}\n')
    with pytest.raises(UsageError, match="line 3 is no line of a log"):
        read(tmp_path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text(json.dumps({**MANIFEST.model_dump(), "format": "corrigible-lift/9"}) + "\n")
    with pytest.raises(UsageError, match="corrigible-lift/9"):
        read(tmp_path)


def test_no_log_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no log of"):
        read(tmp_path)


def test_two_writers_are_refused(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from corrigible.conformance.lift.log import opened\n"
        "with opened(Path(sys.argv[1])): print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdin is not None
        other.stdout.readline()
        with pytest.raises(UsageError, match=f"another run writes here .process {other.pid}."), opened(tmp_path):
            pass
        other.stdin.close()
        other.wait()
    with opened(tmp_path):
        pass


class TestCompare:
    def test_times_do_not_count(self, tmp_path: Path) -> None:
        turns = [Turn(request={}, status=400, seconds=seconds) for seconds in (1.0, 2.0)]
        first = written(tmp_path / "a", episode(at=1.0, seconds=2.0, turns=(turns[0],)))
        later = MANIFEST.model_copy(update={"at": 9.0})
        second = written(tmp_path / "b", episode(at=3.0, turns=(turns[1],)), manifest=later)
        assert not compare(read(first), read(second))

    def test_the_order_of_lines_does_not_count(self, tmp_path: Path) -> None:
        first = written(tmp_path / "a", episode("1"), episode("2", task="u"))
        second = written(tmp_path / "b", episode("2", task="u"), episode("1"))
        assert not compare(read(first), read(second))

    def test_a_difference_is_said_by_episode_and_turn(self, tmp_path: Path) -> None:
        one, other = (Turn(request={"body": {"amount": n}}, status=400) for n in (5, 6))
        first = written(tmp_path / "a", episode(turns=(one,)))
        second = written(tmp_path / "b", episode("k2", turns=(other, other), why="no"))
        assert [str(line) for line in compare(read(first), read(second))] == [
            'd/t none a seed 0: /why: "", and "no"',
            "d/t none a seed 0: 1 turns, and 2",
            "d/t none a seed 0: turn 1: /request/body/amount: 5, and 6",
        ]

    def test_what_only_one_has_is_said(self, tmp_path: Path) -> None:
        first = written(tmp_path / "a", episode(), manifest=Manifest(plan={}, seed=1))
        second = written(tmp_path / "b", episode(task="u"))
        assert [str(line) for line in compare(read(first), read(second))] == [
            "what ran: /seed: 1, and 0",
            "d/t none a seed 0: only in the first",
            "d/u none a seed 0: only in the second",
        ]
