"""The adapter of the recipe API.

The recipe API's dialect: `{"success": false, "validation_errors": [{"code", "message", "field"}]}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from corrigible.adapters.base import Adapter
from corrigible.adapters.operation import Operations
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

_STEP = re.compile(r"[^.\[\]]+")
_OUTSIDE_THE_BODY = frozenset({"path", "method"})


def pointer(field: str) -> str:
    """Turn a field into a pointer: `ingredients[2].alternative` is `/body/ingredients/2/alternative`."""
    if field in _OUTSIDE_THE_BODY:
        return f"/{field}"
    steps = _STEP.findall(field)
    if steps[:1] != ["query"]:
        steps.insert(0, "body")
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


@dataclass(frozen=True, slots=True)
class RecipeFormat:
    """Reads the refusals of the recipe API, which come with status 200 as a rule."""

    name: str = "recipe"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        match body:
            case {"success": False, "validation_errors": [*errors]}:
                return tuple(violation for error in errors if (violation := _violation(error)))
            case _:
                return ()


def _violation(error: Json) -> Violation | None:
    if not isinstance(error, Mapping) or not isinstance(code := error.get("code"), str):
        return None
    message, field = error.get("message"), error.get("field")
    return Violation(
        code=code,
        message=message if isinstance(message, str) else "",
        pointer=pointer(field) if isinstance(field, str) else "",
        param=field if isinstance(field, str) else "",
        native=error,
    )


RECIPE: Final = RecipeFormat()


OPERATIONS: Final = Operations.load(files(__package__).joinpath("operations.yaml").read_text(encoding="utf-8"))

PATHS: Final = {name: key.partition(" ")[2] for key, name in OPERATIONS.templates.items()}
"""Path by operation; both are POST."""

ADAPTER: Final = Adapter(
    name="recipe",
    formats=(RECIPE,),
    operations=OPERATIONS,
    refuses_with_success=frozenset(OPERATIONS.names),
    native_mode=True,
)
