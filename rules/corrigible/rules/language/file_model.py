"""What all files of a pack have in common: the base of their models, and the kinds of values that they share.

The descriptions and examples of fields are the texts of the editors' JSON Schema and of the reference of packs.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from corrigible.rules.lookup_headers import header_problem

EXPRESSION = "cel"
"""The JSON Schema `format` of a CEL expression."""
TEMPLATE = "cel-template"
"""That of a value in which each text is a CEL expression."""


class FileModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


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
