"""Packs that change under a running proxy: all of it or nothing, and nothing that was known is forgotten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
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

    def next_line(self) -> str:
        """Return the next line on the terminal."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

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
        bench.start(
            *("--upstream", f"http://127.0.0.1:{upstream.port}", "--listen", "127.0.0.1:0", "--time-limit", "60"),
            *words,
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
        assert proxy.line_with("packs and descriptions reloaded").endswith(f"reloaded: {pack / 'x.yaml'}\n")
        assert [proxy.correction(), proxy.correction(LARGE)] == [(2, 1), (2, 1)]  # nothing of before is repeated
        write_pack(x=rule("{"))
        line = proxy.line_with("not reloaded, everything stays as it was: ")
        assert f"{pack / 'x.yaml'}:" in line
        assert [proxy.correction()[1], proxy.correction(LARGE)[1]] == [2, 2]
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
        assert [proxy.correction(), proxy.correction(LARGE)] == [(2, 1), (2, 1)]
        for attempt in (2, 3):  # the log was rotated, nothing else changed
            proxy.process.send_signal(signal.SIGHUP)
            assert proxy.line_with("packs and descriptions reloaded").endswith("reloaded\n")
            assert [proxy.correction()[1], proxy.correction(LARGE)[1]] == [attempt, attempt]
        proxy.process.terminate()
        assert proxy.process.wait(60) == 0


def test_what_is_told_of_a_description_a_broken_save_and_the_configuration(bench: Any, tmp_path: Path) -> None:
    spec, config = tmp_path / "api.json", tmp_path / "corrigible.yaml"
    paths: dict[str, Any] = {"/x": {"get": {"operationId": "x", "responses": {"200": {"description": "ok"}}}}}
    api = {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths}
    spec.write_text(json.dumps(api))
    config.write_text("quiet: true\n")
    with proxied(bench, "--spec", str(spec), "--reload", "--config", str(config)) as proxy:
        proxy.line_with("1 operation")
        config.write_text("quiet: false\n")
        assert proxy.line_with("reloaded").endswith(f"packs and descriptions reloaded: {config}\n")
        assert proxy.next_line().endswith(": restart to apply what else has changed: quiet\n")
        paths["/y"] = {"get": {"operationId": "y", "responses": {"200": {"$ref": "#/components/responses/gone"}}}}
        spec.write_text(json.dumps(api))
        proxy.line_with("(the description is used all the same)")
        proxy.line_with(f"packs and descriptions reloaded: {spec}")
        spec.write_text("{")
        assert str(spec) in proxy.line_with("not reloaded")
        os.utime(spec, (1, 1))  # it is saved again as it is
        time.sleep(1.5)
        paths.pop("/y")
        spec.write_text(json.dumps(api))
        assert proxy.next_line().endswith("1 operation\n")


def config_of(*apis: str, more: str = "") -> str:
    return "listen: 127.0.0.1:0\ntime_limit: 60\n" + more + "apis:\n" + "".join(f"- {{{one}}}\n" for one in apis)


def test_a_configuration_is_read_anew(bench: Any, write_pack: Callable[..., Path], tmp_path: Path) -> None:
    second = write_pack(x=rule("2")).rename(tmp_path / "second")
    first = write_pack(x=rule("1"))
    config = tmp_path / "corrigible.yaml"
    with bench.upstream({"/x": bench.message(b"400 No", JSON, REFUSAL)}) as upstream:
        at = f"upstream: 'http://127.0.0.1:{upstream.port}'"
        other = f"name: other, {at}, prefix: /other, pack: [http]"
        config.write_text(config_of(f"name: a, {at}, pack: ['{first}']", other))
        with bench.start("--config", str(config), "--reload") as process:
            try:
                proxy = Running(bench, process)
                assert [proxy.correction(), proxy.correction(LARGE)] == [(1, 1), (1, 1)]
                config.write_text(config_of(f"name: a, {at}, pack: ['{second}']", other))
                assert proxy.line_with(" a: apex").endswith("proxy: a: apex; reflective\n")
                line = proxy.line_with("reloaded")
                assert str(config) in line and str(second / "x.yaml") in line
                assert [proxy.correction(), proxy.correction(LARGE)] == [(2, 1), (2, 1)]

                config.write_text(config_of(f"name: a, {at}, pack: ['{first}'], mod: none", other))
                line = proxy.line_with("reloaded")
                wrong = f'{config}:4: unknown key "mod" in apis; did you mean "mode"?\n'
                assert line.endswith(f"not reloaded, everything stays as it was: {wrong}")
                config.write_text(config_of(f"name: a, {at}, pack: [nowhere]", other))
                assert "nowhere" in proxy.line_with("not reloaded, everything stays as it was: ")
                assert proxy.correction() == (2, 2)

                (second / "x.yaml").write_text((second / "x.yaml").read_text().replace("a: 2", "a: 3"))
                moved = f"name: a, {at}, host: [b.test], mode: none, pack: ['{second}']"
                new = f"name: new, {at}, prefix: /new, pack: [http]"
                config.write_text(config_of(moved, new, more="quiet: true\n"))
                assert proxy.line_with(" a: apex").endswith("proxy: a: apex; none\n")
                proxy.line_with("packs and descriptions reloaded: ")
                pending = "quiet, host of a, apis (other is gone), apis (new is new)"
                assert proxy.line_with("restart").endswith(f": restart to apply what else has changed: {pending}\n")
                assert b"recovery_feedback" not in bench.ask(proxy._port, "/x", "POST", b"{}", JSON)
                asked = b"Prefer: recovery-feedback=reflective\r\n" + JSON
                body = bench.ask(proxy._port, "/x", "POST", b'{"a": 0}', asked).partition(b"\r\n\r\n")[2]
                assert json.loads(body)["recovery_feedback"]["suggestions"][0]["parameters"] == {"a": 3}

                config.write_text(config_of(f"name: a, {at}, pack: ['{first}']", other))
                proxy.line_with("packs and descriptions reloaded: ")
                assert proxy.correction(7) == (1, 1)
            finally:
                process.kill()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal here")
def test_a_hangup_reads_the_configuration_and_the_command_line_goes_before_it(
    bench: Any, write_pack: Callable[..., Path], tmp_path: Path
) -> None:
    pack, config = write_pack(x=rule("1")), tmp_path / "corrigible.yaml"
    config.write_text("mode: none\n")
    with proxied(bench, "--pack", str(pack), "--config", str(config)) as proxy:
        body = b'{"a": 0}'
        assert b"recovery_feedback" not in bench.ask(proxy._port, "/x", "POST", body, JSON)
        config.write_text("mode: reflective\npack: [http]\n")
        proxy.process.send_signal(signal.SIGHUP)
        proxy.line_with("packs and descriptions reloaded")
        assert [proxy.correction(), proxy.correction(LARGE)] == [(1, 1), (1, 1)]
