"""The shapes of errors in JSON: which members hold the text, the place, the code and further errors.

They are the lists of `shapes.toml`, which says what each list is. Names are as `fold` writes them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple

TABLES: Final[Mapping[str, Any]] = tomllib.loads(files(__package__).joinpath("shapes.toml").read_text("utf-8"))


def names(table: str) -> tuple[str, ...]:
    """Return the names of a list, in its order."""
    return tuple(TABLES["names"][table].split())


def by_name(table: str) -> dict[str, str]:
    """Return what each name of a table stands for: the table has the names by that."""
    return {name: target for target, listed in TABLES[table].items() for name in listed.split()}


class Source(NamedTuple):
    """Where the object of an error has its place."""

    member: str
    is_object: bool = False
    is_beside_text: bool = False
    may_be_the_route: bool = False
    whole_if_empty: bool = False


TEXTS: Final = names("texts")
TEXTS_BESIDE: Final = names("texts_beside")
SENTENCES: Final = frozenset(names("sentences"))
TEXTS_BY_CODE: Final = "constraints"
"""The member in which class-validator has its texts by their codes."""
CODES: Final = names("codes")
PLACES: Final = tuple(Source(**{**row, "member": name}) for row in TABLES["places"] for name in row["member"].split())
PLACES_OF_CODES: Final[Mapping[str, str]] = TABLES["places_of_codes"]
IN_OBJECTS: Final = by_name("in_objects")
IN_ELEMENTS: Final = names("in_elements")
EXACT: Final = tuple(map(frozenset, (("keyword", "instancepath"), ("keyword", "datapath"), ("loc", "msg", "type"))))
"""Names that the objects of Ajv and pydantic have: what else stands in them was sent, and is no error."""
FURTHER_STEPS: Final = names("further_steps")
LISTED_PLACES: Final = names("listed_places")
PARTS: Final = names("parts")
LISTS: Final = frozenset(names("lists"))
MAPS: Final = frozenset(names("maps"))
WHOLE: Final = frozenset(("", *names("whole")))
NODES: Final = frozenset(names("nodes"))
LEAVES: Final = frozenset(names("leaves"))
RELATIVE: Final = frozenset(names("relative"))
NO_ERRORS: Final = frozenset(names("no_errors"))
ABOUT_THE_ANSWER: Final = frozenset(names("about_the_answer"))
OF_ERRORS: Final = frozenset(names("of_errors"))
OF_ONE: Final = frozenset(names("of_one"))
GRADES: Final = names("grades")
NOTES: Final = frozenset(names("notes"))
WITH_MEMBERS: Final = frozenset(names("with_members"))
ROLES: Final = by_name("roles")
ROLES_OF_NUMBERS: Final = by_name("roles_of_numbers")
CONFLICTS: Final = names("conflicts")
ADVICE: Final = tuple(TABLES["phrases"]["advice"])
COMPLAINTS: Final = tuple(TABLES["phrases"]["complaints"])
DETERMINERS: Final = frozenset(names("determiners"))
WITHOUT_SUBJECT: Final = frozenset(names("without_subject"))
OF_PART: Final = re.compile(
    r"(?i)(?:invalid|bad|wrong|malformed) (?:request )?(?P<part>query|path|header|body)"
    r"(?:[ -]?string)?(?: param(?:eter)?s?| arguments?| fields?)?\W*"
)
"""A sentence that says no more than which part of the request the errors listed beside it are about."""
