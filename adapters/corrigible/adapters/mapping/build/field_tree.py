"""The fields of a place of an operation as a tree: members by name, `*` for items of a list or keys of a map."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from corrigible.adapters.mapping.operation import Field
from corrigible.adapters.mapping.words import name_words
from corrigible.rules.pointer import segments

ITEM = "*"


@dataclass(slots=True)
class Node:
    """One place; `field` is None where only deeper places are described."""

    name: str
    pointer: str
    field: Field | None = None
    children: dict[str, Node] = dataclasses.field(default_factory=dict)

    @property
    def words(self) -> tuple[str, ...]:
        return name_words(self.name)

    @property
    def type(self) -> str:
        """JSON Schema's word, also where only the members tell it; empty where nothing does."""
        if self.field is not None and self.field.type:
            return self.field.type
        return "" if not self.children else "array" if set(self.children) == {ITEM} else "object"

    @property
    def item(self) -> Node | None:
        return self.children.get(ITEM)


def tree(fields: Iterable[Field], place: str) -> Node:
    """Return the fields whose pointers begin with `/place`."""
    root = Node(place, f"/{place}")
    for one in fields:
        head, *path = segments(one.pointer)
        if head != place:
            continue
        node = root
        raw = one.pointer.split("/")
        for depth, name in enumerate(path):
            node = node.children.setdefault(name, Node(name, "/".join(raw[: depth + 3])))
        node.field = one
    return root
