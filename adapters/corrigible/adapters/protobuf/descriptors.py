"""Details of a google.rpc.Status that came as bytes, because no gateway on the way knew their types.

Sources: google/rpc/error_details.proto; buf/validate/validate.proto (Violations); connectrpc.com "Error details".
`google_rpc.proto` and `buf_validate.proto` have the types.

Descriptors of services: the input and output of methods, and messages as canonical proto-JSON.

Knows: google.protobuf. Does not know: grpc, where descriptors came from.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, json_format, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError, EncodeError, Message

from corrigible.rules.errors import AuthoringError, Place, gather
from corrigible.schema.exchange import Json
from corrigible.schema.extra import install_line


def decoded(type_name: str, data: bytes) -> Mapping[str, Json] | None:
    """Return a detail as proto-JSON, None where its type is not known here or the bytes are none of it."""
    pool = _pool()
    try:
        kind: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"corrigible.detail.{type_name}"))
        document: Mapping[str, Json] = json_format.MessageToDict(kind.FromString(data), descriptor_pool=pool)
    except (DecodeError, KeyError, ValueError, TypeError):
        return None
    return document


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(duration_pb2.DESCRIPTOR.serialized_pb)
    own = files(__package__).joinpath("error_details.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(own).file:
        pool.Add(file)
    return pool


_IMPORT: Final = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;', re.MULTILINE)
_DIAGNOSTIC: Final = re.compile(r"^(?P<file>.+?\.proto):(?:(?P<line>\d+):\d+: )?(?P<message>.+)$")
_FAILED_IMPORT: Final = re.compile(r'Import "([^"]+)" was not found')
_BUF_HINT: Final = "; `buf build -o FILE` makes a set of all that is needed"
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
            message = f"{imported[1]} is imported but cannot be found{_BUF_HINT}"
        elif missing or imported is not None or message.startswith("warning:"):
            continue  # what follows from the others
        file = names.get(match["file"], Path(match["file"]))
        own = next((source for source in names.values() if source.resolve() == file.resolve()), None)
        place = Place(path if own is None else own, int(match["line"] or 1))
        errors.append(AuthoringError(place, message if own is not None else f"{match['file']}: {message}"))
    message = next((line for line in lines if line.strip()), "protoc failed")
    return gather(errors[:_MOST]) or AuthoringError(Place(path), message)


class Method(NamedTuple):
    """One method of a service. Descriptors of Python and of upb share no type, hence Any."""

    request_type: Any
    response_type: Any
    client_streaming: bool
    server_streaming: bool


class Descriptors:
    """A pool, and the methods of every service in it by full name: `/package.Service/Method`."""

    def __init__(self, files: Iterable[descriptor_pb2.FileDescriptorProto] = ()) -> None:
        """Raises TypeError where a file refers to something that is nowhere."""
        self.pool = descriptor_pool.DescriptorPool()
        self.methods: Mapping[str, Method] = {}
        waiting = {file.name: file for file in files}
        self.files = [file.SerializeToString() for file in waiting.values()]
        """What it was made of."""
        names = list(waiting)
        for name in names:
            _add(self.pool, waiting, name)
        self.methods = {
            f"/{service.full_name}/{method.name}": Method(
                method.input_type, method.output_type, method.client_streaming, method.server_streaming
            )
            for name in names
            for service in self.pool.FindFileByName(name).services_by_name.values()
            for method in service.methods
        }

    def request_json(self, method: str, data: bytes) -> Json:
        """Return a request as canonical proto-JSON, None where the method or the bytes are not understood."""
        descriptor = self.methods.get(method)
        return None if descriptor is None else self._json(descriptor.request_type, data)

    def answer_json(self, method: str, data: bytes) -> Json:
        """Return an answer as canonical proto-JSON, None where the method or the bytes are not understood."""
        descriptor = self.methods.get(method)
        return None if descriptor is None else self._json(descriptor.response_type, data)

    def request_bytes(self, method: str, document: Json) -> bytes | None:
        """Return the message of some proto-JSON, None where it is none of this method's."""
        descriptor = self.methods.get(method)
        if descriptor is None:
            return None
        message: Message = message_factory.GetMessageClass(descriptor.request_type)()
        try:
            json_format.ParseDict(document, message, descriptor_pool=self.pool)
            return message.SerializeToString()
        except (json_format.ParseError, EncodeError, TypeError, AttributeError):
            return None

    def _json(self, kind: Any, data: bytes) -> Json:
        try:
            message = message_factory.GetMessageClass(kind).FromString(data)
            return json_format.MessageToDict(message, descriptor_pool=self.pool)
        except (DecodeError, TypeError, ValueError):
            return None


