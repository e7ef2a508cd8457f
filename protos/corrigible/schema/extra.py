"""The packages that are not installed, and the command that installs them: without an extra, only feedback is read.

Knows: the extras of pyproject.toml, a few packages of each, and where this distribution came from.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .exchange import Json

_NAME: Final = "corrigible"

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "proxy": ("google.protobuf", "jsonschema_rs", "orjson", "re2", "yaml"),
    "grpc": ("grpc", "grpc_reflection"),
    "conformance": ("grpc", "hpack", "jinja2", "jsonschema", "openapi_core", "rapidfuzz", "rich", "schemathesis"),
}
"""What the modules of an extra are recognised by."""


class MissingExtra(ModuleNotFoundError):
    """A part of Corrigible is used without its extra."""

    def __init__(self, user: str, extra: str, module: str | None = None) -> None:
        super().__init__(needs(user, extra), name=module)
        self.extra = extra


def needs(user: str, extra: str) -> str:
    """Return the line that names the user of an extra, and how to install the extra."""
    return f"{user} needs: {install_line(extra)}"


@cache
def install_line(extra: str) -> str:
    """Return the command that adds an extra from where this distribution came: a checkout, a wheel, git or an index."""
    import json  # all of these only where something is missing
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        text = distribution(_NAME).read_text("direct_url.json")  # PEP 610; an install from an index has none
    except PackageNotFoundError:
        return _from_folder(Path(__file__).parents[3], extra)  # the source on PYTHONPATH
    origin: Mapping[str, Json] = json.loads(text) if text is not None else {}
    url = str(origin.get("url", ""))
    if not url:
        return f"pip install '{_NAME}[{extra}]'"
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"pip install '{_NAME}[{extra}] @ {vcs['vcs']}+{url}@{vcs['commit_id']}'"
    if not url.startswith("file:"):
        return f"pip install '{_NAME}[{extra}] @ {url}'"
    editable = "--editable " if origin.get("dir_info", {}).get("editable") else ""
    return _from_folder(Path(unquote(urlsplit(url).path)), extra, editable)


def _from_folder(place: Path, extra: str, option: str = "") -> str:
    import shlex

    if place.is_file() or (place / "pyproject.toml").is_file():
        return f"pip install {option}{shlex.quote(f'{place}[{extra}]')}"
    return f"pip install 'PLACE[{extra}]', where PLACE is a checkout or a wheel of Corrigible"


def require(user: str, extra: str) -> None:
    """Raise `MissingExtra` if a package of an extra is not installed. Called where the modules that need it start."""
    if (module := missing_module(extra)) is not None:
        raise MissingExtra(user, extra, module)


@cache
def missing_module(extra: str) -> str | None:
    """Return a module of an extra that is not installed; None if all are."""
    return next((module for module in _MODULES[extra] if not _is_installed(module)), None)


def _is_installed(module: str) -> bool:
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the package around it is missing
        return False
