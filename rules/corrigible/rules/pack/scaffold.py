"""New packs and rules, ready to be filled in: what is made lints and passes its own cases."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

import yaml

from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.file_model import checked
from corrigible.rules.language.pack_model import PackText
from corrigible.rules.language.rule_model import editor_schemas
from corrigible.rules.language.yaml_source import read_source
from corrigible.schema.exchange import Json

_TEMPLATES: Final[Mapping[str, str]] = tomllib.loads(files(__package__).joinpath("scaffold.toml").read_text("utf-8"))
"""Of the files, by their kind."""


def new_pack(folder: Path, *, author: str, date: str) -> list[Path]:
    """Make a pack with one example rule. Raises AuthoringError rather than touch what is there."""
    if folder.exists() and any(folder.iterdir()):
        raise AuthoringError(Place(folder, 0), "is there already and not empty")
    if re.fullmatch(r"[a-z][a-z0-9-]*", folder.name) is None:
        raise AuthoringError(Place(folder, 0), f'"{folder.name}" is no pack name: lower-case letters, digits and "-"')
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "pack.yaml"
    title = folder.name.replace("-", " ").title()
    manifest.write_text(_TEMPLATES["pack"].format(name=folder.name, title=title, author=quoted(author)), "utf-8")
    return [manifest, *_schemas(folder), *new_rule(folder / "example", author=author, date=date)]


def new_rule(path: Path, *, author: str, date: str) -> list[Path]:
    """Make FOLDER/RULE.yaml and its cases. Raises AuthoringError rather than overwrite."""
    name = path.name.removesuffix(".yaml")
    rule, cases = path.parent / f"{name}.yaml", path.parent / f"{name}.cases.yaml"
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) is None:
        raise AuthoringError(Place(rule, 0), f'"{name}" is no rule name: lower-case letters, digits and single "-"')
    pack = checked(PackText, read_source(path.parent / "pack.yaml"))
    for file in (rule, cases):
        if file.exists():
            raise AuthoringError(Place(file, 0), "is there already")
    code = name.replace("-", "_")
    rule.write_text(
        _TEMPLATES["rule"].format(
            schema="rule.schema.json",
            pack=pack.name,
            rule=name,
            title=name.replace("-", " ").capitalize(),
            code=code,
            author="" if pack.author == author else f"author: {quoted(author)}\n",
            date=date,
        ),
        "utf-8",
    )
    cases.write_text(_TEMPLATES["cases"].format(schema="cases.schema.json", code=code), "utf-8")
    return [rule, cases]


def unchanged_members(rule: Mapping[str, Json]) -> list[str]:
    """Return the members of a rule that are as the template has them, and that each rule needs of its own."""
    template = yaml.safe_load(_TEMPLATES["rule"].format_map(defaultdict(str)))
    return [name for name in ("references", "suggest", "diagnosis") if rule.get(name) == template[name]]


def quoted(text: str) -> str:
    """Return a text as YAML in quotes, on one line whatever is in it."""
    clean = text.encode("utf-8", "replace").decode()
    return str(yaml.safe_dump(clean, default_style='"', width=math.inf, allow_unicode=True)).strip("\n")


def _schemas(folder: Path) -> list[Path]:
    files = []
    for name, schema in editor_schemas().items():
        file = folder / f"{name}.schema.json"
        file.write_text(json.dumps(schema, indent=2) + "\n", "utf-8")
        files.append(file)
    return files
