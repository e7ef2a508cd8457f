"""The unit of systemd, the alerts, the dashboard: other people's programs read them, and each number exists."""

from __future__ import annotations

import configparser
import json
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from corrigible.proxy import cli
from corrigible.proxy.access_log.entry import Entry, Verdict
from corrigible.proxy.access_log.statistics import Drifted, Named, Statistics
from corrigible.proxy.admin.prometheus import Metrics
from corrigible.proxy.mitm.server import DRAIN_SECONDS
from tests._support.deployment import DEPLOY, ROOT, said_by, tool
from tests._support.rows import rows

UNIT = DEPLOY / "systemd" / "corrigible@.service"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"
DASHBOARD = DEPLOY / "grafana" / "corrigible.json"
OF_PROMETHEUS = {"up": set[str]()}
OF_SCRAPE = {"job", "instance"}
"""Labels that Prometheus adds."""
PARSER = """
import json, sys
import promql_parser as promql

def read(text):
    selectors, grouped = [], []
    def visit(node):
        if isinstance(node, promql.MatrixSelector):
            node = node.vector_selector
        if isinstance(node, promql.VectorSelector):
            selectors.append([node.name, [one.name for one in node.matchers.matchers]])
        if isinstance(node, promql.AggregateExpr) and node.modifier is not None:
            grouped.extend(node.modifier.labels)
    promql.walk(promql.parse(text), visit)
    return {"selectors": selectors, "grouped": grouped}

print(json.dumps([read(text) for text in json.load(open(sys.argv[1]))]))
"""


class Query(NamedTuple):
    where: str
    text: str
    legend: str


def alerts() -> list[Any]:
    return [rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]]


def queries() -> Iterator[Query]:
    for rule in alerts():
        yield Query(rule["alert"], rule["expr"], " ".join(rule["annotations"].values()))
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield Query(panel["title"], target["expr"], target["legendFormat"])
    for variable in dashboard["templating"]["list"]:
        for selector, label in re.findall(r"label_values\((.+), (\w+)\)", variable["query"]):
            yield Query(variable["name"], f"sum by ({label}) ({selector})", "")


@cache
def exported() -> dict[str, set[str]]:
    """Return the series of a proxy that met all there is, with their labels."""
    statistics = Statistics()
    entry = Entry(1.0, "x", "GET", "/x", 404, "untouched", 1.0, "Op", ("r",), "none", lookups=1, correction=0.1)
    statistics.write(entry)
    statistics.write(Entry(1.0, "x", "GET", "/x", None, "failed", 1.0, failure="refused"))
    statistics.count_success("a", "", 200, 0.1)
    statistics.drift[Drifted("a", "Op", "type")] = statistics.judged[Named("a", "judged")] = 1
    page = Metrics(version="1", serves="x").render(statistics).body.decode()
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    return {sample.name: set(sample.labels) for sample in samples} | OF_PROMETHEUS


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[Query, Any]:
    """What a parser of PromQL reads. Variables of Grafana stand for what it puts there."""
    found = [*queries()]
    plain = [re.sub(r"\$\w+|\$\{\w+\}", "x", one.text.replace("$__rate_interval", "5m")) for one in found]
    file = tmp_path_factory.mktemp("promql") / "queries.json"
    file.write_text(json.dumps(plain), "utf-8")
    done = said_by(tool("python"), "-c", PARSER, file)
    assert done.returncode == 0, done.stderr
    return dict(zip(found, json.loads(done.stdout), strict=True))


def test_each_query_is_promql_about_numbers_and_labels_that_exist(read: dict[Query, Any]) -> None:
    assert len(read) > 20
    for query, parts in read.items():
        assert parts["selectors"], query
        for name, labels in parts["selectors"]:
            assert name in exported(), query
            assert {*labels} <= exported()[name] | OF_SCRAPE, query
        known = set[str]().union(*(exported()[name] for name, _ in parts["selectors"])) | OF_SCRAPE
        assert {*parts["grouped"]} <= known, query
        if parts["grouped"]:
            shown = re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", query.legend)
            assert {*shown} <= {*parts["grouped"]}, query


