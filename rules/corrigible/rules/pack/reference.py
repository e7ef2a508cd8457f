"""The reference of packs as a Markdown page: every field, every name and function of expressions, with examples.

Its texts are those of the models, of the functions and of the catalogue: nothing is written twice.

New packs and rules, ready to be filled in: what is made lints and passes its own cases.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.expression import SCOPE, environment, pack_functions
from corrigible.rules.language.file_model import EXPRESSION, TEMPLATE, checked, models_in, texts_of
from corrigible.rules.language.pack_model import PackText
from corrigible.rules.language.rule import Entry, Rule, SuggestionGroup, SuggestionLoop, SuggestionSpec
from corrigible.rules.language.rule_model import CaseText, RuleText, editor_schemas
from corrigible.rules.language.standard import STANDARD, Function
from corrigible.rules.language.yaml_source import read_source
from corrigible.schema.exchange import Json

from .load import Pack

_FILES: Final = (
    ("Rules", "rule", RuleText),
    ("Cases", "case", CaseText),
    ("pack.yaml", "pack.yaml", PackText),
)
_INTRODUCTION: Final = """\
# Reference of rule packs

<!-- Generated: corrigible pack docs --reference > docs/pack-reference.md -->

Every field of the files of a pack, and every name and function of expressions.
`rules/README.md` explains how they work together. `corrigible pack schema rule|pack|cases` prints
the same as JSON Schema, for completion in editors.

