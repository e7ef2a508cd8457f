"""Long files first: a worker keeps a file, and one that starts late makes the others wait for it at the end.

`make test` gives pytest-xdist the files in this order; its own would be by the number of tests.
"""

from __future__ import annotations

from typing import Final

import pytest

LONG: Final[tuple[str, ...]] = (
    "tests/conformance/test_grpc_faults.py",
    "tests/conformance/test_feedback_checks.py",
    "tests/conformance/test_transparency.py",
    "tests/conformance/test_planted_faults.py",
    "tests/proxy/pack_tools/test_export.py",
    "tests/conformance/lift/test_run.py",
    "tests/conformance/test_consumer.py",
    "tests/conformance/test_kubernetes_profile.py",
    "tests/conformance/lift/test_kubernetes_etcd_tasks.py",
    "tests/conformance/test_audit.py",
    "tests/integration/kubernetes/test_webhooks.py",
    "tests/conformance/lift/test_stripe_github_tasks.py",
    "tests/integration/kubernetes/test_sandbox.py",
    "tests/rules/packs/test_cases.py",
    "tests/integration/kubernetes/test_through_the_proxy.py",
    "tests/conformance/test_generated.py",
    "tests/conformance/test_pack_checks.py",
    "tests/proxy/command/test_proxy.py",
    "tests/integration/clients/test_typescript.py",
    "tests/integration/grpc/test_etcdctl.py",
    "tests/proxy/grpc/test_command.py",
    "tests/integration/test_spec_options.py",
    "tests/conformance/lift/test_model_run.py",
    "tests/conformance/test_http2.py",
    "tests/proxy/command/test_demo.py",
    "tests/proxy/core/test_every_edit.py",
    "tests/proxy/grpc/test_transparency.py",
    "tests/conformance/lift/test_serve.py",
    "tests/proxy/mitm/http2/test_pressure.py",
    "tests/proxy/mitm/http2/test_goodbye.py",
    "tests/proxy/mitm/test_worker.py",
    "tests/test_time_limit.py",
)
_PLACES: Final = {file: place for place, file in enumerate(LONG)}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of long files to the front; the others keep their order."""
    items.sort(key=lambda item: _PLACES.get(item.nodeid.partition("::")[0], len(LONG)))
