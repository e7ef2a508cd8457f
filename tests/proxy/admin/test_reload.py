"""Packs that change under a running proxy: all of it or nothing, and nothing that was known is forgotten."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

JSON = b"Content-Type: application/json\r\n"
REFUSAL = b'{"error":{"code":"bad","message":"m"}}'
LARGE = 20_000
"""Bytes of a request that is corrected in a worker."""


class Running:
    """A proxy whose lines are read one by one."""

    def __init__(self, bench: Any, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process, self._bench = process, bench
        self._port = int(process.stdout.readline().split()[1].rpartition(":")[2])

    def line_with(self, text: str) -> str:
        """Return the next line on the terminal that has this text."""
        assert self.process.stderr is not None
        seen = []
        while line := self.process.stderr.readline():
            seen.append(line)
            if text in line:
                return line
        raise AssertionError("".join(seen))

    def correction(self, size: int = 0) -> tuple[Any, int]:
        """Return what the pack suggests for `a`, and the number of the attempt."""
        body = json.dumps({"a": 0, "filler": "x" * size}).encode()
        caller = b'Prefer: recovery-feedback=reflective; caller="%d"\r\n' % size
        answer = self._bench.ask(self._port, "/x", "POST", body, JSON + caller)
        feedback = json.loads(answer.partition(b"\r\n\r\n")[2])["recovery_feedback"]
        return feedback["suggestions"][0].get("parameters", {}).get("a"), feedback.get("loop", {}).get("attempt", 1)


@contextmanager
def proxied(bench: Any, *words: str) -> Iterator[Running]:
    with (
        bench.upstream({"/x": bench.message(b"400 No", JSON, REFUSAL)}) as upstream,
        subprocess.Popen(
            bench.command(
                *("--upstream", f"http://127.0.0.1:{upstream.port}", "--listen", "127.0.0.1:0", "--time-limit", "60"),
                *words,
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            yield Running(bench, process)
        finally:
            process.kill()


def rule(value: str) -> str:
    return f"match: {{code: bad}}\nsuggest: [{{action: MODIFY_PARAMS, message: m, parameters: {{a: {value}}}}}]\n"


def test_packs_are_loaded_anew_and_a_broken_one_changes_nothing(bench: Any, write_pack: Callable[..., Path]) -> None:
    pack = write_pack(x=rule("1"))
    with proxied(bench, "--pack", str(pack), "--reload") as proxy:
        assert [proxy.correction(), proxy.correction(LARGE)] == [(1, 1), (1, 1)]
        write_pack(x=rule("2"))
        proxy.line_with("packs and descriptions reloaded")
        # What was advised last is no longer advised, so this is no repetition; but it is the second attempt.
        assert [proxy.correction()[1], proxy.correction(LARGE)[1]] == [2, 2]
        write_pack(x=rule("{"))
        line = proxy.line_with("not reloaded, everything stays as it was: ")
        assert f"{pack / 'x.yaml'}:" in line
        assert proxy.correction()[1] == 3
        write_pack(x=rule("3"))
        proxy.line_with("packs and descriptions reloaded")
        for size in (1, LARGE + 1):  # of callers who are new
            assert proxy.correction(size) == (3, 1)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal here")
def test_a_hangup_loads_anew(bench: Any, write_pack: Callable[..., Path]) -> None:
    pack = write_pack(x=rule("1"))
    with proxied(bench, "--pack", str(pack)) as proxy:
        assert proxy.correction() == (1, 1)
        write_pack(x=rule("2"))
        proxy.process.send_signal(signal.SIGHUP)
        proxy.line_with("packs and descriptions reloaded")
        assert proxy.correction(1) == (2, 1)
        proxy.process.terminate()
        assert proxy.process.wait(60) == 0
