"""The numbered requirements that a claim of conformance rests on, and the checks of each.

Knows: requirements.yaml and the document that is made of it. Does not know: how anything is checked.
`python -m corrigible.conformance.suite.requirement` writes SPEC.md again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from corrigible.conformance.model.outcome import PROFILES, ROLES, did_you_mean
from corrigible.conformance.model.yaml_file import SUITE, Where, read_yaml
from corrigible.conformance.suite.record import Clause
from corrigible.conformance.suite.subject import Check

LEVELS: Final = ("L0", "L1", "L2", "L3")
LEVEL_NAMES: Final = {"L0": "Transparent", "L1": "Core", "L2": "Operational", "L3": "Trusted"}
FILE: Final = SUITE / "requirements.yaml"
DOCUMENT: Final = SUITE / "SPEC.md"
CONTRACT: Final = "corrigible/schema/SPEC.md"

Sentence = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[str, ...], Field(min_length=1)]
Level = Literal["L0", "L1", "L2", "L3"]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Written(_Entry):
    """A requirement as the file has it: what it leaves out, its group says."""

    id: Annotated[str, Field(pattern=r"^SRF-[A-Z0-9]{3}-\d{2}$")]
    keyword: Literal["MUST", "SHOULD"]
    title: Sentence
    text: Sentence
    why: Sentence
    clauses: tuple[Annotated[str, Field(pattern=r"^\d+\.\d+$")], ...] = ()
    level: Level | None = None
    profiles: Names | None = None
    roles: Names | None = None


class _Group(_Entry):
    group: Annotated[str, Field(pattern=r"^[A-Z0-9]{3}$")]
    title: Sentence
    about: Sentence
    level: Level
    profiles: Names
    roles: Names
    requirements: Annotated[tuple[_Written, ...], Field(min_length=1)]


class Reserved(_Entry):
    """An id that no check may use, and why."""

    id: str
    note: Sentence


class _File(_Entry):
    groups: tuple[_Group, ...]
    reserved: tuple[Reserved, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Requirements about one thing."""

    name: str
    title: str
    about: str
    requirements: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Book:
    """All requirements, in the order of the file."""

    groups: tuple[Group, ...]
    reserved: tuple[Reserved, ...] = ()

    @property
    def requirements(self) -> tuple[Clause, ...]:
        return tuple(requirement for group in self.groups for requirement in group.requirements)

    def get(self, id: str) -> Clause | None:
        return next((requirement for requirement in self.requirements if requirement.id == id.upper()), None)

    def up_to(self, level: str) -> tuple[Clause, ...]:
        """Return what a claim of this level rests on: its own requirements and those of the levels below."""
        return tuple(requirement for requirement in self.requirements if requirement.level <= level)


_KEYS: Final = (*_Written.model_fields, *_Group.model_fields)


@cache
def book() -> Book:
    """Return the requirements of this suite."""
    return read(FILE)


def read(path: Path) -> Book:
    """Read a file of requirements. Raises UsageError with every mistake and its line."""
    document = read_yaml(path, TypeAdapter(_File), lambda path: _KEYS, _problems)
    return Book(tuple(_group(group) for group in document.groups), document.reserved)


def _group(group: _Group) -> Group:
    requirements = (
        Clause(
            id=entry.id,
            level=entry.level or group.level,
            must=entry.keyword == "MUST",
            title=entry.title,
            text=entry.text,
            why=entry.why,
            group=group.title,
            where=f"SPEC.md#{entry.id.lower()}",
            profiles=sorted(entry.profiles or group.profiles),
            roles=sorted(entry.roles or group.roles),
            numbers=entry.clauses,
        )
        for entry in group.requirements
    )
    return Group(group.group, group.title, group.about, tuple(requirements))


