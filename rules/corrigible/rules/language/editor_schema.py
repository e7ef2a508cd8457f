"""The JSON Schemas that editors complete and check packs with."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from .pack_model import PackText
from .rule_model import CaseText, RuleText

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def editor_schemas() -> dict[str, dict[str, Any]]:
    """Return a schema each for a rule file, a pack.yaml and a cases file."""
    return {
        "rule": {"$schema": _DIALECT, **RuleText.model_json_schema()},
        "pack": {"$schema": _DIALECT, **PackText.model_json_schema()},
        "cases": {"$schema": _DIALECT, **TypeAdapter(list[CaseText]).json_schema()},
    }
