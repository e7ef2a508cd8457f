"""What `import corrigible.schema` gives, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import corrigible.schema


def test_all_is_sorted_and_complete() -> None:
    public = {
        name
        for name, value in vars(corrigible.schema).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    assert set(corrigible.schema.__all__) == public
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
