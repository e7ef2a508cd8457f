"""The numbered requirements that a claim of conformance rests on, and the checks of each.

Knows: requirements.yaml and the document that is made of it. Does not know: how anything is checked.
`python -m corrigible.conformance.suite.requirement` writes SPEC.md again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from corrigible.conformance.model.paths import SUITE
from corrigible.conformance.model.profile import PROFILES, ROLES
from corrigible.conformance.model.usage_error import did_you_mean
from corrigible.conformance.model.yaml_file import Where, read_yaml

from .check import Check

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
class Requirement:
    """One numbered sentence of what a subject must or should do."""

    id: str
    level: str
    keyword: str
    title: str
    text: str
    why: str
    clauses: tuple[str, ...]
    """Of the contract's SPEC.md."""
    profiles: frozenset[str]
    roles: frozenset[str]

    @property
    def must(self) -> bool:
        return self.keyword == "MUST"

    @property
    def anchor(self) -> str:
        """Where SPEC.md has it."""
        return f"SPEC.md#{self.id.lower()}"


@dataclass(frozen=True, slots=True)
class Group:
    """Requirements about one thing."""

    name: str
    title: str
    about: str
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Book:
    """All requirements, in the order of the file."""

    groups: tuple[Group, ...]
    reserved: tuple[Reserved, ...] = ()

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return tuple(one for group in self.groups for one in group.requirements)

    def get(self, id: str) -> Requirement | None:
        return next((one for one in self.requirements if one.id == id.upper()), None)

    def up_to(self, level: str) -> tuple[Requirement, ...]:
        """Return what a claim of this level rests on: its own requirements and those of the levels below."""
        return tuple(one for one in self.requirements if one.level <= level)


_KEYS: Final = (*_Written.model_fields, *_Group.model_fields)


@cache
def book() -> Book:
    """Return the requirements of this suite."""
    return read(FILE)


def read(path: Path) -> Book:
    """Read a file of requirements. Raises UsageError with every mistake and its line."""
    written = read_yaml(path, TypeAdapter(_File), lambda where: _KEYS, _problems)
    return Book(tuple(_group(group) for group in written.groups), written.reserved)


def _group(written: _Group) -> Group:
    return Group(
        written.group,
        written.title,
        written.about,
        tuple(
            Requirement(
                one.id,
                one.level or written.level,
                one.keyword,
                one.title,
                one.text,
                one.why,
                one.clauses,
                frozenset(one.profiles or written.profiles),
                frozenset(one.roles or written.roles),
            )
            for one in written.requirements
        ),
    )


def _problems(written: _File) -> Iterator[tuple[Where, str]]:
    """Yield what is wrong that no single value shows."""
    seen: Counter[str] = Counter()
    for g, group in enumerate(written.groups):
        yield from _unknown(("groups", g), group.profiles, group.roles)
        for r, one in enumerate(group.requirements):
            where = ("groups", g, "requirements", r)
            yield from _unknown(where, one.profiles or (), one.roles or ())
            seen[one.id] += 1
            if seen[one.id] > 1:
                yield (*where, "id"), f"{one.id} is given twice"
            if one.id.split("-")[1] != group.group:
                yield (*where, "id"), f"{one.id} stands in the group {group.group}"
    for r, reserved in enumerate(written.reserved):
        if seen[reserved.id]:
            yield ("reserved", r, "id"), f"{reserved.id} is in use"


def _unknown(where: Where, profiles: Iterable[str], roles: Iterable[str]) -> Iterator[tuple[Where, str]]:
    for key, names, known in (("profiles", profiles, PROFILES), ("roles", roles, ROLES)):
        for name in names:
            if name not in known:
                yield (*where, key), f'no {key.removesuffix("s")} is called "{name}"{did_you_mean(name, known)}'


# traceability


@dataclass(frozen=True, slots=True)
class Traced:
    """One requirement and the checks that hold it, by id."""

    requirement: Requirement
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Traceability:
    """Every requirement with its checks, and every check that names something nobody requires."""

    rows: tuple[Traced, ...]
    strangers: tuple[tuple[str, str], ...]
    """Check and the id it names."""
    misplaced: tuple[tuple[str, str], ...] = ()
    """Check and requirement that have no role in common, or no profile."""

    @property
    def unheld(self) -> tuple[Requirement, ...]:
        """MUSTs that no check holds."""
        return tuple(row.requirement for row in self.rows if row.requirement.must and not row.checks)


