"""Judged mappings: which operations of another API are right for an operation, and where its fields go.

Read strictly, so that a misspelt member of a judgement is found; the product's reader (`evaluate/truth.py`) passes over
what it does not score. Both stay: the scores of the tests are to be none of the product's own.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corrigible.adapters.mapping.mapping import Constant, Equivalence, OperationName

_SHARE = 3
"""One of so many source operations is kept out."""


class Place(BaseModel):
    """An operation of an API that the file names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    path: str

    @property
    def key(self) -> str:
        """Method and path, as `CanonicalOperation.key`."""
        return f"{self.method} {self.path}"


class FieldPair(BaseModel):
    """Where the value of a field goes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    target: str
    conversion: str = ""
    """Empty: as it is. A name of `conversion.CONVERSIONS`, or plain words for what no conversion does."""


class JudgedMapping(BaseModel):
    """One right target."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: Place
    equivalence: Equivalence
    arguments: tuple[FieldPair, ...] = ()
    results: tuple[FieldPair, ...] = ()
    constants: tuple[Constant, ...] = ()
    lost_arguments: tuple[str, ...] = ()
    lost_results: tuple[str, ...] = ()
    judged_arguments: tuple[str, ...] = ()
    """Pointers whose direct children were all judged: what is not listed of them is wrong."""
    judged_results: tuple[str, ...] = ()
    doubtful_arguments: tuple[str, ...] = ()
    """Fields of the source that can be seen in two ways: they, and those below, score only in a listed pair."""
    doubtful_results: tuple[str, ...] = ()


class Trap(BaseModel):
    """A target that looks right and is not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: Place
    why: str


class JudgedOperation(BaseModel):
    """A source operation with all its right targets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: Place
    mappings: tuple[JudgedMapping, ...] = ()
    traps: tuple[Trap, ...] = ()
    why: str = ""
    references: tuple[str, ...] = ()

    @property
    def right(self) -> dict[str, JudgedMapping]:
        """Targets that can do the job, by key; not those that are only related."""
        return {one.target.key: one for one in self.mappings if one.equivalence is not Equivalence.RELATED}


class TruthFile(BaseModel):
    """Judgements of one pair of APIs, in one direction."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["corrigible mapping truth 1"]
    source_api: str
    target_api: str
    split: Literal["tune", "kept_out"] = Field(description="kept_out: never opened by who tunes")
    operations: tuple[JudgedOperation, ...]

    def source(self, operation: JudgedOperation) -> OperationName:
        """Return the full name of a source operation."""
        return OperationName(api=self.source_api, method=operation.source.method, path=operation.source.path)


def split_of(source_api: str, key: str, target_api: str) -> Literal["tune", "kept_out"]:
    """Return the split of a source operation: by its hash, so that nobody chooses."""
    digest = hashlib.sha256(f"{source_api}|{key}|{target_api}".encode()).hexdigest()
    return "kept_out" if int(digest[:8], 16) % _SHARE == 0 else "tune"
