"""The Kubernetes adapter."""

from __future__ import annotations

from corrigible.adapters.base import Adapter

from .admission_review import may_refuse, present
from .api_call import calls_of
from .format import KUBERNETES
from .operations import KubernetesOperations

ADAPTER = Adapter(
    name="kubernetes",
    formats=(KUBERNETES,),
    operations=KubernetesOperations(),
    unwrap=present,
    may_refuse=may_refuse,
    placement="kubernetes",
    calls=calls_of,
)