def traceability(checks: Iterable[Check], requirements: Sequence[Requirement] | None = None) -> Traceability:
    """Return which checks hold which requirement. By default the requirements are those of this suite."""
    known = {one.id: one for one in (book().requirements if requirements is None else requirements)}
    held: dict[str, list[str]] = {id: [] for id in known}
    strangers: list[tuple[str, str]] = []
    misplaced: list[tuple[str, str]] = []
    for check in checks:
        for id in check.requirements:
            if id not in known:
                strangers.append((check.id, id))
                continue
            held[id].append(check.id)
            if not (check.roles & known[id].roles and check.profiles & known[id].profiles):
                misplaced.append((check.id, id))
    rows = tuple(Traced(one, tuple(held[id])) for id, one in known.items())
    return Traceability(rows, tuple(strangers), tuple(misplaced))


def traceability_table(traced: Traceability) -> str:
    """Return the table as Markdown: requirement, keyword, level, clauses, checks."""
    lines = ["| requirement | | level | clauses | checks |", "|---|---|---|---|---|"]
    for row in traced.rows:
        one = row.requirement
        checks = ", ".join(f"`{id}`" for id in row.checks) or ("**none**" if one.must else "none")
        link = f"[{one.id}]({one.anchor}) {one.title}"
        lines.append(f"| {link} | {one.keyword} | {one.level} | {', '.join(one.clauses)} | {checks} |")
    return "\n".join(lines) + "\n"


# the document


def render(held: Book) -> str:
    """Return the text of SPEC.md."""
    all_of_them = held.requirements
    musts = sum(one.must for one in all_of_them)
    out = [
        "<!-- Written by `python -m corrigible.conformance.suite.requirement` from requirements.yaml. -->",
        "",
        "# What conforms to the Self-Reflective API Schema v0.1",
        "",
        f"{len(all_of_them)} requirements, {musts} MUST and {len(all_of_them) - musts} SHOULD, as in RFC 2119. "
        f"Numbers in brackets are clauses of the contract, `{CONTRACT}`.",
        "",
        "A claim names a level and the profiles it was judged in, for example *SRF 0.1 L2, http-json and grpc*. A "
        "level rests on its own requirements and those below it.",
        "",
        "| level | name | MUST | SHOULD |",
        "|---|---|---|---|",
    ]
    for level in LEVELS:
        mine = [one.must for one in all_of_them if one.level == level]
        out.append(f"| {level} | {LEVEL_NAMES[level]} | {sum(mine)} | {len(mine) - sum(mine)} |")
    out += ["", f"Profiles: {', '.join(PROFILES)}. Roles: {', '.join(ROLES)}.", ""]
    out += ["| group | about |", "|---|---|"]
    out += [f"| [{group.name}](#{_slug(group)}) | {group.about} |" for group in held.groups]
    for group in held.groups:
        out += ["", f"## {group.name}: {group.title}", "", group.about]
        for one in group.requirements:
            out += ["", f'<a id="{one.id.lower()}"></a>', f"### {one.id} {one.title}", "", _facts(one), "", one.text]
            out += ["", f"*Why:* {one.why}"]
    out += ["", "## Reserved", "", "Numbers that are taken and not yet required."]
    for reserved in held.reserved:
        out += ["", f'<a id="{reserved.id.lower()}"></a>', f"### {reserved.id}", "", reserved.note]
    return "\n".join(out) + "\n"


def _slug(group: Group) -> str:
    return f"{group.name}: {group.title}".lower().replace(":", "").replace("+", "").replace(" ", "-")


def _facts(one: Requirement) -> str:
    clauses = f" · [{', '.join(one.clauses)}]" if one.clauses else ""
    return f"**{one.keyword}** · {one.level} · {_named(one.roles, ROLES)} · {_named(one.profiles, PROFILES)}{clauses}"


def _named(names: frozenset[str], known: Sequence[str]) -> str:
    if names == frozenset(known):
        return f"every {'profile' if known is PROFILES else 'role'}"
    return ", ".join(name for name in known if name in names)


if __name__ == "__main__":
    DOCUMENT.write_text(render(read(FILE)), encoding="utf-8")
