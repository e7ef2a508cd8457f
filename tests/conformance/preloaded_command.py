"""The `corrigible` command, imported once: each call of it is a fork of a server that holds the program.

Run as a program, this file hands its arguments, folder and streams to the server that its first argument names.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = """
import json, os, socket, sys
import corrigible.proxy.cli, corrigible.proxy.command.pack
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen(64)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            break
        connection.close()
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
text, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
for number, stream in enumerate(streams):
    os.dup2(stream, number)
call = json.loads(text)
os.chdir(call["folder"])
sys.argv[1:] = call["arguments"]
try:
    status = corrigible.proxy.cli.main()
except SystemExit as ending:
    status = ending.code
sys.stdout.flush()
sys.stderr.flush()
connection.sendall(json.dumps(status).encode())
os._exit(0)
"""


@contextmanager
def preloaded(folder: Path) -> Iterator[str]:
    """Yield the words that run the command."""
    address = folder / "corrigible.sock"
    words = [sys.executable, "-c", SERVER, str(address)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            yield f"{sys.executable} -S -I {__file__} {address}"
        finally:
            server.kill()


def main() -> int:
    address, *arguments = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        call = json.dumps({"arguments": arguments, "folder": os.getcwd()}).encode()
        socket.send_fds(server, [call], [0, 1, 2])
        return int(json.loads(server.recv(64)))


if __name__ == "__main__":
    sys.exit(main())
