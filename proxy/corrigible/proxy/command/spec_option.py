"""`--spec` and `--base` of the proxy: where descriptions come from, and what the proxy prints about them."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from corrigible.adapters.cache import cache_folder
from corrigible.proxy.core.api_profile import ApiProfile

from .usage_error import UsageError

_SECONDS: Final = 30
_LARGEST: Final = 64 << 20
"""Bytes of a description that is fetched."""
_MOST_HINTS: Final = 3
_MOST_COMPARED: Final = 20
"""Refusals whose path is compared: after these an operator knows."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spec",
        metavar="FILE",
        action="append",
        default=[],
        help="the API's description (OpenAPI 3, Swagger 2.0, protobuf), used for errors that no rule matches: a file, "
        "or a URL that is fetched once; repeatable, for several APIs behind one address",
    )
    parser.add_argument(
        "--base",
        metavar="PATH",
        default="",
        help="base path of the API's requests, if the description does not state it: /api",
    )


def spec_files(specs: Sequence[str]) -> list[Path]:
    """Return the files of descriptions; one at a URL is fetched. Raises UsageError where that fails."""
    return [_fetched(one) if one.startswith(("http://", "https://")) else Path(one) for one in specs]


def base_path(text: str) -> str:
    """Return the path without a slash at its end. Raises UsageError for what is no path."""
    if text and (not text.startswith("/") or any(mark in text for mark in "?#{} ")):
        raise UsageError(f"--base {text}: not a path such as /api")
    return text.rstrip("/")


def _fetched(url: str) -> Path:
    import httpx

    try:
        with httpx.stream("GET", url, timeout=_SECONDS, follow_redirects=True) as answer:
            data = b""
            for part in answer.iter_bytes():
                data += part
                if len(data) > _LARGEST:
                    raise UsageError(f"--spec {url}: larger than {_LARGEST >> 20} MiB")
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        raise UsageError(f"--spec {url}: cannot be fetched: {problem}") from None
    if answer.status_code != 200:
        raise UsageError(f"--spec {url}: the server answers {answer.status_code}; fetch it yourself, and give the file")
    ending = ".json" if data.lstrip()[:1] in (b"{", b"[") else ".yaml"
    file = cache_folder() / "fetched" / f"{hashlib.sha256(url.encode() + data).hexdigest()[:24]}{ending}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def described(profiles: Sequence[ApiProfile], specs: Sequence[str]) -> Iterator[str]:
    """Yield a line for each description: how many operations it has, and below which base paths."""
    seen: list[object] = []
    for profile in profiles:
        description = profile.description
        if description is None or any(description is one for one in seen):
            continue
        seen.append(description)
        names = set(description.operations.names)
        bases = [base for base in description.operations.base_paths() if base]
        below = f", also below {', '.join(bases)}" if bases else ""
        yield f"{specs[len(seen) - 1]}: {len(names)} operations{below}"


class UnmatchedPaths:
    """Tells, once for each, that requests come below a base path that no description has."""

    def __init__(self, profiles: Sequence[ApiProfile], tell: Callable[[str], None] | None = None) -> None:
        self._profiles = [profile for profile in profiles if profile.description is not None]
        self._tell = tell or (lambda line: print(f"corrigible proxy: {line}", file=sys.stderr, flush=True))
        self._told: set[str] = set()
        self._compared = 0

    def refused(self, target: str) -> None:
        """Hear of a refused request that names no operation."""
        if len(self._told) >= _MOST_HINTS or self._compared >= _MOST_COMPARED:
            return
        self._compared += 1
        path = urlsplit(target).path
        for profile in self._profiles:
            split = profile.adapter.operations.base_of(path)
            if split is not None and split[0] not in self._told:
                self._told.add(split[0])
                self._tell(f"the description has {split[1]}, requests come to {path}: start with --base {split[0]}?")
                return
