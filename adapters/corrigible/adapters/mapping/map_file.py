"""Reads files of mappings: those that an operator names, and those in the folder of a pack."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from corrigible.rules.errors import AuthoringError, Place

from .conversion import CONVERSIONS
from .map_index import MapIndex, origin_of
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
    if (wrong := next(_mistakes(file), None)) is not None:
        raise AuthoringError(Place(path, 1), wrong)
    return file


def _mistakes(file: MapFile) -> Iterator[str]:
    for number, mapping in enumerate(file.mappings):
        for one in (*mapping.arguments, *mapping.results):
            if one.conversion and one.conversion not in CONVERSIONS:
                known = ", ".join(CONVERSIONS)
                yield f'mappings/{number}: no conversion is called "{one.conversion}"; there are: {known}'
        for operation in (mapping.source, mapping.target):
            if not operation.path.startswith("/"):
                yield f'mappings/{number}: "{operation.path}" is no path'
    for api in file.apis:
        if api.origin and not origin_of(api.origin):
            yield f'"{api.origin}" is no origin such as https://api.example.com'


def maps_of_pack(folder: Path) -> MapIndex:
    """Return the maps in a pack's folder, read once until they change. Those that name an origin are left out."""
    files = map_files(folder)
    return _indexed(folder.name, tuple((file, file.stat().st_mtime_ns, file.stat().st_size) for file in files))


@lru_cache(maxsize=32)
def _indexed(pack: str, files: tuple[tuple[Path, int, int], ...]) -> MapIndex:
    return MapIndex((f"{pack}/{file.stem}", read_map(file)) for file, _, _ in files)


def map_files(folder: Path) -> list[Path]:
    """Return the files of the maps of a pack."""
    return sorted((folder / FOLDER).glob("*.json"))
