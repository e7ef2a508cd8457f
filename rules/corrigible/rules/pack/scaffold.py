"""New packs and rules, ready to be filled in: what is made lints and passes its own cases."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import yaml

from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.file_model import checked
from corrigible.rules.language.pack_model import PackText
from corrigible.rules.language.rule_model import editor_schemas
from corrigible.rules.language.yaml_source import read_source
from corrigible.schema.exchange import Json

_PACK = """\
# yaml-language-server: $schema=pack.schema.json
name: {name}
title: {title}
version: 1.0.0
api: {{name: {title} API}}
license: Apache-2.0
author: {author}
# GET path templates that rules may look up; {{...}} stands for one segment.
lookups: []
"""

_RULE = """\
# yaml-language-server: $schema={schema}
id: {pack}.{rule}
title: {title}
status: draft
references:
  - https://example.com/docs/errors
{author}date: {date}
match:
  status: [400, 422]
  code: {code}
suggest:
  - message: Say in one sentence what the caller is to do.
    ask: /body/member
diagnosis: Say in one sentence what is wrong, without the correction.
"""

_CASES = """\
# yaml-language-server: $schema={schema}
- name: the rule matches
  origin: synthetic
  request: {{method: POST, path: /path, body: {{member: sent}}}}
  response: {{status: 422, body: {{error: {{code: {code}, message: The message of the API.}}}}}}
  expect:
    recovery: correctable
    suggestions: [{{action: MODIFY_PARAMS, placeholders: [{{pointer: /body/member, ask: user}}]}}]
- name: another error
  origin: synthetic
  request: {{method: POST, path: /path, body: {{member: sent}}}}
  response: {{status: 422, body: {{error: {{code: another_code, message: Another message of the API.}}}}}}
  no_match: true
"""


def new_pack(folder: Path, *, author: str, date: str) -> list[Path]:
    """Make a pack with one example rule. Raises AuthoringError rather than touch what is there."""
    if folder.exists() and any(folder.iterdir()):
        raise AuthoringError(Place(folder, 0), "is there already and not empty")
    if re.fullmatch(r"[a-z][a-z0-9-]*", folder.name) is None:
        raise AuthoringError(Place(folder, 0), f'"{folder.name}" is no pack name: lower-case letters, digits and "-"')
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "pack.yaml"
    title = folder.name.replace("-", " ").title()
    manifest.write_text(_PACK.format(name=folder.name, title=title, author=quoted(author)), "utf-8")
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
        _RULE.format(
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
    cases.write_text(_CASES.format(schema="cases.schema.json", code=code), "utf-8")
    return [rule, cases]


def unchanged_members(rule: Mapping[str, Json]) -> list[str]:
    """Return the members of a rule that are as the template has them, and that each rule needs of its own."""
    template = yaml.safe_load(_RULE.format_map(defaultdict(str)))
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
