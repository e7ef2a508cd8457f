"""What `import corrigible.schema` gives, and what it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import corrigible.schema


def test_all_is_sorted_and_complete() -> None:
    all_names = corrigible.schema.__all__
    assert [name for name in all_names if not hasattr(corrigible.schema, name)] == []
    eager = {
        name
        for name, value in vars(corrigible.schema).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    } - {"annotations", "TYPE_CHECKING", "import_module"}
    assert eager == set(all_names)
    typed = ast.parse(Path(corrigible.schema.__file__).read_text("utf-8"))
    imported = {
        alias.name
        for node in ast.walk(typed)
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert imported == set(all_names)
    constants = [name for name in corrigible.schema.__all__ if name.isupper()]
    classes = [name for name in corrigible.schema.__all__ if name[0].isupper() and not name.isupper()]
    functions = [name for name in corrigible.schema.__all__ if name[0].islower()]
    assert corrigible.schema.__all__ == [*sorted(constants), *sorted(classes), *sorted(functions)]


def test_nobody_pays_for_protobuf_or_jsonschema_who_does_not_use_them() -> None:
    code = (
        "import sys; from corrigible.schema.exchange import Request; import corrigible.schema as s; "
        "s.apply({'suggestions': [{'action': 'MODIFY_PARAMS', 'parameters': {'a': 1}}]}, Request('POST', '/x')); "
        "print(sorted(m for m in sys.modules if m in ('google.protobuf', 'jsonschema', 'httpx', 'mitmproxy')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_nobody_pays_for_the_models_who_only_needs_an_exchange() -> None:
    code = "import sys; from corrigible.schema import Exchange; print('pydantic' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Feedbak'"):
        corrigible.schema.Feedbak  # noqa: B018  the access is the test
