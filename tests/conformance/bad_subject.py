"""A program that is a bad subject on command: `python bad_subject.py BEHAVIOUR PORT`.

answers         200 to everything
dies            says why, and ends before it listens
never-listens   lives and does not listen
dies-when-asked listens, and ends without an answer
is-mute         accepts connections and says nothing
is-stubborn     as answers, and ignores SIGTERM
has-a-child     as answers, with a child of its own whose id it prints

With PID_FILE in the environment, its own id is written there first.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

HELLO = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def main(behaviour: str, port: int) -> None:
    if "PID_FILE" in os.environ:
        Path(os.environ["PID_FILE"]).write_text(f"{os.getpid()}\n")
    if behaviour == "dies":
        print("no such upstream: \x1b[31mshop\x1b[0m", file=sys.stderr)
        sys.exit(3)
    if behaviour == "never-listens":
        threading.Event().wait()
    if behaviour == "is-stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour == "has-a-child":
        child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
        print(f"child {child.pid}", flush=True)
    held = []
    with socket.create_server(("127.0.0.1", port)) as listener:
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            held.append(connection)
            threading.Thread(target=serve, args=(connection, behaviour), daemon=True).start()


def serve(connection: socket.socket, behaviour: str) -> None:
    while connection.recv(65536):
        if behaviour == "dies-when-asked":
            print("cannot go on", flush=True)
            os._exit(4)
        if behaviour != "is-mute":
            connection.sendall(HELLO)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
