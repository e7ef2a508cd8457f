"""Content-Encoding of small bodies: what the standard library has, and what happens to be installed."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

_NAME = "content-encoding"
_LENGTH = len(_NAME)
"""Asked before a name is written in lower case, which takes four times as long."""


class Coding(NamedTuple):
    decode: Callable[[bytes, int], bytes]
    """Takes the bytes and a limit; raises ValueError where they are broken or would grow past it."""
    encode: Callable[[bytes], bytes]


def coding(name: str) -> Coding | None:
    """Return how to undo and redo a Content-Encoding; None where it is not known here."""
    return _CODINGS.get(name.strip().lower())


def decoded(headers: Iterable[tuple[str, str]], body: bytes, limit: int) -> bytes:
    """Return a body without its Content-Encoding.

    Raises ValueError where it is longer than the limit, in a coding not known here, or in several: who undoes one after
    the other has no limit.
    """
    if not body:
        return body
    names = [value for name, value in headers if len(name) == _LENGTH and name.lower() == _NAME]
    if not names:
        return body
    scheme = coding(names[0]) if len(names) == 1 else None
    if scheme is None:
        raise ValueError(f"content-encoding {', '.join(names)} is not known here")
    return scheme.decode(body, limit)


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


def _inflate(data: bytes, limit: int, wbits: int) -> bytes:
    try:
        stream = zlib.decompressobj(wbits)
        out = stream.decompress(data, limit + 1)
        if len(out) > limit:
            raise ValueError(f"decodes to more than {limit} bytes")
        if not stream.eof or stream.unused_data:
            raise ValueError("not one whole stream")
        return out
    except zlib.error as problem:
        raise ValueError(str(problem)) from None


def _deflate(data: bytes, wbits: int) -> bytes:
    stream = zlib.compressobj(wbits=wbits)
    return stream.compress(data) + stream.flush()


_SIP = 16
"""Bytes of brotli decoded at once: its block of 16 MiB fits into less, and the decoder takes no limit."""


def _brotli() -> dict[str, Coding]:
    try:
        brotli = importlib.import_module("brotli")
    except ImportError:
        return {}

    def decode(data: bytes, limit: int) -> bytes:
        stream, out = brotli.Decompressor(), bytearray()
        try:
            for at in range(0, len(data), _SIP):
                out += stream.process(data[at : at + _SIP])
                if len(out) > limit:
                    raise ValueError(f"decodes to more than {limit} bytes")
        except brotli.error as problem:
            raise ValueError(str(problem)) from None
        if not stream.is_finished():
            raise ValueError("not one whole stream")
        return bytes(out)

    return {"br": Coding(decode, brotli.compress)}


def _zstandard() -> dict[str, Coding]:
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        return {}

    def decode(data: bytes, limit: int) -> bytes:
        try:
            # All frames, or what comes after the first would be lost. RFC 9659: windows of at most 8 MiB.
            decoder = zstandard.ZstdDecompressor(max_window_size=8 << 20)
            with decoder.stream_reader(data, read_across_frames=True) as reader:
                out: bytes = reader.read(limit + 1)
        except zstandard.ZstdError as problem:
            raise ValueError(str(problem)) from None
        if len(out) > limit:
            raise ValueError(f"decodes to more than {limit} bytes")
        return out

    return {"zstd": Coding(decode, zstandard.ZstdCompressor().compress)}


_GZIP = Coding(lambda data, limit: _inflate(data, limit, 31), lambda data: _deflate(data, 31))
_CODINGS = {
    "identity": Coding(lambda data, limit: data, lambda data: data),
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": Coding(lambda data, limit: _inflate(data, limit, 15), lambda data: _deflate(data, 15)),
    **_brotli(),
    **_zstandard(),
}
