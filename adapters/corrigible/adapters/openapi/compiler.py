"""From an OpenAPI description to its compiled form: the request side, documented errors, media types of successes.

The body of a media type whose form RFC 6902 gives, where a description has another kind of value for it.
Descriptions that are made from code have `type: string` or `type: object` for a JSON patch, because that is what the
framework has. What is sent under the media type is a list of operations all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from corrigible.adapters.openapi.schema_translator import told_in_prose
from corrigible.adapters.operation import COMMON_BASE
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.schema_repair.body import is_json_patch_media
from corrigible.rules.schema_repair.json_schema import parts, types
from corrigible.schema.exchange import Json

from .compiled_file import encode_compiled
from .schema_path import Widths
from .schema_translator import Schemas
from .source_files import SourceFiles, is_swagger2
from .validation import problems

_OPERATION: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "op": {"type": "string", "enum": ["add", "remove", "replace", "move", "copy", "test"]},
        "path": {"type": "string", "format": "json-pointer"},
        "from": {"type": "string", "format": "json-pointer"},
        "value": {},
    },
    "required": ["op", "path"],
}


def with_form_of_patch(media: str, schema: Json, definitions: Sequence[Json]) -> Json:
    """Return the schema of the body of a PATCH, which under a media type of JSON patches is a list of operations.

    An object without members may be what a framework calls any JSON: nothing is said of it then. One with members is
    left as it is, since some frameworks list this media type for every body that they read.
    """
    if not is_json_patch_media(media) or not isinstance(schema, Mapping):
        return schema
    root = {"$defs": {f"s{number}": inner for number, inner in enumerate(definitions)}}
    described = [*parts(schema, root)]
    kinds = {kind for part in described for kind in types(part)}
    if kinds == {"string"}:
        return {"type": "array", "items": dict(_OPERATION)}
    is_bare = kinds == {"object"} and not any(name in part for part in described for name in _OF_MEMBERS)
    return {} if is_bare else schema


_OF_MEMBERS: Final = ("properties", "additionalProperties", "patternProperties", "required")


_CODES: Final = ("code", "error_code", "errorCode", "reason")
_DEEPEST: Final = 4


class Codes:
    """The lists of codes found so far; answers name theirs by its place in `lists`."""

    def __init__(self, files: SourceFiles) -> None:
        self.lists: list[list[str]] = []
        self._files = files
        self._known: dict[tuple[Path, str], frozenset[str]] = {}

    def of(self, response: Json, file: Path) -> int | None:
        """Return the place of the list of codes that an answer's schema allows, None where it names none."""
        content = response.get("content") if isinstance(response, Mapping) else None
        codes: set[str] = set()
        for media in content.values() if isinstance(content, Mapping) else ():
            if isinstance(media, Mapping):
                codes |= self._in(media.get("schema"), file, 0)
        if not codes:
            return None
        listed = sorted(codes)
        if listed not in self.lists:
            self.lists.append(listed)
        return self.lists.index(listed)

    def _in(self, schema: Json, file: Path, depth: int) -> frozenset[str]:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return frozenset()
        if "$ref" in schema:
            target = self._files.find(schema["$ref"], file)
            if target is None:
                return frozenset()
            place = (target.file, target.pointer)
            if place not in self._known:
                self._known[place] = frozenset()  # one that leads back to itself adds nothing
                self._known[place] = self._in(target.value, target.file, depth + 1)
            return self._known[place]
        out: set[str] = set()
        members = schema.get("properties")
        for name, inner in members.items() if isinstance(members, Mapping) else ():
            resolved, _ = self._files.dereferenced(inner, file)
            if name in _CODES and isinstance(resolved, Mapping):
                listed = [resolved["const"]] if "const" in resolved else resolved.get("enum") or ()
                out |= {code for code in listed if isinstance(code, str) and code}
            if not isinstance(resolved, Mapping) or resolved.get("type") in (None, "object", "array"):
                out |= self._in(inner, file, depth + 1)
        for key in ("allOf", "anyOf", "oneOf"):
            for inner in schema.get(key) or ():
                out |= self._in(inner, file, depth)
        out |= self._in(schema.get("items"), file, depth + 1)
        return frozenset(out)


_SENTENCE: Final = re.compile(
    r"(?i)\ball (?:[\w-]+ ){0,3}?(?:routes?|paths?|endpoints?|urls?|requests?)"
    r"(?: (?:are|is|have|has|must|should|be|use|the|a|common|base|of|our|this|api|here|below|listed|described)){0,6}"
    r" (?:prefixed (?:with|by)|start with|begin with|relative to|prefix)\W{0,4}"
    r"(/[a-z][\w-]{0,30}(?:/[a-z0-9][\w-]{0,30}(?:\.\d{1,3})?){0,2})"
)
_COMMAND: Final = re.compile(r"(?:^|\W)(?:curl|wget|GET|POST|PUT|PATCH|DELETE)\s")
_ADDRESS: Final = re.compile(r"https?://[^\s'\"`<>)\]]{1,300}")
_LONGEST_TEXT: Final = 4000


