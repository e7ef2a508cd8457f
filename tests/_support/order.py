"""In which order tests run: at random, by a seed that is told again where something failed, and long files first.

A worker keeps a file, and a long one that starts late makes the others wait for it at the end. `make test` gives
pytest-xdist the files in this order; its own would be by the number of tests. The seed is that of pytest-randomly.
"""

from __future__ import annotations

from typing import Final

import pytest

LONG: Final[tuple[str, ...]] = (
    "tests/strangers/test_gates.py",
    "tests/conformance/lift/test_run.py",
    "tests/integration/clients/test_typescript.py",
    "tests/conformance/test_planted_faults.py",
    "tests/conformance/test_feedback_checks.py",
    "tests/conformance/test_generated.py",
    "tests/conformance/test_consumer.py",
    "tests/conformance/test_kubernetes_profile.py",
    "tests/conformance/test_grpc_faults.py",
    "tests/conformance/test_transparency.py",
    "tests/conformance/lift/test_endings.py",
    "tests/conformance/test_audit.py",
    "tests/integration/kubernetes/test_webhooks.py",
    "tests/integration/kubernetes/test_sandbox.py",
    "tests/integration/kubernetes/test_through_the_proxy.py",
    "tests/rules/packs/test_cases.py",
    "tests/integration/test_maps.py",
    "tests/proxy/envoy/test_deaths.py",
    "tests/proxy/envoy/test_engine.py",
    "tests/proxy/mitm/test_silence.py",
    "tests/proxy/command/test_demo.py",
    "tests/integration/grpc/test_etcdctl.py",
    "tests/conformance/lift/test_serve.py",
    "tests/proxy/mitm/test_worker.py",
)
_PLACES: Final = {file: place for place, file in enumerate(LONG)}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of long files to the front; the others keep their order."""
    items.sort(key=lambda item: _PLACES.get(item.nodeid.partition("::")[0], len(LONG)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Say how to have the same order again, where something failed."""
    config = terminalreporter.config
    if exitstatus and config.pluginmanager.hasplugin("randomly"):
        terminalreporter.write_line(f"the same order again: OPTIONS=--randomly-seed={config.option.randomly_seed}")
