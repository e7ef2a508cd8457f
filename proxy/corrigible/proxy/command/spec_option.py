"""`--spec` and `--base` of the proxy: the sources of descriptions, and the lines that the proxy prints about them."""

from __future__ import annotations

import hashlib
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final
from urllib.parse import urlsplit

from corrigible.adapters.cache import cache_folder
from corrigible.proxy.access_log.entry import redact
from corrigible.proxy.access_log.terminal import counted
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.schema.extra import needs

from .options import INTROSPECTED, UsageError

_URL: Final = ("http://", "https://", f"{INTROSPECTED}http://", f"{INTROSPECTED}https://")
_SECONDS: Final = 30
"""Until a description is there."""
_LARGEST: Final = 64 << 20
"""Bytes of a description that is fetched."""
_MOST_HINTS: Final = 3
_MOST_WARNINGS: Final = 5
_PLAIN_BASE: Final = re.compile(r"(?:/[A-Za-z][A-Za-z0-9_.-]{0,30}){1,4}")
_MOST_COMPARED: Final = 20
"""Refusals whose path is compared: after these an operator knows."""


def spec_files(specs: Sequence[str]) -> list[Path]:
    """Return the files of descriptions; one at a URL is fetched. Raises UsageError where that fails."""
    return [_fetched(one) if one.startswith(_URL) else Path(one) for one in specs]


@contextmanager
def warned() -> Iterator[list[str]]:
    """Collect what is wrong with descriptions that are loaded meanwhile: a few lines, there when it is over."""
    from corrigible.proxy.build import SpecWarning  # slow to import: only where a description is loaded

    lines = list[str]()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", SpecWarning)
        yield lines
    lines += [str(one.message) for one in heard[:_MOST_WARNINGS]]


def told(lines: Sequence[str], files: Sequence[Path], specs: Sequence[str]) -> list[str]:
    """Return lines about files with what was given for each: what was fetched lies under another name."""
    out = list(lines)
    for file, spec in zip(files, specs, strict=True):
        out = [line.replace(str(file), shown(spec)) for line in out]
    return out


def _fetched(url: str) -> Path:
    import httpx

    data, end = bytearray(), time.monotonic() + _SECONDS
    asked = url.removeprefix(INTROSPECTED)
    query = {"query": _introspection()} if asked != url else None
    method = "GET" if query is None else "POST"
    try:
        with httpx.stream(method, asked, json=query, timeout=_SECONDS, follow_redirects=query is None) as answer:
            if answer.status_code != 200:
                problem = f"the server answers {answer.status_code}; fetch it yourself, and give the file"
                raise UsageError(f"--spec {shown(url)}: {problem}")
            for part in answer.iter_bytes():
                data += part
                if len(data) > _LARGEST:
                    raise UsageError(f"--spec {shown(url)}: larger than {_LARGEST >> 20} MiB")
                if time.monotonic() > end:
                    raise UsageError(f"--spec {shown(url)}: takes longer than {_SECONDS} seconds")
    except (httpx.InvalidURL, UnicodeError):
        # The failure may quote a part of a password.
        raise UsageError(f"--spec {shown(url)}: cannot be fetched: not a valid URL") from None
    except httpx.HTTPError as failure:
        raise UsageError(f"--spec {shown(url)}: cannot be fetched: {failure}") from None
    if data.lstrip()[:1] == b"<":
        problem = "the server answers a page, not a description; many serve it at /openapi.json or /swagger.json"
        raise UsageError(f"--spec {shown(url)}: {problem}")
    ending = ".graphql" if query else ".json" if data.lstrip().startswith((b"{", b"[")) else ".yaml"
    file = cache_folder() / "fetched" / f"{hashlib.sha256(url.encode() + data).hexdigest()[:24]}{ending}"
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=file.parent, delete=False) as written:  # its mode is 0600: it may be nobody else's
        written.write(data)
    Path(written.name).replace(file)
    return file


def _introspection() -> str:
    try:
        from graphql import get_introspection_query
    except ModuleNotFoundError:
        raise UsageError(needs("a schema of GraphQL", "graphql")) from None
    return get_introspection_query(input_value_deprecation=False)


def shown(spec: str) -> str:
    """Return a file or URL as it is told, without the credentials of a URL."""
    if not spec.startswith(_URL):
        return spec
    scheme, _, address = spec.partition("://")
    before, _, shareable = address.rpartition("@")  # a password may hold a slash that is not escaped
    if "?" in before or "#" in before:
        return f"{scheme}://..."  # what follows may be the end of a token in the query
    try:
        parts = urlsplit(f"{scheme}://{shareable}")
    except ValueError:
        return f"{scheme}://..."
    query = "?..." if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}{parts.path}{query}"


def described(profiles: Sequence[ApiProfile], specs: Sequence[str]) -> Iterator[str]:
    """Yield a line for each description: how many operations it has, and below which base paths."""
    seen: list[object] = []
    for profile in profiles:
        description = profile.description
        if description is None or any(description is one for one in seen):
            continue
        seen.append(description)
        names = set(description.operations.names)
        bases = [base for base in description.operations.base_paths if base]
        below = f", also below {', '.join(bases)}" if bases else ""
        yield f"{shown(specs[len(seen) - 1])}: {counted(len(names), 'operation')}{below}"


class UnmatchedPaths:
    """Tells, once for each, that requests come below a base path that no description has."""

    def __init__(self, profiles: Sequence[ApiProfile], tell: Callable[[str], None]) -> None:
        self._profiles = [profile for profile in profiles if profile.description is not None]
        self._tell = tell
        self._told: set[str] = set()
        self._compared = 0

    def refused(self, target: str) -> None:
        """Hear of a refused request that names no operation."""
        if len(self._told) >= _MOST_HINTS or self._compared >= _MOST_COMPARED:
            return
        self._compared += 1
        path = target.partition("?")[0]
        for profile in self._profiles:
            base, template = profile.adapter.operations.base_of(path) or ("", "")
            # Nothing of a request but plain words is told: a path may hold tokens, and names of what callers have.
            if _PLAIN_BASE.fullmatch(base) and redact(base) == base and base not in self._told:
                self._told.add(base)
                self._tell(
                    f"the description has {template}, requests come to {base}{template}: start with --base {base}?"
                )
                return