def test_the_documentation_has_each_number_with_its_labels() -> None:
    text = (ROOT / "docs" / "operators.md").read_text("utf-8")
    told = {
        name: set(re.findall(r"`(\w+)`", labels))
        for name, labels in re.findall(r"^\| `(corrigible_\w+)` \| (.+?) \|", text, re.MULTILINE)
    }
    series = {name.removesuffix("_count"): labels for name, labels in exported().items() if name[:11] == "corrigible_"}
    assert told == {name: labels for name, labels in series.items() if not name.endswith(("_bucket", "_sum"))}
    for verdict in Verdict:
        assert f"`{verdict.value}`" in text


def test_a_query_about_something_else_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "queries.json"
    file.write_text(json.dumps(["sum by (api) (rate(x_total[5m])", "rate(x_total)"]), "utf-8")
    assert "ValueError" in said_by(tool("python"), "-c", PARSER, file).stderr
    assert "corrigible_requests_total" in exported() and "corrigible_requests" not in exported()


def test_each_alert_has_what_a_person_needs() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(names) == len({*names}) >= 6
    for rule in alerts():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"Corrigible[A-Z]\w+", rule["alert"])
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert {*rule["annotations"]} == {"summary", "action"}


def test_the_dashboard_is_one_that_grafana_imports() -> None:
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= {*dashboard}
    assert "id" not in dashboard, "Grafana gives it one"
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [tuple(panel["gridPos"][name] for name in "xywh") for panel in panels]
    assert all(x + w <= 24 for x, _, w, _ in places)
    cells = [(x + a, y + b) for x, y, w, h in places for a in range(w) for b in range(h)]
    assert len(cells) == len({*cells}), "panels overlap"
    variables = {one["name"] for one in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", DASHBOARD.read_text("utf-8"))) - {"__rate_interval"}
    assert used == variables


def unit() -> dict[str, list[str]]:
    """Return the settings of the unit."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def test_the_unit_runs_a_command_that_exists_and_gives_it_time_to_drain() -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # as the documentation of configparser says
    parser.read_string(UNIT.read_text("utf-8"))
    assert parser.sections() == ["Unit", "Service", "Install"]
    settings = unit()
    [start] = settings["ExecStart"]
    args = cli.parser().parse_args(start.replace("%i", "blue").split()[1:])
    assert str(args.config) == "/etc/corrigible/blue.yaml"
    assert settings["KillMode"] == ["mixed"], "Envoy is drained by the main process"
    assert int(settings["TimeoutStopSec"][0]) >= 2 * DRAIN_SECONDS + 5
    assert settings["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    assert settings["RestartPreventExitStatus"] == ["2"]


@rows(
    ("name", "value"),
    [
        ("DynamicUser", "yes"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("PrivateTmp", "yes"),
        ("PrivateDevices", "yes"),
        ("PrivateUsers", "yes"),
        ("RestrictNamespaces", "yes"),
        ("RestrictSUIDSGID", "yes"),
        ("ProtectKernelModules", "yes"),
        ("ProtectKernelTunables", "yes"),
        ("ProtectControlGroups", "yes"),
        ("SystemCallArchitectures", "native"),
        ("UMask", "0077"),
    ],
)
def test_the_unit_is_hardened(name: str, value: str) -> None:
    assert unit()[name] == [value]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on PATH")
def test_systemd_has_no_objection(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    text, count = re.subn(r"^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text("utf-8"), flags=re.MULTILINE)
    assert count == 1
    copy.write_text(text, "utf-8")
    done = said_by(Path("systemd-analyze"), "verify", "--man=no", copy)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    done = said_by(Path("systemd-analyze"), "security", "--offline=true", "--threshold=20", "--no-pager", copy)
    assert done.returncode == 0, done.stdout[-200:]
