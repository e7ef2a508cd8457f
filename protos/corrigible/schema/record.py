"""Records: frozen to who reads the code and to the type checker, cheap to make for who runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Make a frozen dataclass with slots, for what is made for each exchange.

    That nothing assigns to it is what mypy says, not the interpreter: a guard at run time makes an instance of eight
    fields cost six times as much (1.2 for 0.2 microseconds).
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
