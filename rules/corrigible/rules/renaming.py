"""Members with the wrong name: the declared one that is meant, or none, and then whether it may be left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from corrigible.schema.exchange import Json, Request

from .breach import Breach, fault
from .derive import Operation, Unfit, guarded
from .function import nearest
from .pointer import MISSING, escape, resolve, segments
from .proposal import Proposal, ask, edit, guards, options

_LIMITING: Final = re.compile(
    r"(?i)(?:^|[_.\-\[]|(?<=[a-z])(?=[A-Z]))(?:amount|sum|total|count|size|quantity|limit|max\w*|min\w*|percent\w*|price|only"
    r"|dry_?run|preview|simulate|validate\w*|test|draft|capture\w*|trial\w*|hold\w*|confirm\w*|force|if|when|where|filter\w*"
    r"|until|after|before|since|from|to|start\w*|end|ends|expir\w*|ttl|schedule\w*|delay\w*|private|visibility|access"
    r"|restrict\w*|read_?only|exclude\w*|except|skip\w*|scope\w*|prevent\w*|require\w*|allow\w*|deny|version|etag|match"
    r"|free|refund\w*|keep\w*|id|ids)(?:$|[_.\-\]\[]|(?=[A-Z]))"
)
"""Words of names that may say how much, when, to whom or whether at all: without such a member a call may do more."""


def undeclared(breach: Breach, request: Request, group: str) -> Proposal | None:
    """Rename an undeclared member to the declared one it is near to, else leave it out where that is harmless."""
    document = request.document()
    value = resolve(document, breach.pointer)
    if value is MISSING:
        return None
    parent, name = _split(breach.pointer)
    present = resolve(document, parent)
    free = [one for one in breach.siblings if not isinstance(present, Mapping) or one not in present]
    near = nearest(name, free)
    if len(near) == 1:
        return _moved(breach, request, breach.pointer, f"{parent}/{escape(near[0])}", value)
    if near:
        moves = [_moved(breach, request, breach.pointer, f"{parent}/{escape(one)}", value) for one in near]
        return options([one for move in moves if move is not None for one in move.suggestions], group)
    return _left_out(breach, request, name, value, group)


def _left_out(breach: Breach, request: Request, name: str, value: Json, group: str) -> Proposal | None:
    try:
        ops = guards(request.document(), breach.pointer, value)
        ops.append({"op": "remove", "path": breach.pointer})
        guarded(request.document(), ops)
    except Unfit:
        return ask(breach, request, "Leave out what is not known.", schema={})
    writes = request.method not in ("GET", "HEAD", "OPTIONS")
    if writes and (request.method == "DELETE" or _LIMITING.search(name) or isinstance(value, bool)):
        message = "Leave out what is not known. The call then takes effect without it."
        said = edit(breach, request, ops, message, changes_intent=True, requires_confirmation=True)
        return options([said], group)
    return Proposal([edit(breach, request, ops, "Leave out what is not known.", changes_intent=True)])


def misspelt(breach: Breach, request: Request, group: str) -> Proposal | None:
    """Return the renaming of a present, undeclared member that can only be the missing one."""
    if not breach.siblings or breach.pointer.startswith("/headers/"):
        return None
    parent, name = _split(breach.pointer)
    present = resolve(request.document(), parent)
    if not isinstance(present, Mapping):
        return None
    free = [one for one in {*breach.siblings, name} if one not in present]
    meant = [one for one in present if one not in breach.siblings and nearest(str(one), free)[:1] == [name]]
    if len(meant) != 1 or len(nearest(str(meant[0]), free)) != 1:
        return None
    source = f"{parent}/{escape(str(meant[0]))}"
    text = request.form or not parent.startswith("/body")
    if fault(present[meant[0]], breach.schema, text=text) is not None:
        return None
    return _moved(breach, request, source, breach.pointer, present[meant[0]])


def _moved(breach: Breach, request: Request, source: str, target: str, value: Json) -> Proposal | None:
    try:
        ops: list[Operation] = guards(request.document(), source, value)
        ops.append({"op": "move", "from": source, "path": target})
        guarded(request.document(), ops)
    except Unfit:
        return None
    return Proposal([edit(breach, request, ops, "Send the value under the name that is known.")])


def _split(pointer: str) -> tuple[str, str]:
    return pointer.rpartition("/")[0], segments(pointer)[-1]
