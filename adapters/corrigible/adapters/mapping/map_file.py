"""Reads files of mappings: those that an operator names, and those in the folder of a pack."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from corrigible.rules.errors import AuthoringError, Place

from .map_index import MapIndex
from .map_problems import map_problems
from .mapping import MapFile

FOLDER: Final = "maps"
"""In the folder of a pack."""
_LARGEST: Final = 64 << 20
"""Bytes."""


def read_map(path: Path) -> MapFile:
    """Read a map. Raises AuthoringError with the file and the place in it."""
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise AuthoringError(Place(path, 1), f"larger than {_LARGEST >> 20} MiB")
        text = path.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(path, 0), (problem.strerror or str(problem)).lower()) from None
    try:
        file = MapFile.model_validate_json(text)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = "/".join(map(str, first["loc"])) or "the file"
        raise AuthoringError(Place(path, 1), f"not a map: {where}: {first['msg']}") from None
    if (wrong := next(map_problems(file), None)) is not None:
        raise AuthoringError(Place(path, 1), wrong)
    return file


def maps_of_pack(folder: Path) -> MapIndex:
    """Return the maps in a pack's folder, read once until they change. Those that name an origin are left out."""
    files = map_files(folder)
    return _indexed(folder.name, tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files))


@lru_cache(maxsize=32)
def _indexed(pack: str, files: tuple[tuple[Path, int, int], ...]) -> MapIndex:
    return MapIndex(((f"{pack}/{file.stem}", read_map(file)) for file, _, _ in files), is_of_pack=True)


def map_files(folder: Path) -> list[Path]:
    """Return the files of the maps of a pack."""
    return sorted((folder / FOLDER).glob("*.json"))
