"""Content-Encoding of small bodies: what the standard library has, and what happens to be installed."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

_NAME = "content-encoding"
_LENGTH = len(_NAME)
"""Asked before a name is written in lower case, which takes four times as long."""


class Start(NamedTuple):
    """The first bytes of a body without its Content-Encoding."""

    data: bytes
    is_whole: bool
    """Whether nothing follows."""


class Coding(NamedTuple):
    start: Callable[[bytes, int], Start]
    """Takes the bytes and a limit, and decodes no more than that; raises ValueError where they are broken."""
    encode: Callable[[bytes], bytes]

    def decode(self, body: bytes, limit: int) -> bytes:
        """Return all of a body; raises ValueError where it is broken or would grow past the limit."""
        data, is_whole = self.start(body, limit)
        if is_whole:
            return data
        raise ValueError(f"decodes to more than {limit} bytes" if len(data) >= limit else "not one whole stream")


def coding(name: str) -> Coding | None:
    """Return how to undo and redo a Content-Encoding; None where it is not known here."""
    name = name.strip().lower()
    return _INSTALLED[name]() if name in _INSTALLED else _CODINGS.get(name)


def decoded(headers: Iterable[tuple[str, str]], body: bytes, limit: int) -> bytes:
    """Return a body without its Content-Encoding.

    Raises ValueError where it is longer than the limit, in a coding not known here, or in several: who undoes one after
    the other has no limit.
    """
    scheme = _coding_of(headers) if body else None
    return body if scheme is None else scheme.decode(body, limit)


def decoded_start(headers: Iterable[tuple[str, str]], body: bytes, limit: int) -> Start:
    """Return the first bytes of a body without its Content-Encoding; raises ValueError where it is broken."""
    return (_coding_of(headers) or _IDENTITY).start(body, limit)


def _coding_of(headers: Iterable[tuple[str, str]]) -> Coding | None:
    names = [value for name, value in headers if len(name) == _LENGTH and name.lower() == _NAME]
    if not names:
        return None
    scheme = coding(names[0]) if len(names) == 1 else None
    if scheme is None:
        raise ValueError(f"content-encoding {', '.join(names)} is not known here")
    return scheme


def decoded_size(headers: Iterable[tuple[str, str]], body: bytes, limit: int) -> int:
    """Return how long a body is without its Content-Encoding; one more than the limit where that is more or unclear.

    Of a body in brotli it always is: 52 bytes of it take 50 ms, since its decoder takes no limit.
    """
    headers = list(headers)
    if body and any(name.lower() == _NAME and value.strip().lower() == "br" for name, value in headers):
        return limit + 1
    try:
        return len(decoded(headers, body, limit))
    except ValueError:
        return limit + 1


def _inflate(data: bytes, limit: int, wbits: int) -> Start:
    try:
        stream = zlib.decompressobj(wbits)
        out = stream.decompress(data, limit + 1)
    except zlib.error as problem:
        raise ValueError(str(problem)) from None
    if len(out) > limit:
        return Start(out[:limit], is_whole=False)
    if stream.unused_data:
        raise ValueError("not one whole stream")
    return Start(out, is_whole=stream.eof)


def _deflate(data: bytes, wbits: int) -> bytes:
    stream = zlib.compressobj(wbits=wbits)
    return stream.compress(data) + stream.flush()


_SIP = 16
"""Bytes of brotli decoded at once: its block of 16 MiB fits into less, and the decoder takes no limit."""


@cache
def _brotli() -> Coding | None:
    try:
        brotli = importlib.import_module("brotli")
    except ImportError:
        return None

    def start(data: bytes, limit: int) -> Start:
        stream, out = brotli.Decompressor(), bytearray()
        try:
            for at in range(0, len(data), _SIP):
                out += stream.process(data[at : at + _SIP])
                if len(out) > limit:
                    return Start(bytes(out[:limit]), is_whole=False)
        except brotli.error as problem:
            raise ValueError(str(problem)) from None
        return Start(bytes(out), is_whole=stream.is_finished())

    return Coding(start, brotli.compress)


@cache
def _zstandard() -> Coding | None:
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        return None

    def start(data: bytes, limit: int) -> Start:
        try:
            # All frames, or what comes after the first would be lost. RFC 9659: windows of at most 8 MiB.
            decoder = zstandard.ZstdDecompressor(max_window_size=8 << 20)
            with decoder.stream_reader(data, read_across_frames=True) as reader:
                out: bytes = reader.read(limit + 1)
        except zstandard.ZstdError as problem:
            raise ValueError(str(problem)) from None
        return Start(out[:limit], is_whole=len(out) <= limit)

    return Coding(start, zstandard.ZstdCompressor().compress)


_GZIP = Coding(lambda data, limit: _inflate(data, limit, 31), lambda data: _deflate(data, 31))
_IDENTITY = Coding(lambda data, limit: Start(data[:limit], is_whole=len(data) <= limit), lambda data: data)
_CODINGS = {
    "identity": _IDENTITY,
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": Coding(lambda data, limit: _inflate(data, limit, 15), lambda data: _deflate(data, 15)),
}
_INSTALLED = {"br": _brotli, "zstd": _zstandard}
"""Those that are not in each environment, and are imported on need."""
