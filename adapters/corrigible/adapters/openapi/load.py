"""Reading a description: compiled once into the cache folder, later only mapped."""

from __future__ import annotations

import os
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

import orjson

from corrigible.adapters.cache import cache_folder
from corrigible.rules.errors import AuthoringError, Place

from .compiled_file import FORMAT, CompiledFile, NotCompiled, run_child
from .description import Description
from .source_files import digest

_TRANSLATION = 19
"""Of what schemas become, in the same format: what an earlier version left in the cache is not used."""
_SMALL = 512 * 1024
"""Bytes up to which a description is compiled in this process: a larger one would leave its memory behind here."""


def load(path: Path, *, cache: Path | None = None, check: bool = False, base: str = "") -> Description:
    """Read an OpenAPI 3 description, JSON or YAML. Raises AuthoringError with file and line where it is none.

    `base`: a path below which requests have all of its paths, too.
    `check`: validate it with openapi-spec-validator. Errors go to `Description.problems`; it is used all the same.
    """
    folder = (cache_folder() if cache is None else cache) / "openapi"
    content = digest(path)
    file = folder / f"{content[:24]}{'-checked' if check else ''}.{FORMAT}.{_TRANSLATION}"
    # Problems name the file, so what has some is not used for a copy at another path.
    own = file.with_stem(f"{file.stem}-{sha256(os.fsencode(path)).hexdigest()[:12]}") if check else file
    stored = _opened(file, path) or (_opened(own, path) if check else None)
    return Description(stored or _compiled_into(file, own, path, content, check=check), base)


def _opened(file: Path, path: Path) -> CompiledFile | None:
    """Return what was compiled before, unless a further file of the description has changed since."""
    try:
        stored = CompiledFile.open(file)
        unchanged = all(digest(path.parent / name) == expected for name, expected in stored.index["files"].items())
    except (OSError, NotCompiled, AuthoringError):
        return None
    return stored if unchanged else None


def _compiled_into(file: Path, own: Path, path: Path, content: str, *, check: bool) -> CompiledFile:
    """Compile into the cache, under a temporary name first: no reader ever gets half a file.

    `file` is for every path with this content, `own` for this path alone.
    """
    is_cached = True
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f"{file.name}.")
    except OSError:  # a cache that cannot be written only costs time
        descriptor, name = tempfile.mkstemp(prefix="corrigible-openapi.")
        is_cached = False
    os.close(descriptor)
    target_file = Path(name)
    try:
        _compile_to(target_file, path, check=check)
        stored = CompiledFile.open(target_file)
        if (
            is_cached and digest(path) == content
        ):  # else it has changed meanwhile, and the digest in the file name is wrong
            target_file.replace(own if stored.index["problems"] else file)
    finally:
        target_file.unlink(missing_ok=True)
    return stored


def _compile_to(out: Path, path: Path, *, check: bool) -> None:
    if not sys.executable or not (check or path.stat().st_size > _SMALL):
        from .compiler import compile_description  # most starts find what was compiled before

        out.write_bytes(compile_description(path))
        return
    command = [sys.executable, "-m", "corrigible.adapters.openapi.generate", "--as-is"]
    completed = run_child([*command, *(["--check"] if check else []), str(path), str(out)], "--while-open")
    if check and completed.returncode < 0:  # the check needs more than there is: a warning is all that it could give
        completed = run_child([*command, str(path), str(out)], "--while-open")
    if completed.returncode == 0:
        return
    try:
        error = orjson.loads(completed.stdout)
        raise AuthoringError(Place(Path(error["path"]), error["line"]), error["problem"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        last = completed.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise AuthoringError(Place(path), f"cannot be compiled: {last or f'status {completed.returncode}'}") from None
