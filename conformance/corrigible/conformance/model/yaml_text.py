"""YAML read fast: descriptions, tasks and tables of some thousand lines are read by every command and most tests."""

from __future__ import annotations

from typing import Any, Final

import yaml

_FAST: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """Return what a text holds; what is wrong with it the parser in Python says better. Raises yaml.YAMLError."""
    try:
        return yaml.load(text, Loader=_FAST)
    except yaml.YAMLError:
        return yaml.safe_load(text)
