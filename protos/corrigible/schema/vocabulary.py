"""The registered actions: description, base action and parameters of each.

A vocabulary is a value. Registering returns a new one, so nothing depends on which pack was loaded first
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Self

from .error import VocabularyError
from .exchange import Json
from .extra import MissingExtra
from .word import TERMINAL_ACTIONS, BaseAction

try:
    import yaml
except ModuleNotFoundError:
    raise MissingExtra(__name__, "proxy", "yaml") from None

_NAME: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
_ANY_OBJECT: Final[Mapping[str, Json]] = MappingProxyType({"type": "object"})


@dataclass(frozen=True, slots=True)
class Action:
    """One word of the vocabulary."""

    name: str
    description: str
    base_action: BaseAction
    parameters: Mapping[str, Json] = field(default_factory=lambda: _ANY_OBJECT)
    """JSON Schema (2020-12) of a suggestion's `parameters`."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise VocabularyError(f"{self.name}: not upper snake case")
        if not self.description.strip():
            raise VocabularyError(f"{self.name}: no description")

    @property
    def terminal(self) -> bool:
        """It is the only suggestion, and there is no next request."""
        return self.base_action in TERMINAL_ACTIONS

    def problems(self, parameters: Json) -> list[str]:
        """Return the problems of `parameters`, with pointers."""
        return sorted(
            f"/parameters{''.join(f'/{part}' for part in error.instance_path)}: {error.message}"
            for error in _validator(self.parameters).iter_errors(parameters)
        )


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Actions by name. `Vocabulary.base()` has those that every reader knows."""

    actions: Mapping[str, Action]

    @classmethod
    def base(cls) -> Self:
        """Return the seven base actions, as `vocabulary.yaml` defines them."""
        return cls(_base_actions())

    def register(
        self, name: str, *, base_action: str, description: str, parameters: Mapping[str, Json] | None = None
    ) -> Vocabulary:
        """Return a vocabulary with one more action. Registering the same definition again is allowed."""
        schema = _ANY_OBJECT if parameters is None else parameters
        _check_schema(name, schema)
        action = Action(name, description.strip(), _base(name, base_action), schema)
        registered = self.actions.get(name)
        if registered is not None and registered != action:
            raise VocabularyError(f"{name} is registered already, with another meaning")
        return Vocabulary(MappingProxyType({**self.actions, name: action}))

    def extend(self, definitions: Mapping[str, Json]) -> Vocabulary:
        """Return a vocabulary with a pack's actions: `{NAME: {base_action, description, parameters}}`."""
        result: Vocabulary = self
        for name, definition in definitions.items():
            if not isinstance(definition, Mapping):
                raise VocabularyError(f"{name}: not a mapping")
            if not all(isinstance(definition.get(key, ""), str) for key in ("base_action", "description")):
                raise VocabularyError(f"{name}: base_action and description are text")
            if not isinstance(definition.get("parameters", {}), Mapping):
                raise VocabularyError(f"{name}: parameters are no JSON Schema: not a mapping")
            unknown = sorted(set(map(str, definition)) - {"base_action", "description", "parameters"})
            missing = sorted({"base_action", "description"} - set(definition))
            if unknown or missing:
                raise VocabularyError(f"{name}: " + "; ".join(_complaints(unknown, missing)))
            result = result.register(name, **definition)
        return result

    def check(self, action: str, parameters: Json) -> Action:
        """Return the action if it is registered and `parameters` fit, or raise `VocabularyError`."""
        registered = self.actions.get(action)
        if registered is None:
            raise VocabularyError(f"{action} is not registered")
        if problems := registered.problems(parameters):
            raise VocabularyError(f"{action}: {'; '.join(problems)}")
        return registered

    def document(self) -> dict[str, Json]:
        """Return the vocabulary as JSON, for publishing."""
        return {
            action.name: {
                "description": action.description,
                "base_action": str(action.base_action),
                "terminal": action.terminal,
                "parameters": dict(action.parameters),
            }
            for action in self.actions.values()
        }


def _complaints(unknown: list[str], missing: list[str]) -> Iterator[str]:
    if unknown:
        yield f"unknown {', '.join(unknown)}"
    if missing:
        yield f"missing {', '.join(missing)}"


def _validator(schema: Mapping[str, Json]) -> Any:
    import jsonschema_rs  # 10 ms to import, and needed at the first action with parameters

    return jsonschema_rs.Draft202012Validator(dict(schema), retriever=_refused)


def _refused(address: str) -> Any:
    raise ValueError(f"a $ref leads out of the schema: {address}")


def _check_schema(name: str, schema: Mapping[str, Json]) -> None:
    if schema is _ANY_OBJECT:
        return
    import jsonschema_rs

    try:
        _validator(schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise VocabularyError(f"{name}: parameters are no JSON Schema: {getattr(error, 'message', error)}") from None


def _base(name: str, base_action: str) -> BaseAction:
    try:
        return BaseAction(base_action)
    except ValueError:
        raise VocabularyError(f"{name}: {base_action} is no base action") from None


@cache
def _base_actions() -> Mapping[str, Action]:
    data: Mapping[str, Json] = yaml.safe_load(files(__package__).joinpath("vocabulary.yaml").read_text("utf-8"))
    return MappingProxyType(
        {
            name: Action(name, entry["description"], _base(name, entry["base_action"]), entry["parameters"])
            for name, entry in data.items()
        }
    )
