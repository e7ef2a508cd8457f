"""The Kubernetes adapter."""

from __future__ import annotations

from corrigible.adapters.adapter import Adapter
from corrigible.adapters.formats.kubernetes import KUBERNETES

from .call import calls_of
from .operation import KubernetesOperations
from .review import may_refuse, present

ADAPTER = Adapter(
    name="kubernetes",
    formats=(KUBERNETES,),
    operations=KubernetesOperations(),
    present=present,
    may_refuse=may_refuse,
    placement="kubernetes",
    calls=calls_of,
)
