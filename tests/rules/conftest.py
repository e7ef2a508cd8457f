"""What tests of whole packs have in common."""

from __future__ import annotations

from corrigible.rules.rule import Entry, ForEach, Say


def says(entry: Entry) -> list[Say]:
    """Return every suggestion that an entry may make."""
    if isinstance(entry, Say):
        return [entry]
    if isinstance(entry, ForEach):
        return [entry.member]
    return [say for member in entry.members for say in says(member)]
