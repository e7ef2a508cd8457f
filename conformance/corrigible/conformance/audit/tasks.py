"""Task files: the texts that an agent gets before it starts, and the answers that the author knows.

A file is YAML or JSON: `{tasks: [...]}` or a list. Of a task, and of the file as a whole, this is read:

  prompt, about, description, goal, instructions, hints,
  success, success_criteria, success_criterion   what an agent sees: texts, or lists and maps of them
  name, title    so is the name, where one of those is there; `shown: [members]` says otherwise
  request        what the agent sends, or is given to send: nothing that it holds is an answer
  domain         of the whole file: its tasks are `conformance lift`'s, and this is its pack's name. An agent sees
                 `about` and `prompt`, never `success`; `facts` are what a prompt states since no answer could tell it
  final, fixes, names    answers: the last request, values, texts that only the feedback may name
  paraphrases    other words that give an answer away
  pack, api      whose fixes to look for; default: those of the pack with the domain's or folder's name, else of all;
                 of a domain without a pack there are none but its `paraphrases`

`{name}` in a value stands for something that is only known when a task runs, and is not searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.model.yaml_file import load_yaml
from corrigible.schema.exchange import Json

from .subject import AuditSubject, SearchScope, digest, leaves
from .text import Text
from .value import Fix, KnownValues, as_number, distinct, scalars

TOLD: Final = (
    *("prompt", "about", "description", "goal", "instructions", "hints"),
    *("success", "success_criteria", "success_criterion"),
)
NAMES: Final = ("name", "title")
_LIFT: Final = ("about", "prompt")
_SAVED = re.compile(r"\{[\w.]+\}")


def task_file(path: Path, packs: Sequence[AuditSubject]) -> AuditSubject:
    """Read a file of tasks. Raises UsageError where it is none."""
    try:
        document = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"{path}: {getattr(problem, 'strerror', None) or problem}") from None
    except yaml.YAMLError as problem:
        raise UsageError(f"{path}: no YAML: {problem}") from None
    file_members = document if isinstance(document, Mapping) else {}
    tasks = file_members.get("tasks") if isinstance(document, Mapping) else document
    if not isinstance(tasks, list) or not all(isinstance(task, Mapping) for task in tasks):
        raise UsageError(f"{path}: no tasks: expected a list of maps, or one under `tasks`")
    subject = AuditSubject("tasks", f"{path.absolute().parent.name}/{path.name}", digest(path))
    pool = _pool(file_members, path, packs)
    visible = 0
    for number, task in enumerate(tasks):
        name = str(task.get("id") or task.get("name") or number)
        known_values = KnownValues(
            task.get("request"), file_members.get("headers"), task.get("facts") if "domain" in file_members else None
        )
        texts = tuple(_texts(file_members, task, f"{subject.name} {name}", known_values))
        visible += bool(texts)
        own_fixes = (
            *_answers(file_members, subject.name, KnownValues()),
            *_answers(task, f"{subject.name} {name}", known_values),
        )
        # Of numbers that some case of a pack needed only those that its rules and tables hold are answers elsewhere.
        subject.scopes.append(SearchScope(texts, distinct([*own_fixes, *pool])))
    subject.facts = {"tasks": len(tasks), "with a text that an agent sees": visible}
    return subject


def _pool(whole: Mapping[str, Json], path: Path, packs: Sequence[AuditSubject]) -> tuple[Fix, ...]:
    api = str(whole.get("pack") or whole.get("api") or whole.get("domain") or path.absolute().parent.name)
    candidates = [pack for pack in packs if pack.name.partition(" ")[0] == api]
    if not candidates and "domain" not in whole:  # of a domain without a pack nothing is known but its paraphrases
        candidates = list(packs)
    return tuple(
        fix
        for pack in candidates
        for fix in pack.pool
        if fix.source not in ("feedback", "ratio") or as_number(fix.value) is None
    )


def _texts(
    whole: Mapping[str, Json], task: Mapping[str, Json], place: str, known_values: KnownValues
) -> Iterator[Text]:
    members = task.get("shown") or whole.get("shown") or (list(_LIFT) if "domain" in whole else None)
    visible = tuple(map(str, members)) if isinstance(members, list) else TOLD
    if not isinstance(members, list) and any(member in task for member in TOLD):
        visible = (*NAMES, *TOLD)
    for source in (whole, task):
        for member in visible:
            if source is whole and (member in NAMES or member == "description"):
                continue  # of the file, for its readers
            for pointer, value in leaves(source.get(member)):
                yield Text(str(value), _channel(member), "ours", f"{place} /{member}{pointer}", "", known_values)


def _channel(member: str) -> str:
    return "success criteria" if member.startswith("success") else "prompt"


def _answers(task: Mapping[str, Json], place: str, known_values: KnownValues) -> Iterator[Fix]:
    for member in ("final", "fixes", "names"):
        for name, value in scalars(task.get(member), "" if member != "final" else member):
            plain = _SAVED.sub("", str(value)).strip()
            if plain and plain == str(value) and value not in known_values:
                yield Fix(value, "task", place, name, frozenset({name.lower().removesuffix("s")}))
    for _, phrase in scalars(task.get("paraphrases")):
        yield Fix(phrase, "paraphrase", place)
