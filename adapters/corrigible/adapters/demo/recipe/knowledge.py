"""The values that the recipe API accepts, read from `knowledge.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import yaml
from pydantic import BaseModel, ConfigDict


class Diet(BaseModel):
    """A dietary requirement a caller may name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    excludes: frozenset[str]
    certified: bool
    """Some ingredients then need a product known to be certified."""


class Kind(BaseModel):
    """One ingredient under all its names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: tuple[str, ...]
    contains: frozenset[str]


class Incompatible(BaseModel):
    """Diagnosis by context and kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cuisine: dict[str, dict[str, str]]
    technique: dict[str, dict[str, str]]


class Certification(BaseModel):
    """One stage of the celiac check."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    message: str
    products: tuple[str, ...]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    cuisines: tuple[str, ...]
    diets: dict[str, Diet]
    ingredients: dict[str, Kind]
    incompatible: Incompatible
    certification: tuple[Certification, ...]
    vague_units: tuple[str, ...]


def normal(text: str) -> str:
    """Return `text` as names are compared: case, apostrophes and spaces aside."""
    return " ".join(text.casefold().replace("\u2019", "'").split())


def has_words(text: str, words: str) -> bool:
    """Say whether `words` occur in `text` and are not part of longer words. Both normal."""
    return words in text and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The acceptance data, indexed for look-ups."""

    cuisines: frozenset[str]
    diets: Mapping[str, Diet]
    kinds: Mapping[str, Kind]
    incompatible: Incompatible
    certification: Sequence[Certification]
    vague_units: frozenset[str]
    _names: Sequence[tuple[str, str]]
    """(normal name, kind), longest first."""

    def kind_of(self, name: str) -> str | None:
        """Return the kind whose longest name occurs in `name`, or None for what is not known here."""
        text = normal(name)
        return next((kind for name, kind in self._names if has_words(text, name)), None)

    def contains(self, name: str) -> frozenset[str]:
        """Return what diets may exclude about an ingredient."""
        kind = self.kind_of(name)
        return self.kinds[kind].contains if kind else frozenset()

    def conflict(self, name: str, diets: Sequence[str]) -> str | None:
        """Return the first of `diets` that excludes the ingredient."""
        contained = self.contains(name)
        return next((diet for diet in diets if self.diets[diet].excludes & contained), None)

    def incompatibility(self, name: str, *, cuisine: str | None, recipe_type: str | None) -> str | None:
        """Return the diagnosis where an ingredient does not belong in the dish."""
        if not (kind := self.kind_of(name)):
            return None
        context = [self.incompatible.cuisine.get(cuisine or "", {})]
        dish = normal(recipe_type or "")
        context += [rules for word, rules in self.incompatible.technique.items() if has_words(dish, word)]
        message = next((rules[kind] for rules in context if kind in rules), None)
        return message and message.replace("{name}", name)

    def is_vague_unit(self, unit: str) -> bool:
        """Say whether a unit measures nothing: "handful", "pinches", "a splash of"."""
        words = normal(unit).split()
        return any(form in words for vague in self.vague_units for form in (vague, f"{vague}s", f"{vague}es"))

    def measures_vaguely(self, name: str) -> bool:
        """Say whether a name begins with such a unit: "a handful of flour"."""
        measure, of, _ = normal(name).partition(" of ")
        return bool(of) and self.is_vague_unit(measure)


def _read(text: str) -> Knowledge:
    data = _File.model_validate(yaml.safe_load(text))
    names = [(normal(name), kind) for kind, facts in data.ingredients.items() for name in facts.names]
    names += [(normal(product), stage.kind) for stage in data.certification for product in stage.products]
    names.sort(key=lambda entry: (-len(entry[0]), entry[0]))
    return Knowledge(
        cuisines=frozenset(data.cuisines),
        diets=MappingProxyType(data.diets),
        kinds=MappingProxyType(data.ingredients),
        incompatible=data.incompatible,
        certification=data.certification,
        vague_units=frozenset(data.vague_units),
        _names=tuple(names),
    )


@cache
def knowledge() -> Knowledge:
    """Return the knowledge that ships with the service."""
    return _read(files(__package__).joinpath("knowledge.yaml").read_text(encoding="utf-8"))
