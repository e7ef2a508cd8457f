"""Encodes and decodes Content-Encoding."""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from typing import Final

OFFERED: Final = "gzip, deflate, br, zstd"


def decoded(body: bytes, coding: str | None) -> bytes:
    """Return what a body says. Raises ValueError where it is broken, or coded as nobody knows or has installed."""
    for coding_name in reversed([part.strip().lower() for part in (coding or "").split(",")]):
        match coding_name:
            case "" | "identity":
                pass
            case "gzip" | "x-gzip":
                body = _inflated(body, 31)
            case "deflate":
                body = _inflated(body, 15)
            case "br" | "zstd":
                body = _optional(body, coding_name)
            case _:
                raise ValueError(f"nobody knows the coding {coding_name}")
    return body


def readable(coding: str) -> bool:
    """Whether `decoded` knows a coding here: two of them need a package."""
    names = {"br": "brotli", "zstd": "zstandard"}
    return importlib.util.find_spec(names[coding]) is not None if coding in names else True


def encoded(body: bytes, coding: str) -> bytes:
    """Return a body in one of the codings that are readable here."""
    match coding:
        case "gzip" | "deflate":
            stream = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
            return stream.compress(body) + stream.flush()
        case "br":
            compressed: bytes = importlib.import_module("brotli").compress(body)
        case "zstd":
            compressed = importlib.import_module("zstandard").compress(body)
        case _:
            raise ValueError(f"nobody knows the coding {coding}")
    return compressed


def _inflated(body: bytes, wbits: int) -> bytes:
    stream = zlib.decompressobj(wbits)
    try:
        out = stream.decompress(body)
    except zlib.error as problem:
        raise ValueError(str(problem)) from None
    if not stream.eof or stream.unused_data:
        raise ValueError("it is not one whole stream")
    return out


def _optional(body: bytes, coding: str) -> bytes:
    try:
        if coding == "br":
            out: bytes = importlib.import_module("brotli").decompress(body)
        else:
            with importlib.import_module("zstandard").ZstdDecompressor().stream_reader(body) as reader:
                out = reader.read()
        return out
    except ImportError:
        raise ValueError(f"the coding {coding} needs a package that is not installed") from None
    except Exception as problem:  # each of the two packages has an error of its own
        raise ValueError(str(problem)) from None