def told_base(document: Mapping[str, Json]) -> str:
    """Return the path that all paths have before them: "All API routes are prefixed with /v1/", `curl http://a/v1/users`.

    Empty without one, and where paths begin with it already: they are written in full.
    """
    info = document.get("info")
    text = info.get("description") if isinstance(info, Mapping) else None
    paths = document.get("paths")
    if not isinstance(text, str) or not isinstance(paths, Mapping):
        return ""
    text = text[:_LONGEST_TEXT]
    sentence = _SENTENCE.search(text)
    base = sentence[1] if sentence is not None else _base_of_examples(text, paths)
    return "" if any(str(one).startswith(base) for one in paths) else base


def _base_of_examples(text: str, paths: Mapping[str, Json]) -> str:
    """Return what the addresses of all commands have before a path of the description; empty where they differ."""
    bases = set(_bases_in_text(text, [str(one) for one in paths if "{" not in str(one)]))
    base = bases.pop() if len(bases) == 1 else ""
    return base if COMMON_BASE.fullmatch(base) else ""


def _bases_in_text(text: str, paths: list[str]) -> Iterator[str]:
    for line in text.splitlines():
        for address in _ADDRESS.findall(line) if _COMMAND.search(line) else ():
            called = urlsplit(address).path.rstrip("/")
            described = max((one for one in paths if len(one) > 1 and called.endswith(one)), key=len, default="")
            if described:
                yield called.removesuffix(described)


METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_SUPPORTED = re.compile(r"3\.[012](?:\.|$)")
_SUCCESS = re.compile(r"2(?:\d\d|XX)", re.IGNORECASE)
_REFUSAL = re.compile(r"[45](?:\d\d|XX)|default", re.IGNORECASE)
_SAYS_NOTHING: Final[tuple[Json, ...]] = ({}, {"type": "object"})
"""Schemas of bodies that name no member: then an example is all there is."""
_DEEPEST_EXAMPLE: Final = 5
_WIDEST_EXAMPLE: Final = 100
_MAP: Final = re.compile(
    r"(?i)\w*(?:labels|tags|meta|metadata|annotations|attributes|headers|env|environment|variables|vars|extras?|custom"
    r"|context|mappings?|map|dict|translations|attrs)"
)
"""Members that hold a map as a rule: its names are the caller's own, those of an example are none of the API's."""
_REFERENCE = re.compile(r"#/\$defs/s(\d+)")


def compile_description(path: Path, *, check: bool = False) -> bytes:
    """Compile a description. Raises AuthoringError with file and line where it is none.

    `check`: also keep what is formally wrong with it.
    """
    files = SourceFiles(path)
    document = files.document
    paths = document.get("paths") if isinstance(document, Mapping) else None
    if isinstance(document, Mapping) and not {"openapi", "swagger", "asyncapi"}.isdisjoint(document):
        _version(document, path)  # of another version the paths may be called otherwise
    if not isinstance(document, Mapping) or not isinstance(paths, Mapping):
        raise AuthoringError(Place(path), 'not an OpenAPI description: "paths" is missing')
    version = _version(document, path)
    schemas = Schemas(files, nullable=version.startswith("3.0"))
    codes = Codes(files)
    table: dict[str, str] = {}
    records: dict[str, Json] = {}
    told = told_base(document)
    for template, method, operation, item, file in _operations(files, paths):
        name = operation.get("operationId")
        if not isinstance(name, str) or not name or name in records:
            name = f"{method.upper()} {template}"
        parameters = list(_parameters(files, schemas, item, operation, file))
        shape = _shape(
            template.partition("#")[0], parameters
        )  # the part after `#` only distinguishes operations for people
        for base in _bases(told, document, item, operation):
            table.setdefault(f"{method.upper()} {base}{shape}", name)
        record = {
            "method": method.upper(),
            "path": template,
            "parameters": [{k: v for k, v in parameter.items() if k != "multiple"} for parameter in parameters],
            "body": _body(files, schemas, method, operation, file),
            "refusals": _refusals(files, codes, operation, file),
            "produces": _produces(files, operation, file),
        }
        records[name] = {key: value for key, value in record.items() if value}
    _bounded(schemas, records, path)
    uses = _Uses(schemas.definitions)
    for record in records.values():
        record["uses"] = uses.of(record)
    info = document.get("info")
    info = info if isinstance(info, Mapping) else {}
    index = {
        "title": str(info.get("title") or ""),
        "version": str(info.get("version") or ""),
        "files": files.digests(),
        "operations": table,
        "codes": codes.lists,
        "problems": problems(files) if check else None,
        "converted": "Swagger 2.0" if is_swagger2(files.native) else "",
    }
    return encode_compiled(index, records, schemas.definitions)


