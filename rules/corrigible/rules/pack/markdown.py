"""A pack as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterator

from corrigible.rules.language.rule import Entry, Rule, SuggestionGroup, SuggestionLoop, SuggestionSpec

from .load import Pack


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
