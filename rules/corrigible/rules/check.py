"""From a YAML source to a checked model, every complaint with its line and the likely word."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .failure import AuthoringError, gather, meant
from .source import Source, Trail

Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], source: Source, data: Any = None, under: Trail = ()) -> Model:
    """Validate `data` (the whole document where None). Raises one AuthoringError that lists every complaint."""
    value = source.data if data is None and not under else data
    if not isinstance(value, dict):
        raise source.error(under, f"expected a map of {_known(model)}")
    try:
        return model.model_validate(value)
    except ValidationError as problem:
        found = [
            source.error((*under, *_trail(source, under, error["loc"])), _sentence(model, error))
            for error in problem.errors(include_url=False)
        ]
        unique = {(e.place.line, e.problem): e for e in found}
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


def _sentence(model: type[BaseModel], error: Any) -> str:
    where = [part for part in error["loc"] if isinstance(part, str)]
    name = where[-1] if where else ""
    kind = error["type"]
    if kind == "extra_forbidden":
        owner = next((part for part in reversed(where[:-1]) if part.islower()), "")
        return f'unknown key "{name}"{f" in {owner}" if owner else ""}{meant(name, _keys_at(model, error["loc"][:-1]))}'
    if kind == "missing":
        return f'"{name}" is missing'
    if kind == "literal_error":
        expected = str(error["ctx"]["expected"]).replace("'", "")
        given = str(error["input"])
        words = [word.strip() for word in expected.replace(" or ", ",").split(",")]
        return f'"{name}" is {given}, expected {expected}{meant(given, words)}'
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
    for part in location:
        if isinstance(part, str):
            named = next((f for n, f in here.model_fields.items() if (f.alias or n) == part), None)
            inner = _model_in(named.annotation) if named is not None else None
            here = inner or here
    return _keys(here)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        if (found := _model_in(inner)) is not None:
            return found
    return None


__all__ = ["AuthoringError", "checked"]