def _version(document: Mapping[str, Json], path: Path) -> str:
    """Return the version of OpenAPI that a document says. Raises AuthoringError for one that is not known here."""
    version = document.get("openapi")
    if version is not None and _SUPPORTED.match(str(version)):
        return str(version)
    if "asyncapi" in document:
        raise AuthoringError(Place(path), "this is AsyncAPI: only OpenAPI 3 and Swagger 2.0 are read")
    if version is None and "swagger" not in document:
        raise AuthoringError(Place(path), 'not an OpenAPI description: "openapi", its version, is missing')
    said = f"OpenAPI {version}" if version is not None else f"Swagger {document['swagger']}"
    raise AuthoringError(Place(path), f"this is {said}: OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0 are read")


def _bounded(schemas: Schemas, records: Mapping[str, Any], path: Path) -> None:
    """Raise AuthoringError for a schema that judging one value with has no end: each level of its `allOf` doubles."""
    widths = Widths({"$defs": {f"s{number}": inner for number, inner in enumerate(schemas.definitions)}})
    named_schemas = [(*place, inner) for place, inner in zip(schemas.places(), schemas.definitions, strict=True)]
    for name, record in records.items():
        named_schemas += [
            (path, f"parameter {parameter['name']} of {name}", parameter["schema"])
            for parameter in record.get("parameters", ())
        ]
        media = record.get("body", {}).get("media", {})
        named_schemas += [(path, f"the body of {name}", medium["schema"]) for medium in media.values()]
    for file, place, schema in named_schemas:
        try:
            widths.of(schema)
        except ValueError as problem:
            raise AuthoringError(Place(file), f"{place}: {problem}") from None
        except RecursionError:
            raise AuthoringError(Place(file), f"{place}: references are nested too deep") from None


def _operations(
    files: SourceFiles, paths: Mapping[str, Json]
) -> Iterator[tuple[str, str, Mapping[str, Json], Mapping[str, Json], Path]]:
    for template, path_item in paths.items():
        item, file = files.dereferenced(path_item, files.path)
        for method, operation in item.items() if isinstance(item, Mapping) else ():
            if method in METHODS and isinstance(operation, Mapping) and template.startswith("/"):
                yield template, method, operation, item, file


def _bases(told: str, *places: Mapping[str, Json]) -> list[str]:
    """Return the base paths: the empty one, and that of every server whose variables have defaults.

    Where no server has one, also the one that the text of the description tells.
    """
    servers = [server for place in places for server in place.get("servers") or ()]
    bases = [""]
    for server in servers:
        url = server.get("url") if isinstance(server, Mapping) else None
        if not isinstance(url, str):
            continue
        variables = server.get("variables")
        for name, variable in variables.items() if isinstance(variables, Mapping) else ():
            if isinstance(variable, Mapping) and isinstance(variable.get("default"), str):
                url = url.replace(f"{{{name}}}", variable["default"])
        if "{" not in url:
            bases.append(urlsplit(url).path.rstrip("/"))
    return list(dict.fromkeys(bases if any(bases) else ["", told]))


def _shape(template: str, parameters: list[dict[str, Any]]) -> str:
    """Return the template, with `{+name}` for a last variable that takes several segments."""
    for parameter in parameters:
        last = "{" + str(parameter["name"]) + "}"
        if parameter.get("multiple") and template.endswith("/" + last):
            return template.removesuffix(last) + "{+" + str(parameter["name"]) + "}"
    return template


def _parameters(
    files: SourceFiles, schemas: Schemas, item: Mapping[str, Json], operation: Mapping[str, Json], file: Path
) -> Iterator[dict[str, Any]]:
    parameters: dict[tuple[str, str], dict[str, Any]] = {}
    for place in (item, operation):
        for listed in place.get("parameters") or ():
            parameter, where = files.dereferenced(listed, file)
            if not isinstance(parameter, Mapping) or parameter.get("in") not in ("path", "query", "header"):
                continue
            name = str(parameter.get("name"))
            shape: dict[str, Any] = {"name": name, "in": parameter["in"]}
            if parameter.get("required") is True:
                shape["required"] = True
            for key in ("style", "explode", "allowEmptyValue"):
                if key in parameter:
                    shape[key] = parameter[key]
            if parameter.get("x-multi-segment") is True:
                shape["multiple"] = True
            schema = parameter.get("schema")
            content = parameter.get("content")
            if schema is None and isinstance(content, Mapping) and content:
                media, inner = next(iter(content.items()))
                schema = inner.get("schema") if isinstance(inner, Mapping) else None
                shape["json" if "json" in str(media) else "opaque"] = True
            elif (
                isinstance(schema, Mapping)
                and "contentSchema" in schema
                and "json" in str(schema.get("contentMediaType"))
            ):
                # JSON Schema 2020-12, Validation, section 8.5: pydantic describes a text that holds JSON like this.
                schema, shape["json"] = schema["contentSchema"], True
            shape["schema"] = schemas.translated(schema, where)
            if isinstance(schema, Mapping) and "$ref" not in schema and "json" not in shape:
                shape["schema"] = {**shape["schema"], **told_in_prose(parameter.get("description"), schema)}
            parameters[(shape["in"], name.lower() if shape["in"] == "header" else name)] = shape
    yield from parameters.values()


