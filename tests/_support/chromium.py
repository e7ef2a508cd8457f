"""A headless Chromium, driven by its DevTools protocol over a pipe: no port, no package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 60.0
NAMES = ("chromium", "chromium-browser", "google-chrome")
ENTER = 13
ESCAPE = 27


def program() -> str | None:
    """Return the browser's program, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name)) is not None), None)


class Page:
    """One page of the browser."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def run(self, script: str) -> Any:
        """Return what a script gives. Raises AssertionError where it throws."""
        answer = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until a script gives something true, and return it."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(script)):
            assert time.monotonic() < end, f"{script} stays {value!r}: {self.run('document.body.innerText')}"
            time.sleep(0.05)
        return value

    def press(self, key: str, *, ctrl: bool = False) -> None:
        """Press a key as a person does."""
        named = {"Enter": ENTER, "Escape": ESCAPE}
        event: dict[str, Any] = {"key": key, "modifiers": 2 if ctrl else 0}
        event["windowsVirtualKeyCode"] = named.get(key) or ord(key.upper())
        if key not in named and not ctrl:
            event["text"] = key
        self._call("Input.dispatchKeyEvent", type="keyDown", **event)
        self._call("Input.dispatchKeyEvent", type="keyUp", **{k: v for k, v in event.items() if k != "text"})

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self._call("Input.insertText", text=text)

    def _call(self, method: str, **parameters: Any) -> Any:
        return self._browser.call(method, self._session, **parameters)


class Browser:
    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._number = 0
        self._buffer = b""

    def call(self, method: str, session: str = "", **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def page(self, url: str) -> Page:
        target = self.call("Target.createTarget", url=url)["targetId"]
        return Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def _next(self) -> Any:
        while b"\0" not in self._buffer:
            data = os.read(self._reading, 1 << 16)
            assert data, "the browser is gone"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """Run a browser whose profile is in this folder."""
    name = program()
    assert name is not None
    theirs, ours = os.pipe()
    mine, from_them = os.pipe()
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
    options += ["--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
    # The browser reads from 3 and writes to 4.
    script = f'exec "$0" "$@" 3<&{theirs} 4>&{from_them}'
    process = subprocess.Popen(
        ["bash", "-c", script, name, *options],
        pass_fds=(theirs, from_them),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(theirs)
    os.close(from_them)
    try:
        yield Browser(mine, ours)
    finally:
        os.close(ours)
        os.close(mine)
        os.killpg(process.pid, 9)
        process.wait()