_WELL_KNOWN: Final = "google/"


def _add(
    pool: descriptor_pool.DescriptorPool, waiting: dict[str, descriptor_pb2.FileDescriptorProto], name: str
) -> None:
    """Add a file after those it needs. Well-known ones that a set leaves out are Python's own."""
    try:
        pool.FindFileByName(name)
        return
    except KeyError:
        pass
    file = waiting.pop(name, None)  # a file that imports itself is found no second time
    if file is None:
        file = descriptor_pb2.FileDescriptorProto()
        if not name.startswith(_WELL_KNOWN):
            raise TypeError(f"{name} is imported but missing")
        _import(name)
        try:
            descriptor_pool.Default().FindFileByName(name).CopyToProto(file)
        except KeyError:
            raise TypeError(f"{name} is imported but missing") from None
    for needed in file.dependency:
        _add(pool, waiting, needed)
    pool.Add(file)


def _import(name: str) -> None:
    import importlib

    try:
        importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return


def load(path: Path, *, comments: bool = False) -> Descriptors:
    """Read a FileDescriptorSet, a `.proto` file or a folder of those, with comments if asked. Raises AuthoringError."""
    if path.is_dir() or path.suffix == ".proto":
        files = compile_protos(path, comments=comments).file
    else:
        files = _read(path).file
    try:
        descriptors = Descriptors(files)
    except TypeError as problem:
        hint = _IMPORTS_HINT if "is imported" in str(problem) else ""
        raise AuthoringError(Place(path, 0), f"{problem}{hint}") from None
    if not descriptors.methods:
        raise AuthoringError(Place(path, 0), "it defines no service")
    return descriptors


_IMPORTS_HINT: Final = "; include the imports with protoc --include_imports"
_NEEDED: Final = "a FileDescriptorSet is needed (protoc --include_imports --descriptor_set_out=FILE, buf build -o FILE)"
_LOOKS: Final = (
    (b"syntax", "this is the source of a .proto file: rename it to end with .proto"),
    (b"edition", "this is the source of a .proto file: rename it to end with .proto"),
    (b"package", "this is the source of a .proto file: rename it to end with .proto"),
    (b"{", f"this is JSON; {_NEEDED}"),
    (b"openapi", f"this is OpenAPI; {_NEEDED}"),
    (b"\x1f\x8b", "this is compressed: decompress it first"),
    (b"# -*- coding", "this is generated Python: use its .proto file"),
    (b"# Generated by", "this is generated Python: use its .proto file"),
)


def _read(path: Path) -> descriptor_pb2.FileDescriptorSet:
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(path, 0), f"cannot be read: {(problem.strerror or str(problem)).lower()}") from None
    start = b"\n".join(line for line in data[:4096].splitlines() if line.strip() and not line.startswith(b"//"))
    for mark, hint in _LOOKS:
        if start.startswith(mark):
            raise AuthoringError(Place(path, 0), hint)
    try:
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(data)
    except DecodeError:
        descriptors = descriptor_pb2.FileDescriptorSet()
    if any(file.name.endswith(".proto") for file in descriptors.file):
        return descriptors
    raise AuthoringError(Place(path, 0), f"{_describe_file(data)}; {_NEEDED}")


def _describe_file(data: bytes) -> str:
    if not data:
        return "this is empty"
    try:
        file = descriptor_pb2.FileDescriptorProto.FromString(data)
    except DecodeError:
        return "this is none"
    return "this is a single FileDescriptorProto" if file.name.endswith(".proto") else "there is nothing in it"
