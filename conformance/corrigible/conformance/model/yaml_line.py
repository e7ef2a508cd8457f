"""Where in a YAML file something stands, for whoever has to mend it there."""

from __future__ import annotations

import yaml

Where = tuple[str | int, ...]
"""A place in a document: names of members and positions in lists."""


def line_of(node: yaml.Node | None, where: Where) -> int:
    """Return the line of the deepest part of a place that is in the file."""
    line = 1
    for part in where:
        match node:
            case yaml.MappingNode():
                found = next((pair for pair in node.value if pair[0].value == part), None)
                if found is None:
                    break
                line, node = found[0].start_mark.line + 1, found[1]
            case yaml.SequenceNode() if isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                line = node.start_mark.line + 1
            case _:
                break
    return line
