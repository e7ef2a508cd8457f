"""What tests of whole packs have in common."""

from __future__ import annotations

from corrigible.rules.language.rule import Entry, SuggestionLoop, SuggestionSpec


def says(entry: Entry) -> list[SuggestionSpec]:
    """Return every suggestion that an entry may make."""
    if isinstance(entry, SuggestionSpec):
        return [entry]
    if isinstance(entry, SuggestionLoop):
        return [entry.member]
    return [say for member in entry.members for say in says(member)]
