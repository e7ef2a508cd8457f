"""The target of a run, as the options of `check` and `replay` and the config file give it."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final, cast

from corrigible.conformance.audit.subject import digest
from corrigible.conformance.checks.http.generated_request import load as load_description
from corrigible.conformance.command import several
from corrigible.conformance.model.outcome import PROFILES, ROLES, Role, UsageError, did_you_mean
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.suite.config import Config, SubjectConfig, load
from corrigible.conformance.suite.fixture import SubjectSpec
from corrigible.conformance.suite.record import Clause, Header, JudgedProfile
from corrigible.conformance.suite.requirement import LEVELS, book
from corrigible.conformance.suite.runner import Chosen
from corrigible.conformance.transport.process import search_path
from corrigible.schema.exchange import Json

OWN: Final = {name: SUITE / f"{name}.yaml" for name in ("corrigible", "corrigible-envoy")}
"""The configs for our own proxy, on each engine."""


@dataclass(frozen=True, slots=True)
class RunTarget:
    """The subjects of a run, and the level up to which they are checked."""

    specs: tuple[SubjectSpec, ...]
    config: Config
    level: str
    seed: int
    packs: Mapping[str, str]
    given: str | None
    """The subject as the options name it."""
    folder: Path | None
    options: str

    def subject(self) -> str:
        """Return the subject's name, with its version where the config has a command for it."""
        subject_name = None if self.given else self.config.subject
        if subject_name is None:
            return self.given or "a subject without a name"
        return subject_name.replace(
            "{version}", _version(self.config.version, self.folder) if self.config.version else ""
        )

    def head(self, chosen: Iterable[Chosen], everything: Sequence[Chosen], *, strict: bool = False) -> Header:
        """Return the first line of a record: the subjects that are checked, and what a level would rest on."""
        pairs = list(chosen)
        specs = dict.fromkeys(id(spec) for spec, _ in pairs)
        listed = list(book().up_to(self.level))
        return Header(
            suite=version("corrigible"),
            subject=self.subject(),
            level=self.level,
            judged=[
                JudgedProfile(
                    profile=spec.profile,
                    about=spec.about,
                    role=spec.role,
                    reached=spec.reached,
                    due=_due(spec, everything, listed),
                )
                for spec in self.specs
                if id(spec) in specs
            ],
            seed=self.seed,
            strict=strict,
            options=self.options,
            selected=len(pairs) < len(everything),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            packs=dict(self.packs),
            clauses=listed,
        )

    def clauses(self) -> dict[str, Clause]:
        """Return the requirements of the level by id."""
        return {clause.id: clause for clause in book().up_to(self.level)}


def _due(spec: SubjectSpec, everything: Iterable[Chosen], listed: Iterable[Clause]) -> list[str]:
    """Return the MUSTs that are checked for a subject: its role and profile decide, and no config."""
    checked = {id for other, check in everything if other is spec for id in check.requirements}
    return [
        clause.id for clause in listed if clause.must and clause.id in checked and clause.about(spec.profile, spec.role)
    ]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--target", metavar="URL", help="a running HTTP subject: http://host:port")
    parser.add_argument("--grpc", metavar="HOST:PORT", help="a running gRPC subject")
    parser.add_argument(
        "--upstream-listen",
        metavar="HOST:PORT",
        help="where a running proxy expects its upstream; the suite's upstream listens there; sets role proxy",
    )
    parser.add_argument("--role", metavar="|".join(ROLES), help="default: from the config or the other options")
    parser.add_argument("--level", metavar="|".join(LEVELS), help="check requirements up to this level; default: L3")
    parser.add_argument(
        "--profile", metavar="NAME,...", help=f"any of {', '.join(PROFILES)}; default: all that the config has"
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="how to start the subject in each profile; `corrigible` and `corrigible-envoy`: the configs of this "
        "project's proxy",
    )
    parser.add_argument("--consumer", metavar="COMMAND", help="command of a reader that takes requests on stdin")
    several(parser, "--pack", metavar="NAME_OR_PATH", help="a rule pack; may be repeated")
    parser.add_argument(
        "--spec",
        metavar="FILE",
        help="the API's OpenAPI description: suggestions are checked against it, and a producer gets invalid requests "
        "generated from it",
    )
    parser.add_argument("--requests", metavar="N", type=int, help="maximum number of generated requests; default: 200")
    parser.add_argument(
        "--rate", metavar="N", type=float, help="maximum number of generated requests per second; default: 50"
    )
    parser.add_argument(
        "--unsafe",
        action="store_true",
        help="also generate PUT, PATCH and DELETE, and send corrected writes: only for an API whose data may be lost",
    )
    several(
        parser,
        "--header",
        metavar="'NAME: VALUE'",
        help="header of every generated request, such as credentials; may be repeated",
    )
    parser.add_argument("--seed", metavar="N", type=int, help="seed of the random choices; default: 0")