An *expression* is a text in [CEL](https://cel.dev). A *value* is an expression, a number, a boolean, null, or a list or
map of values: a literal text is quoted twice, `"'eur'"`.
"""
_NAMES: Final = """\
## Expressions

### Names

Look-ups and `let`s add their own names.
"""
_OF_CEL: Final = """\
These of CEL and its extensions strings, math, optional and bindings. Operators: `+ - * / %`, `== != < <= > >=`,
`&& || !`, `condition ? a : b`, `in`. Literals: texts (`'a'`, `r'\\d'`), integers (`1`, `0x10`), doubles (`1.5`, `1e3`),
`true`, `false`, `null`, lists, maps. `corrigible pack lint` refuses the rest of CEL (bytes, unsigned numbers,
timestamps, durations, messages), and says what to write instead.
"""
_VALUES: Final[Mapping[str, Any]] = {
    "currency": "eur",
    "amount": 500,
    "items": [{"name": "cream", "stock": {"reserved": False}}],
}
"""The body of the request of the examples."""


def reference() -> str:
    """Return the page."""
    return "\n".join([_INTRODUCTION, *_files(), _NAMES, *_names(), "", *_functions()]) + "\n"


class _Section(NamedTuple):
    title: str
    model: type[BaseModel]


def _files() -> Iterator[str]:
    sections = _sections()
    titles = {section.model.__name__: section.title for section in sections}
    for heading, root, _ in _FILES:
        yield f"## {heading}\n"
        for section in sections:
            if section.title == root or section.title.startswith((f"{root}.", f"{root} ")):
                yield from _fields(section, titles)


def _sections() -> list[_Section]:
    """Return each model once, under the place where it is met first."""
    out: dict[type[BaseModel], str] = {}
    waiting: list[tuple[str, type[BaseModel]]] = [(root, model) for _, root, model in _FILES]
    while waiting:
        title, model = waiting.pop(0)
        if model in out:
            continue
        out[model] = title
        inner = [
            (f"{title}.{field.alias or name}", found)
            for name, field in model.model_fields.items()
            for found in models_in(field.annotation)
        ]
        waiting = [*inner, *waiting]
    return [_Section(title, model) for model, title in _distinct(out)]


def _distinct(titles: Mapping[type[BaseModel], str]) -> Iterator[tuple[type[BaseModel], str]]:
    """Give models that are met at one place titles of their own: the second one has `each`."""
    seen: set[str] = set()
    for model, title in titles.items():
        own = f"{title} with each" if title in seen else title
        seen.add(own)
        yield model, own


def _fields(section: _Section, titles: Mapping[str, str]) -> Iterator[str]:
    yield f"### {section.title}\n"
    yield f"{' '.join((section.model.__doc__ or '').split())}\n"
    schema = section.model.model_json_schema()
    properties = schema.get("properties") or schema["$defs"][section.model.__name__]["properties"]
    texts = texts_of(section.model)
    for name, field in section.model.model_fields.items():
        key = field.alias or name
        need = "required" if field.is_required() else _default(field)
        yield f"- **`{key}`** ({_type(properties[key], titles)}; {need}): {texts[key]['description']}"
        shown = " or ".join(f"`{_example(key, one)}`" for one in texts[key]["examples"])
        yield f"  Example: {shown}"
    yield ""


def _default(field: FieldInfo) -> str:
    default = field.default
    if isinstance(default, BaseModel) or default in (None, "", [], {}):
        return "optional"
    return f"default: `{json.dumps(default)}`" if not isinstance(default, str) else f"default: `{default}`"


def _example(key: str, value: Any) -> str:
    text = yaml.dump(
        {key: value}, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True
    )
    return str(text).strip()[1:-1]


class _Dumper(yaml.SafeDumper):
    """Writes YAML as an author does: an expression with a literal text has double quotes around it."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        node = super().represent_str(data)
        if "'" in data and '"' not in data and not data.startswith("("):
            node.style = '"'
        return node


_Dumper.add_representer(str, _Dumper.represent_str)


def _type(schema: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Say in words which values a JSON Schema takes."""
    match schema:
        case {"format": str(kind)} if kind in _FORMATS:
            return _FORMATS[kind]
        case {"$ref": str(target)}:
            title = titles[target.rpartition("/")[2]]
            return f"[map](#{_anchor(title)})"
        case {"anyOf": list(parts)}:
            return " or ".join(dict.fromkeys(_type(one, titles) for one in parts if one.get("type") != "null"))
        case {"const": word}:  # pydantic 2.9 writes `enum`, too
            return f"`{json.dumps(word)}`"
        case {"enum": list(words)}:
            return " or ".join(f"`{word}`" for word in words)
        case {"type": "array", "items": dict(inner)}:
            return f"list of {_plural(_type(inner, titles))}"
        case {"type": "object"}:
            values = [schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
            kinds = [_type(one, titles) for one in values if isinstance(one, Mapping)]
            return f"map of {_plural(kinds[0])}" if kinds else "map"
        case {"type": str(kind)}:
            return _TYPES[kind]
    return "any value"


def _plural(kind: str) -> str:
    if kind.startswith("[map]"):
        return kind.replace("[map]", "[maps]", 1)
    return f"{kind}s" if kind in _COUNTED else kind


_FORMATS: Final = {EXPRESSION: "expression", TEMPLATE: "value"}
_TYPES: Final = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
_COUNTED: Final = {"text", "whole number", "number", "expression", "value", "any value"}


def _anchor(title: str) -> str:
    """Return the fragment that GitHub and mkdocs make of a heading."""
    return title.lower().replace(".", "").replace(" ", "-")


def _names() -> Iterator[str]:
    yield from (f"- **`{name}`**: {text}" for name, text in SCOPE.items())


def _functions() -> Iterator[str]:
    yield "### Functions of packs\n"
    yield "`document` is `request`, `response`, `body`, `query`, `headers`, `spec`, `tables` or any other value. In the"
    yield f"examples, the body of the request is `{json.dumps(_VALUES)}`.\n"
    for function in pack_functions():
        yield f"#### {function.name}\n"
        yield f"`{function.signature}`\n"
        yield f"{function.description}\n"
        yield from _examples(function)
        yield ""
    yield "### Functions of CEL\n"
    yield f"{_OF_CEL}\n"
    for title, group in STANDARD.items():
        yield f"#### {title}\n"
        for standard in group:
            (example,) = _examples(standard)
            yield f"- `{standard.signature}`: {standard.description + ' ' if standard.description else ''}{example[2:]}"
        yield ""


def _examples(function: Function) -> Sequence[str]:
    return [f"- `{text}` gives `{json.dumps(evaluated(text), ensure_ascii=False)}`" for text in function.examples]


def evaluated(text: str) -> Any:
    """Return the value of an example."""
    scope = {"body": _VALUES, "request": {"body": _VALUES}}
    return environment().compile(text).evaluate(scope)


def page(pack: Pack) -> str:
    """Return what the pack knows, a section a rule, in the order of their ids."""
    lines = [
        f"# {pack.text.title}",
        "",
        f"Pack `{pack.name}` {pack.text.version}, {len(pack.rules)} rules for {pack.text.api.name}"
        f"{' ' + pack.text.api.versions if pack.text.api.versions else ''}. Licence: {pack.text.license}.",
        "",
    ]
    for rule in sorted(pack.rules, key=lambda r: r.id):
        lines += _section(rule)
    return "\n".join(lines)


def _section(rule: Rule) -> list[str]:
    lines = [f"## {rule.title}", "", f"`{rule.version}`, {rule.status}. {rule.diagnosis}", ""]
    lines += [f"- {text}" for text in _match_lines(rule)]
    lines += [f"- Asks `{question.method} {question.path.text}`" for question in rule.lookups]
    lines += [f"- {text}" for entry in rule.entries for text in _entry_lines(entry)]
    lines += ["", *(f"<{reference}>" for reference in rule.references), ""]
    return lines


def _match_lines(rule: Rule) -> Iterator[str]:
    on = rule.match
    for name, values in (
        ("operation", on.operations),
        ("status", on.statuses),
        ("code", on.codes),
        ("type", sorted(on.types)),
        ("param", sorted(on.params)),
    ):
        if values:
            yield f"On {name} {', '.join(f'`{value}`' for value in values)}"
    if on.message is not None:
        yield f"On a message like `{on.message.text}`"
    if rule.when is not None:
        yield f"When `{rule.when.text}`"


def _entry_lines(entry: Entry) -> Iterator[str]:
    match entry:
        case SuggestionSpec():
            condition = f" if `{entry.condition.text}`" if entry.condition is not None else ""
            yield f"**{entry.action}**{condition}: {entry.message}"
        case SuggestionGroup():
            for member in entry.members:
                yield from _entry_lines(member)
        case SuggestionLoop():
            yield from _entry_lines(entry.member)


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
