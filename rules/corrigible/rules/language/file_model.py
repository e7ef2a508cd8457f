"""What all files of a pack have in common: the base of their models, kinds of values, and what is said of a mistake.

`fields.yaml` has the description and examples of each field, for the editors' JSON Schema and the reference of packs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Annotated, Any, TypeVar, cast

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from corrigible.rules.errors import did_you_mean, gather
from corrigible.rules.lookup_headers import header_problem

from .yaml_source import Source, Trail

EXPRESSION = "cel"
"""The JSON Schema `format` of a CEL expression."""
TEMPLATE = "cel-template"
"""That of a value in which each text is a CEL expression."""


@functools.cache
def _fields() -> Mapping[str, Mapping[str, Any]]:
    text = files(__package__).joinpath("fields.yaml").read_text("utf-8")
    return cast("Mapping[str, Mapping[str, Any]]", yaml.safe_load(text))


def texts_of(model: type[BaseModel]) -> Mapping[str, Mapping[str, Any]]:
    """Return the description and the examples of each field of a model, those of inherited fields too."""
    return {name: texts for owner in model.__mro__ for name, texts in _fields().get(owner.__name__, {}).items()}


def _described(schema: dict[str, Any], model: type[BaseModel]) -> None:
    for name, texts in texts_of(model).items():
        schema["properties"][name] |= texts


class FileModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_described)


def listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Cel = Annotated[str, Field(min_length=1, json_schema_extra={"format": EXPRESSION})]
Condition = Annotated[str, Field(json_schema_extra={"format": EXPRESSION})] | bool
"""A CEL expression that gives a boolean."""
Value = Annotated[Any, Field(json_schema_extra={"format": TEMPLATE})]
"""A YAML string is a CEL expression; numbers, booleans and null are themselves; maps and lists nest."""


def _lookup_header(name: str) -> str:
    if problem := header_problem(name):
        raise ValueError(f'"{name}" {problem}')
    return name


LookupHeader = Annotated[str, AfterValidator(_lookup_header)]
Names = Annotated[list[str], BeforeValidator(listed, json_schema_input_type=str | list[str])]
Numbers = Annotated[list[int], BeforeValidator(listed, json_schema_input_type=int | list[int])]

RENAMED = {
    "on": "match",
    "also": "also_resolves",
    "placeholders": "ask",
    "speaks": "expect",
    "silent": "no_match",
    "covers": "min_coverage",
}
"""Keys of earlier versions, and what they are called now."""


Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], source: Source, data: Any = None, under: Trail = ()) -> Model:
    """Validate `data` (the whole document where None). Raises one AuthoringError that lists every complaint."""
    value = source.data if data is None and not under else data
    if not isinstance(value, dict):
        raise source.error(under, f"expected a map of {_known(model)}")
    try:
        return model.model_validate(value)
    except ValidationError as problem:
        complaints: dict[Trail, list[Any]] = {}
        for one in problem.errors(include_url=False):
            complaints.setdefault(_trail(source, under, one["loc"]), []).append(one)
        authoring_errors = [
            source.error((*under, *trail), sentence)
            for trail, errors in complaints.items()
            for sentence in _sentences(model, trail, errors, answered=_answered(trail, complaints))
        ]
        unique = {(e.place.line, e.problem): e for e in authoring_errors}
        error = gather(sorted(unique.values(), key=lambda e: e.place.line))
        assert error is not None
        raise error from None


def _trail(source: Source, under: Trail, location: tuple[int | str, ...]) -> Trail:
    """Keep the steps of a pydantic location that exist in the file: union branches are names of types."""
    trail: Trail = ()
    for part in location:
        if (*under, *trail, part) in source.lines:
            trail = (*trail, part)
    return trail


def _answered(trail: Trail, complaints: Mapping[Trail, Sequence[Any]]) -> bool:
    """Whether another complaint goes deeper: then one of a union's forms was meant, and what it lacks is said."""
    return any(len(other) > len(trail) and other[: len(trail)] == trail for other in complaints)


def _sentences(model: type[BaseModel], trail: Trail, errors: Sequence[Any], *, answered: bool) -> Iterator[str]:
    """Say what is wrong with one value. The forms that a union would have taken are one sentence."""
    mismatched = [error for error in errors if error["type"] in _EXPECTED]
    others = [error for error in errors if error["type"] not in _EXPECTED]
    if mismatched and not answered and not others:
        name = next((part for part in reversed(trail) if isinstance(part, str)), "")
        wanted = " or ".join(dict.fromkeys(_EXPECTED[error["type"]] for error in mismatched))
        yield f'"{name}" is {_kind(mismatched[0]["input"])}, expected {wanted}'
    for error in others:
        yield _sentence(model, error, trail)


_EXPECTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
}
"""What pydantic calls a value of the wrong type, and what would have been right."""


def _kind(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case dict():
            return "a map"
        case list():
            return "a list"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _sentence(model: type[BaseModel], error: Any, trail: Trail) -> str:
    kind = error["type"]
    location = (*trail, error["loc"][-1]) if kind == "missing" else trail
    where = [part for part in location if isinstance(part, str)]
    name = where[-1] if where else ""
    if kind == "extra_forbidden":
        owner = next((part for part in reversed(where[:-1]) if part.islower()), "")
        keys = _keys_at(model, error["loc"][:-1])
        if RENAMED.get(name) in keys:
            return f'"{name}" is now called "{RENAMED[name]}"'
        return f'unknown key "{name}"{f" in {owner}" if owner else ""}{did_you_mean(name, keys)}'
    if kind == "missing":
        return f'"{name}" is missing'
    if kind == "literal_error":
        expected = str(error["ctx"]["expected"]).replace("'", "")
        given = str(error["input"])
        words = [word.strip() for word in expected.replace(" or ", ",").split(",")]
        return f'"{name}" is {given}, expected {expected}{did_you_mean(given, words)}'
    if kind == "value_error":
        return f"{name + ' ' if name else ''}{error['ctx']['error']}"
    return f'"{name}": {error["msg"][0].lower()}{error["msg"][1:]}'


def _known(model: type[BaseModel]) -> str:
    return ", ".join(_keys(model))


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys of the model that a location leads to, as far as it can be followed."""
    here = model
    forms: list[type[BaseModel]] = []
    for part in location:
        if isinstance(part, str):
            named = next((f for n, f in here.model_fields.items() if (f.alias or n) == part), None)
            if named is not None:
                forms = list(models_in(named.annotation))
            # Of a union pydantic names the form that it tried.
            here = next((form for form in forms if form.__name__ == part), forms[0] if named and forms else here)
    return _keys(here)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from models_in(inner)