def read(args: argparse.Namespace) -> RunTarget:
    """Return the target. Raises UsageError for options that contradict each other."""
    path = OWN.get(args.config) or Path(args.config) if args.config else None
    config = load(path) if path is not None else Config()
    role = _choice("role", args.role, ROLES)
    level = _choice("level", args.level, LEVELS) or config.level or "L3"
    seed = args.seed if args.seed is not None else config.seed or 0
    folder = path.absolute().parent if path is not None else None
    if role is None and args.consumer:
        role = "consumer"
    if role is None and args.pack:
        role = "pack"
    names = [name.strip() for name in (args.profile or "").split(",") if name.strip()]
    profiles = list(dict.fromkeys(_choice("profile", name, PROFILES) or "" for name in names))
    specs: list[SubjectSpec] = []
    settings = dict(config.settings)
    if args.spec:
        settings["spec"] = str(Path(args.spec).absolute())
        load_description(Path(args.spec))
    settings |= _of_generated(args, settings)
    configured = [_found(pack, folder) for pack in config.packs]
    whole = partial(SubjectSpec, settings=settings, seed=seed)
    match role:
        case "consumer":
            command = args.consumer or config.consumer
            if not command:
                raise UsageError('a consumer is a command: give --consumer "COMMAND", or `consumer:` in the config')
            folder = None if args.consumer else folder
            for profile in profiles or ["http-json"]:
                about = "reader" if profile == "http-json" else f"reader of {profile}"
                specs.append(whole(profile, "consumer", SubjectConfig(consumer=command), about, folder=folder))
        case "pack":
            if not (packs_judged := args.pack or configured):
                raise UsageError("nothing to judge: give --pack NAME_OR_PATH, or `packs:` in the config")
            for pack in packs_judged:
                about = f"pack {Path(pack).name}"
                specs.append(whole("http-json", "pack", SubjectConfig(pack=pack), about, folder=folder))
        case _:
            specs = list(_reached(args, config, profiles, cast("Role | None", role), settings, seed, folder))
    if not specs:
        raise UsageError("nothing to judge: give --target URL, --grpc HOST:PORT, --consumer, --pack, or --config FILE")
    packs = _digests([*configured, *args.pack])
    address = args.target or args.grpc or args.consumer or ", ".join(args.pack) or None
    return RunTarget(tuple(specs), config, level, seed, packs, address, folder, _options(args))


def _reached(
    args: argparse.Namespace,
    config: Config,
    profiles: list[str],
    role: Role | None,
    settings: Mapping[str, Json],
    seed: int,
    folder: Path | None,
) -> Iterable[SubjectSpec]:
    named_profiles = ["http-json"] * bool(args.target) + ["grpc"] * bool(args.grpc)
    for profile in profiles or named_profiles or list(config.subjects):
        configured_subject = config.subjects.get(profile)
        over_grpc = profile == "grpc"
        address = {"grpc": args.grpc} if over_grpc else {"target": args.target}
        changed = {name: value for name, value in {**address, "upstream_listen": args.upstream_listen}.items() if value}
        if configured_subject is None and not changed.get("grpc" if over_grpc else "target"):
            listed_subjects = f" (it has {', '.join(config.subjects)})" if config.subjects else ""
            option = "--grpc HOST:PORT" if over_grpc else "--target URL"
            raise UsageError(f"{profile}: nothing says how to reach it{listed_subjects}: give {option}, or a config")
        subject_config = (configured_subject or SubjectConfig()).model_copy(update=changed)
        if changed.get("target") or changed.get("grpc"):
            subject_config = subject_config.model_copy(update={"start": None})
        own = subject_config.role or role or _role_of(subject_config)
        if role is not None and own != role:
            if profiles:
                raise UsageError(f"{profile}: its role is {own}, as the config says: --role {role} does not fit")
            continue
        yield SubjectSpec(
            profile,
            own,
            subject_config,
            settings=_with_spec(settings, subject_config, folder),
            seed=seed,
            folder=folder,
        )