def _problems(document: _File) -> Iterator[tuple[Where, str]]:
    """Yield what is wrong that no single value shows."""
    counts: Counter[str] = Counter()
    for g, group in enumerate(document.groups):
        yield from _unknown(("groups", g), group.profiles, group.roles)
        for r, requirement in enumerate(group.requirements):
            path = ("groups", g, "requirements", r)
            yield from _unknown(path, requirement.profiles or (), requirement.roles or ())
            counts[requirement.id] += 1
            if counts[requirement.id] > 1:
                yield (*path, "id"), f"{requirement.id} is given twice"
            if requirement.id.split("-")[1] != group.group:
                yield (*path, "id"), f"{requirement.id} stands in the group {group.group}"
    for r, reserved in enumerate(document.reserved):
        if counts[reserved.id]:
            yield ("reserved", r, "id"), f"{reserved.id} is in use"


def _unknown(path: Where, profiles: Iterable[str], roles: Iterable[str]) -> Iterator[tuple[Where, str]]:
    for key, names, known_names in (("profiles", profiles, PROFILES), ("roles", roles, ROLES)):
        for name in names:
            if name not in known_names:
                yield (*path, key), f'no {key.removesuffix("s")} is called "{name}"{did_you_mean(name, known_names)}'


# traceability


@dataclass(frozen=True, slots=True)
class Traced:
    """One requirement and the checks that hold it, by id."""

    requirement: Clause
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Traceability:
    """Every requirement with its checks, and every check that names something nobody requires."""

    rows: tuple[Traced, ...]
    unknown_ids: tuple[tuple[str, str], ...]
    """Check and the id it names."""
    misplaced: tuple[tuple[str, str], ...] = ()
    """Check and requirement that have no role in common, or no profile."""

    @property
    def unchecked(self) -> tuple[Clause, ...]:
        """MUSTs that no check holds."""
        return tuple(row.requirement for row in self.rows if row.requirement.must and not row.checks)


def traceability(checks: Iterable[Check], requirements: Sequence[Clause] | None = None) -> Traceability:
    """Return which checks hold which requirement. By default the requirements are those of this suite."""
    by_id = {
        requirement.id: requirement for requirement in (book().requirements if requirements is None else requirements)
    }
    checks_by_id: dict[str, list[str]] = {id: [] for id in by_id}
    strangers: list[tuple[str, str]] = []
    misplaced: list[tuple[str, str]] = []
    for check in checks:
        for id in check.requirements:
            if id not in by_id:
                strangers.append((check.id, id))
                continue
            checks_by_id[id].append(check.id)
            if not (check.roles.intersection(by_id[id].roles) and check.profiles.intersection(by_id[id].profiles)):
                misplaced.append((check.id, id))
    rows = tuple(Traced(requirement, tuple(checks_by_id[id])) for id, requirement in by_id.items())
    return Traceability(rows, tuple(strangers), tuple(misplaced))


# the document


def rendered(
    template: str, filters: Mapping[str, Callable[..., object]], *, escaped: bool = False, **context: object
) -> str:
    """Return a text of the suite, by the path of its template. `escaped`: each text that is put into it, as in HTML."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(SUITE),
        autoescape=escaped,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template).render(context)


def render(book: Book) -> str:
    """Return the text of SPEC.md."""
    return rendered(
        "suite/SPEC.md.jinja",
        {"slug": _slug, "named": named},
        book=book,
        all=book.requirements,
        levels=LEVEL_NAMES,
        profiles=PROFILES,
        roles=ROLES,
        contract=CONTRACT,
    )


def _slug(group: Group) -> str:
    return f"{group.name}: {group.title}".lower().replace(":", "").replace("+", "").replace(" ", "-")


def named(names: Sequence[str], all_names: Sequence[str]) -> str:
    """Return names of profiles or of roles for people."""
    if set(names) == set(all_names):
        return f"every {'profile' if all_names is PROFILES else 'role'}"
    return ", ".join(name for name in all_names if name in names)


if __name__ == "__main__":
    DOCUMENT.write_text(render(read(FILE)), encoding="utf-8")
