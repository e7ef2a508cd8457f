"""`.proto` files to descriptors, with the protoc of `grpcio-tools`.

Knows: files and their imports. Does not know: the use of descriptors.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from corrigible.rules.errors import AuthoringError, Place, gather
from corrigible.schema.extra import install_line

_IMPORT: Final = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;', re.MULTILINE)
_DIAGNOSTIC: Final = re.compile(r"^(?P<file>.+?\.proto):(?:(?P<line>\d+):\d+: )?(?P<message>.+)$")
_FAILED_IMPORT: Final = re.compile(r'Import "([^"]+)" was not found')
_HINT: Final = "; `buf build -o FILE` makes a set of all that is needed"
_MOST: Final = 5


def compile_protos(path: Path, *, comments: bool = False) -> FileDescriptorSet:
    """Return the descriptors of a `.proto` file, or of all in a folder. Raises AuthoringError with file and line.

    Imports are looked for in the folder, in the folders above it, and among the files that Google's packages ship.
    """
    files = sorted(path.rglob("*.proto")) if path.is_dir() else [path]
    if not files:
        raise AuthoringError(Place(path, 0), "no .proto file in this folder")
    if importlib.util.find_spec("grpc_tools") is None:
        raise AuthoringError(Place(path, 0), f".proto files need a compiler: {install_line('grpc')}")
    texts = {file: _text(file) for file in files}
    roots = _roots(path if path.is_dir() else path.parent, texts)
    names = {_name(file, roots): file for file in files}
    with tempfile.TemporaryDirectory() as folder:
        out_file = Path(folder, "set.binpb")
        completed = subprocess.run(
            [
                *(sys.executable, "-m", "grpc_tools.protoc", "--include_imports", f"--descriptor_set_out={out_file}"),
                *(["--include_source_info"] if comments else []),
                *(f"-I{root}" for root in [*roots, *_shipped()]),
                *names,
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if completed.returncode or not out_file.is_file():
            raise _errors(path, names, completed.stderr.splitlines())
        return FileDescriptorSet.FromString(out_file.read_bytes())


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError as problem:
        raise AuthoringError(Place(file, 0), f"cannot be read: {(problem.strerror or str(problem)).lower()}") from None


def _roots(folder: Path, texts: dict[Path, str]) -> Sequence[Path]:
    """Return where imports start from: the folder itself, or the one above from which they are found."""
    folder = folder.resolve()
    roots: list[Path] = []
    for file, text in texts.items():
        for name in _IMPORT.findall(text):
            if any((root / name).is_file() for root in roots):
                continue
            root = next((up for up in (folder, *file.resolve().parents) if (up / name).is_file()), None)
            if root is not None:
                roots.append(root)
    covered = all(any(file.resolve().is_relative_to(root) for root in roots) for file in texts)
    return roots if covered else [*roots, folder]


def _name(file: Path, roots: Iterable[Path]) -> str:
    """Return what others call a file: a file under two names would be defined twice."""
    file = file.resolve()
    return next(file.relative_to(root).as_posix() for root in roots if file.is_relative_to(root))


def _shipped() -> list[Path]:
    """Return where installed packages keep the `.proto` files that many import: google/protobuf and google/api."""
    folders = []
    for package, inside in (("grpc_tools", "_proto"), ("google.api", "../..")):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec is not None else ():
            folders.append(Path(root, inside).resolve())
    return folders


def _errors(path: Path, names: dict[str, Path], lines: Sequence[str]) -> AuthoringError:
    matches = [match for match in map(_DIAGNOSTIC.match, lines) if match is not None]
    missing = {match["file"] for match in matches if match["message"].strip() == "File not found."}
    errors = []
    for match in matches:
        message = match["message"].strip()
        imported = _FAILED_IMPORT.match(message)
        if imported is not None and imported[1] in missing:
            message = f"{imported[1]} is imported but cannot be found{_HINT}"
        elif missing or imported is not None or message.startswith("warning:"):
            continue  # what follows from the others
        file = names.get(match["file"], Path(match["file"]))
        own = next((source for source in names.values() if source.resolve() == file.resolve()), None)
        place = Place(path if own is None else own, int(match["line"] or 1))
        errors.append(AuthoringError(place, message if own is not None else f"{match['file']}: {message}"))
    message = next((line for line in lines if line.strip()), "protoc failed")
    return gather(errors[:_MOST]) or AuthoringError(Place(path), message)
