"""The machinery: installs that happen once, servers that listen, and nothing left behind."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from corrigible.adapters.cache import cache_folder, fingerprint, installed
from corrigible.adapters.sandbox import runtimes
from corrigible.adapters.sandbox.runtimes import find_node, npm_folder, python_arguments, venv_python
from corrigible.adapters.sandbox.server import Command, Running, SandboxError, Server, free_port, last_lines
from corrigible.schema.extra import install_line

LISTEN = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
"""
WAIT = "import threading; threading.Event().wait()\n"


def server(code: str, *, name: str = "test server") -> Server:
    def command(port: int) -> Command:
        return Command(python_arguments(code, str(port)))

    return Server(name="test", title=name, deviation="is none", command=command)


def ended(pid: int, *, seconds: float = 10.0) -> bool:
    """Wait for a process that is not our child to end, by the pipe end that only it holds."""
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


class TestCache:
    @pytest.mark.parametrize(
        ("environ", "folder"),
        [
            ({"CORRIGIBLE_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, Path("/c")),
            ({"XDG_CACHE_HOME": "/x"}, Path("/x/corrigible")),
            ({}, Path.home() / ".cache" / "corrigible"),
            ({"CORRIGIBLE_CACHE": "", "XDG_CACHE_HOME": ""}, Path.home() / ".cache" / "corrigible"),
        ],
    )
    def test_the_cache_is_where_the_user_said(self, environ: dict[str, str], folder: Path) -> None:
        assert cache_folder(environ) == folder

    def test_a_name_depends_on_every_part_and_on_their_borders(self) -> None:
        assert fingerprint(b"ab", b"c") != fingerprint(b"a", b"bc")
        assert fingerprint(b"ab", b"c") == fingerprint(b"ab", b"c")

    def test_an_install_happens_once(self, tmp_path: Path) -> None:
        calls: list[Path] = []
        first = installed("thing", calls.append, cache=tmp_path)
        assert installed("thing", calls.append, cache=tmp_path) == first
        assert calls == [tmp_path / "thing"]

    def test_an_install_that_was_cut_off_is_done_again_on_an_empty_folder(self, tmp_path: Path) -> None:
        def cut_off(folder: Path) -> None:
            (folder / "half").touch()
            raise SandboxError("no network")

        def whole(folder: Path) -> None:
            (folder / "whole").touch()

        with pytest.raises(SandboxError, match="no network"):
            installed("thing", cut_off, cache=tmp_path)
        folder = installed("thing", whole, cache=tmp_path)
        assert {path.name for path in folder.iterdir()} == {".complete", "whole"}

    def test_two_starts_at_once_do_not_collide(self, tmp_path: Path) -> None:
        calls: list[int] = []
        inside = threading.Event()
        go_on = threading.Event()

        def slow(folder: Path) -> None:
            calls.append(1)
            inside.set()
            assert go_on.wait(10)

        first = threading.Thread(target=installed, args=("thing", slow), kwargs={"cache": tmp_path})
        second = threading.Thread(target=installed, args=("thing", slow), kwargs={"cache": tmp_path})
        first.start()
        assert inside.wait(10)
        second.start()  # blocks on the lock, or arrives when the first is done: both must find it installed
        go_on.set()
        first.join(10)
        second.join(10)
        assert calls == [1]


class TestTools:
    def test_node_comes_from_the_wheel_and_brings_its_npm(self) -> None:
        node = find_node()
        assert node.executable.is_relative_to(sys.prefix)
        assert node.npm.name == "npm-cli.js"

    def test_without_the_extra_the_message_says_what_to_install(self) -> None:
        with pytest.raises(SandboxError, match=re.escape(install_line("sandboxes"))):
            find_node("no_such_package")

    def test_a_failed_npm_install_shows_what_npm_said(self, tmp_path: Path) -> None:
        source = tmp_path / "manifests"
        source.mkdir()
        (source / "package.json").write_text('{"private": tru')
        (source / "package-lock.json").write_text('{"lockfileVersion": 3, "packages": {}}')
        with pytest.raises(SandboxError, match=r"(?s)npm ci for broken failed .*EJSONPARSE"):
            npm_folder("broken", source, cache=tmp_path / "cache")

    def test_a_failed_pip_install_shows_what_pip_said(self, tmp_path: Path) -> None:
        requirements = tmp_path / "requirements.txt"
        requirements.write_text("not a requirement at all\n")
        with pytest.raises(SandboxError, match=r"(?s)installing broken failed .*Invalid requirement"):
            venv_python("broken", requirements, cache=tmp_path / "cache")

    def test_last_lines_are_the_end_without_blank_ones(self) -> None:
        assert last_lines("a\n\nb\nc\n", 2) == "    b\n    c"
        assert last_lines("") == "    (it printed nothing)"

    def test_every_shipped_npm_folder_has_a_manifest_and_a_lock(self) -> None:
        folders = sorted((Path(runtimes.__file__).parent / "npm").iterdir())
        assert [folder.name for folder in folders] == [
            "better-auth",
            "emulate",
            "json-graphql-server",
            "server-memory",
            "stripe-stateful-mock",
        ]
        for folder in folders:
            assert {path.name for path in folder.iterdir()} == {"package.json", "package-lock.json"}


class TestServer:
    def test_it_listens_when_start_returns_and_not_after_stop(self) -> None:
        with server(LISTEN + WAIT).start() as running:
            socket.create_connection(("127.0.0.1", running.port), timeout=1).close()
            assert running.url == f"http://127.0.0.1:{running.port}"
        assert running.process.returncode == -signal.SIGTERM
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", running.port), timeout=1)

    def test_a_server_that_dies_is_reported_with_its_last_words(self) -> None:
        code = "import sys\nprint('reading the seed', flush=True)\nsys.exit('no such seed')\n"
        with pytest.raises(SandboxError) as caught:
            server(code).start()
        assert str(caught.value) == ("test server ended with exit status 1:\n    reading the seed\n    no such seed")

    def test_a_server_that_never_listens_is_stopped(self) -> None:
        with pytest.raises(SandboxError, match=r"did not listen within 0\.3 s:\n    \(it printed nothing\)"):
            server(WAIT).start(seconds=0.3)

    def test_a_taken_port_is_refused_before_anything_is_started(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            with pytest.raises(SandboxError, match=rf"cannot listen on .*:{port}: the port is in use"):
                server(LISTEN + WAIT).start(port)

    def test_stop_ends_what_the_server_started_too(self) -> None:
        child = "import subprocess\nprint(subprocess.Popen(['sleep', '600']).pid, flush=True)\n"
        with server(child + LISTEN + WAIT).start() as running:
            pid = int(running.output())
        assert ended(pid)

    def test_a_server_that_ignores_sigterm_is_killed(self) -> None:
        deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        running = server(deaf + LISTEN + WAIT).start()
        assert running.stop(grace=0.2) == -signal.SIGKILL

    def test_the_server_ends_when_its_starter_is_killed(self) -> None:
        starter = textwrap.dedent(
            """
            import sys
            sys.path.insert(0, sys.argv[2])
            from corrigible.adapters.sandbox.runtimes import find_node
            from corrigible.adapters.sandbox.server import Command, Server, free_port
            code = "require('net').createServer().listen(%d, '127.0.0.1')"
            command = lambda port: Command(find_node().arguments("--eval", code % port))
            running = Server(name="n", title="n", deviation="", command=command).start()
            print(running.process.pid, flush=True)
            """
        )
        port = free_port()
        command = Command(python_arguments(starter + LISTEN + WAIT, str(port), ""))
        outer = Running("starter", command, port)
        outer.wait_until_listening(30)
        inner = int(outer.output())
        os.kill(outer.process.pid, signal.SIGKILL)  # it cannot clean up: only the lifeline can
        assert ended(inner)
        outer.stop()


def test_packages_are_installed_into_a_folder_of_their_own_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(runtimes, "run_tool", lambda command, purpose: commands.append(command))
    folder = runtimes.python_packages("one>=2", cache=tmp_path)
    assert runtimes.python_packages("one>=2", cache=tmp_path) == folder
    assert runtimes.python_packages("other", cache=tmp_path) != folder
    assert [command[-3:] for command in commands][:1] == [["--target", str(folder), "one>=2"]]
    assert len(commands) == 2