def _with_spec(settings: Mapping[str, Json], config: SubjectConfig, folder: Path | None) -> Mapping[str, Json]:
    """Return settings with the description that the config names for one subject; an option goes before it."""
    if config.spec is None or "spec" in settings:
        return settings
    path = (folder or Path()) / config.spec.replace("{suite}", str(SUITE))
    load_description(path)
    return {**settings, "spec": str(path)}


def _of_generated(args: argparse.Namespace, settings: Mapping[str, Json]) -> dict[str, Json]:
    """Return the settings of requests that are made from a description."""
    generated = settings.get("generated")
    generated_settings: dict[str, Json] = dict(generated) if isinstance(generated, Mapping) else {}
    for name in ("requests", "rate"):
        if (number := getattr(args, name)) is not None:
            if number <= 0:
                raise UsageError(f"--{name} {number:g}: a number above 0")
            generated_settings[name] = number
    if args.unsafe:
        generated_settings["unsafe"] = True
    headers = headers_of(args.header)
    return {
        **({"generated": generated_settings} if generated_settings else {}),
        **({"headers": headers} if headers else {}),
    }


def headers_of(arguments: Iterable[str]) -> dict[str, str]:
    """Read `NAME: VALUE`. Raises UsageError."""
    headers: dict[str, str] = {}
    for header in arguments:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise UsageError("--header: not 'NAME: VALUE'")
        headers[name.strip()] = value.strip()
    return headers


def _role_of(config: SubjectConfig) -> Role:
    """The role that follows from how it is reached: who is told of an upstream is a proxy."""
    return "proxy" if config.upstream_listen or "{upstream}" in (config.start or "") else "producer"


def _choice(option: str, word: str | None, choices: Iterable[str]) -> str | None:
    names = tuple(choices)
    if word is None or word in names:
        return word
    raise UsageError(f'--{option}: no {option} is called "{word}"{did_you_mean(word, names)} ({", ".join(names)})')


def _options(args: argparse.Namespace) -> str:
    """Return the options about the subject as they could be given again."""
    names = ("config", "target", "grpc", "upstream_listen", "role", "level", "consumer", "spec", "seed")
    values = [(name, getattr(args, name)) for name in (*names, "requests", "rate")]
    values += [("pack", pack) for pack in args.pack]
    words = [
        word for name, value in values if value is not None for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    headers = [f"{name}: ..." for name in headers_of(args.header)]  # they may be credentials: values stay out
    words += [word for header in headers for word in ("--header", header)]
    return shlex.join([*words, *(["--unsafe"] if args.unsafe else [])])


def _version(command: str, folder: Path | None) -> str:
    """The first line of what a command says; a subject that cannot tell its version is judged all the same."""
    try:
        name, *rest = shlex.split(command)
        program = shutil.which(name, path=search_path()) or name
        completed = subprocess.run([program, *rest], capture_output=True, text=True, timeout=30, check=True, cwd=folder)
    except (OSError, ValueError, subprocess.SubprocessError):
        return "of unknown version"
    return (completed.stdout.strip().splitlines() or ["of unknown version"])[0].split()[-1]


def _found(pack: str, folder: Path | None) -> str:
    """Return where a pack of a config file is: beside that file, if there is such a folder; else it is a name."""
    path = (folder or Path()) / pack.replace("{suite}", str(SUITE))
    return str(path) if path.is_dir() else pack


def _digests(packs: Iterable[str]) -> dict[str, str]:
    """Return the digest of every pack that is a folder; one that is known by name only says so."""
    return {pack: f"sha256:{digest(Path(pack))}" if Path(pack).is_dir() else "by name" for pack in packs}