def _body(
    files: SourceFiles, schemas: Schemas, method: str, operation: Mapping[str, Json], file: Path
) -> dict[str, Json]:
    body, where = files.dereferenced(operation.get("requestBody"), file)
    if not isinstance(body, Mapping):
        return {}
    media: dict[str, Json] = {}
    for name, documented in (body.get("content") or {}).items():
        if not isinstance(documented, Mapping):
            continue
        usual_name = str(name).partition(";")[0].strip().lower()
        schema = schemas.translated(documented.get("schema") or {}, where)
        schema = with_form_of_patch(usual_name, schema, schemas.definitions) if method == "patch" else schema
        shape: dict[str, Json] = {"schema": _names_of(_example(documented)) if schema in _SAYS_NOTHING else schema}
        encoding = documented.get("encoding")
        if isinstance(encoding, Mapping):
            styles = {
                inner: {key: rule[key] for key in ("style", "explode", "contentType") if key in rule}
                for inner, rule in encoding.items()
                if isinstance(rule, Mapping)
            }
            if any(styles.values()):
                shape["encoding"] = styles
        media[usual_name] = shape
    return {"required": body.get("required") is True, "media": media}


def _example(documented: Mapping[str, Json]) -> Json:
    """Return the example of a body, the first of several."""
    if "example" in documented:
        return documented["example"]
    examples = documented.get("examples")
    first = next(iter(examples.values()), None) if isinstance(examples, Mapping) else None
    return first.get("value") if isinstance(first, Mapping) else None


def _names_of(example: Json, depth: int = 0) -> dict[str, Json]:
    """Return a schema that has the names of an example and allows everything."""
    if isinstance(example, Mapping) and depth < _DEEPEST_EXAMPLE and len(example) <= _WIDEST_EXAMPLE:
        return {
            "properties": {
                str(name): {} if _MAP.fullmatch(str(name)) else _names_of(inner, depth + 1)
                for name, inner in example.items()
            }
        }
    if isinstance(example, list) and example and isinstance(example[0], Mapping) and depth < _DEEPEST_EXAMPLE:
        return {"items": _names_of(example[0], depth + 1)}
    return {}


def _refusals(files: SourceFiles, codes: Codes, operation: Mapping[str, Json], file: Path) -> dict[str, Json]:
    """Return the documented statuses that are refusals, each with the list of codes its schema names, or null."""
    responses = operation.get("responses")
    refusals: dict[str, Json] = {}
    for status, response in responses.items() if isinstance(responses, Mapping) else ():
        if _REFUSAL.fullmatch(str(status)):
            document, where = files.dereferenced(response, file)
            refusals[str(status).upper() if str(status) != "default" else "default"] = codes.of(document, where)
    return refusals


def _produces(files: SourceFiles, operation: Mapping[str, Json], file: Path) -> list[str]:
    """Return the media types of the documented successes."""
    responses = operation.get("responses")
    media: dict[str, None] = {}
    for status, response in responses.items() if isinstance(responses, Mapping) else ():
        document, _ = files.dereferenced(response, file) if _SUCCESS.fullmatch(str(status)) else (None, file)
        content = document.get("content") if isinstance(document, Mapping) else None
        for name in content if isinstance(content, Mapping) else ():
            media.setdefault(str(name).partition(";")[0].strip().lower())
    return list(media)


class _Uses:
    """Which definitions a schema needs, through all the ones it needs."""

    def __init__(self, definitions: list[Json]) -> None:
        self._direct = [_named(definition) for definition in definitions]

    def of(self, record: Json) -> list[int]:
        pending, seen = set(_named(record)), set[int]()
        while pending:
            number = pending.pop()
            seen.add(number)
            pending |= self._direct[number] - seen
        return sorted(seen)


def _named(value: Json) -> set[int]:
    """Return the numbers of the definitions that a schema names itself."""
    if isinstance(value, Mapping):
        numbers = {number for inner in value.values() for number in _named(inner)}
        reference = _REFERENCE.fullmatch(value["$ref"]) if isinstance(value.get("$ref"), str) else None
        return numbers | {int(reference[1])} if reference else numbers
    return {number for inner in value for number in _named(inner)} if isinstance(value, list) else set()
