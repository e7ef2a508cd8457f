"""Every check there is: the rows of `checks.yaml`, with the functions of the modules beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from corrigible.conformance.model.outcome import PROFILES, CouldNotTell
from corrigible.conformance.model.vector import exchange
from corrigible.conformance.model.yaml_file import load_yaml
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.extra import install_line

from . import consumer

FILE: Final = Path(__file__).with_name("checks.yaml")


@dataclass(frozen=True, slots=True)
class Run:
    """The function of a check. Its module is imported when it is asked for: grpcio is an optional dependency."""

    module: str
    function: str
    """Its name, or with `()` that of a function that makes it of the text in there and of the requirements."""
    requirements: tuple[str, ...]

    def __call__(self, subject: Subject) -> Iterator[Finding]:
        ask = self.ask()
        if self.module.startswith("grpc."):
            with import_module(".grpc.call", __package__).calling(subject) as calls:
                yield from ask(calls)
        else:
            yield from ask(subject)

    def ask(self) -> Callable[[Any], Iterable[Finding]]:
        """Return the function. Raises CouldNotTell where a package that it needs is not installed."""
        name, call, argument = self.function.removesuffix(")").partition("(")
        try:
            found: Any = getattr(import_module(f".{self.module}", __package__), name)
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("grpc", "google", "grpc_reflection"):
                raise
            raise CouldNotTell(f"the profile grpc needs grpcio: {install_line('grpc')}") from None
        made: Callable[[Any], Iterable[Finding]] = (
            found(*filter(None, [argument]), *self.requirements) if call else found
        )
        return made


def _vectors() -> Iterator[Check]:
    """Yield one check of each vector of the profiles in which a proxy is judged by the reference API."""
    for profile in ("http-json", "problem+json"):
        for one in exchange(profile):
            run = Run("http.core", f"led({one.id})", one.requirements)
            yield Check(f"vector/{one.id}", one.description, one.requirements, run, frozenset({profile}))


def _rows(group: Any) -> Iterator[Check]:
    profiles, roles = frozenset(group.get("profiles", PROFILES)), frozenset(group["roles"])
    for name, (function, listed, title) in group["checks"].items():
        module, colon, inner = function.partition(":")
        requirements = tuple(listed.split())
        run = Run(module, inner, requirements) if colon else Run(group["module"], function, requirements)
        yield Check(f"{group['prefix']}/{name}", title, requirements, run, profiles, roles)


def _all() -> Iterator[Check]:
    made: dict[str, Callable[[], Iterable[Check]]] = {"vectors": _vectors, "readers": lambda: consumer.CHECKS}
    for group in load_yaml(FILE.read_text("utf-8")):
        yield from made[group]() if isinstance(group, str) else _rows(group)


CHECKS: Final = tuple(_all())
