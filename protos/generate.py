"""Generate the protobuf code and descriptors, and prove that proto, models and JSON Schema name the same members.

python protos/generate.py            write what is generated
python protos/generate.py --check    exit 1 if it is stale or the three definitions differ
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import grpc_tools  # type: ignore[import-untyped]  # it has no types
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent
PROTO = "corrigible/schema/v0_1/feedback.proto"
# What protoc writes is not strict.
STUB_HEADER = '# mypy: disable-error-code="type-arg, no-untyped-def"'
GENERATED = tuple(PROTO.replace(".proto", suffix) for suffix in ("_pb2.py", "_pb2.pyi"))
REPOSITORY = ROOT.parent
DESCRIPTORS = {
    "adapters/corrigible/adapters/protobuf/error_details.binpb": ("google_rpc.proto", "buf_validate.proto"),
    "conformance/corrigible/conformance/reference/shop.binpb": ("shop.proto",),
}
"""Descriptor sets, and the files beside each that it is made of."""


def generate(out: Path) -> None:
    """Run protoc so that generated imports follow the package layout."""
    _protoc(f"-I{ROOT}", f"--python_out={out}", f"--pyi_out={out}", f"{ROOT}/{PROTO}")
    stub = out / GENERATED[1]
    stub.write_text(f"{STUB_HEADER}\n{stub.read_text('utf-8')}", "utf-8")


def generate_descriptors(out: Path) -> None:
    """Write every descriptor set below a folder, under its path in the repository."""
    for name, files in DESCRIPTORS.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        folder = (REPOSITORY / name).parent
        _protoc(f"-I{folder}", f"--descriptor_set_out={out / name}", *(f"{folder}/{file}" for file in files))


def _protoc(*words: str) -> None:
    if protoc.main(["protoc", *words, f"-I{Path(grpc_tools.__file__).parent / '_proto'}"]):
        raise SystemExit("protoc failed")


def stale() -> Iterator[str]:
    """Yield every generated file that differs from what protoc writes now."""
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        for name in GENERATED:
            checked_in = ROOT / name
            if not checked_in.exists() or checked_in.read_bytes() != Path(scratch, name).read_bytes():
                yield f"{name} is stale: run python protos/generate.py"
        generate_descriptors(Path(scratch))
        for name in DESCRIPTORS:
            if (REPOSITORY / name).read_bytes() != Path(scratch, name).read_bytes():
                yield f"{name} is stale: run python protos/generate.py"


def differences() -> Iterator[str]:
    """Yield every member or word that proto, models and JSON Schema do not share."""
    from corrigible.schema import feedback as models
    from corrigible.schema import word
    from corrigible.schema.v0_1 import feedback_pb2

    schema = json.loads((ROOT / "corrigible/schema/feedback.schema.json").read_text("utf-8"))
    objects: Mapping[str, Any] = {"Feedback": schema, **schema["$defs"]}
    messages = feedback_pb2.DESCRIPTOR.message_types_by_name
    for model in models.Wire.__subclasses__():
        members = [info.alias or name for name, info in model.model_fields.items()]
        required = [info.alias or name for name, info in model.model_fields.items() if info.is_required()]
        if model is models.Suggestion:
            required.append("parameters")  # writers always write it, readers do without
        found = objects.get(model.__name__, {})
        listed = list(found.get("properties", ()))
        if listed != members:
            yield f"{model.__name__}: the JSON Schema lists {listed}, not {members}"
        if sorted(found.get("required", [])) != sorted(required):
            yield f"{model.__name__}: the JSON Schema requires {found.get('required')}, not {required}"
        message = messages["RecoveryFeedback" if model is models.Feedback else model.__name__]
        fields = [field.name.removesuffix("_json") for field in message.fields]
        if fields != members:
            yield f"{model.__name__}: the proto lists {fields}, not {members}"
        for name, info in model.model_fields.items():
            for kind in _words(info.annotation):
                words = [member.value for member in kind]
                enum = found.get("properties", {}).get(info.alias or name, {}).get("enum")
                if enum != words:
                    yield f"{model.__name__}.{name}: the JSON Schema lists {enum}, not {words}"
    for kind in word.Word.__subclasses__():
        if kind is word.BaseAction:
            continue  # open in the proto: packs register more
        numbers = feedback_pb2.DESCRIPTOR.enum_types_by_name[kind.__name__].values_by_name
        names = [name for name in numbers if not name.endswith("_UNSPECIFIED")]
        expected = [member.name for member in kind if member.name != "UNSPECIFIED"]
        if [name[-len(e) :] for name, e in zip(names, expected, strict=False)] != expected or len(names) != len(
            expected
        ):
            yield f"{kind.__name__}: the proto lists {names}, not {expected}"


def _words(annotation: Any) -> Iterator[type[Enum]]:
    for part in (annotation, *get_args(annotation)):
        if isinstance(part, type) and issubclass(part, Enum):
            yield part


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if something is stale")
    if not parser.parse_args().check:
        generate(ROOT)
        generate_descriptors(REPOSITORY)
        return 0
    problems = [*stale(), *differences()]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
