"""Any file or folder that describes APIs, by what is in it."""

from __future__ import annotations

from pathlib import Path

from corrigible.adapters.openapi.document.source_files import SourceFiles
from corrigible.rules.errors import AuthoringError, Place

from .api_document import ApiDocument
from .openapi_operations import read_openapi
from .toolbench import is_toolbench, read_toolbench


def read_spec(path: Path, api: str = "") -> list[ApiDocument]:
    """Read a file, or a folder of `.proto` files or of descriptions. Raises AuthoringError with file and line.

    `api`: what the API is called; of ToolBench's files, and of folders with several, the files say it.
    """
    if path.is_dir():
        return _folder(path, api)
    if path.suffix in (".proto", ".binpb", ".desc", ".pb", ".protoset"):
        from .proto_operations import read_protos

        return [read_protos(path, api)]
    if path.suffix == ".json" and is_toolbench(_json(path)):
        return read_toolbench(path)
    return [read_openapi(path, api)]


def _json(path: Path) -> object:
    document: object = SourceFiles(path).native
    return document


def _folder(path: Path, api: str) -> list[ApiDocument]:
    if any(path.rglob("*.proto")):
        from .proto_operations import read_protos

        return [read_protos(path, api)]
    files = sorted(one for one in path.rglob("*") if one.suffix in (".json", ".yaml", ".yml", ".binpb"))
    if not files:
        raise AuthoringError(Place(path, 0), "no description in this folder")
    return [document for one in files for document in read_spec(one)]
