"""Statistics as Prometheus metrics, and back again for `corrigible status`.

Needs the extra `corrigible[prometheus]`; nothing else imports prometheus_client.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from corrigible.proxy.access_log.entry import Verdict
from corrigible.proxy.access_log.statistics import BUCKETS, Kind, Statistics

from .server import Page


class Metrics:
    """Renders statistics in Prometheus' text format."""

    def __init__(self, **info: str) -> None:
        """`info` is what the metric `corrigible_info` tells: the version, the packs."""
        self._info = info
        self._process: Any = ProcessCollector(registry=None)

    def render(self, statistics: Statistics) -> Page:
        """Return the page of all metrics. `statistics` must not change meanwhile."""
        families = [*_families(statistics, self._info), *self._process.collect()]
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(families))
        return Page(CONTENT_TYPE_PLAIN_0_0_4, generate_latest(registry))


@dataclass(eq=False, slots=True)
class _Collected:
    families: list[Any]

    def collect(self) -> Iterable[Any]:
        return self.families


def _families(statistics: Statistics, info: Mapping[str, str]) -> Iterator[Any]:
    yield InfoMetricFamily("corrigible", "The running proxy", value=dict(info))
    requests = CounterMetricFamily("corrigible_requests", "Requests by what became of them", labels=["verdict"])
    for verdict, count in _by_verdict(statistics).items():
        requests.add_metric([verdict.value], count)
    yield requests
    for name, help, label, counter in (
        ("refusals", "Refusals of the API by status", "status", statistics.statuses),
        ("rule_matches", "Refusals by the rule that knew something about them", "rule", statistics.rules),
        ("upstream_failures", "Requests without an answer from the API", "failure", statistics.failures),
        ("reloads", "Reloads of packs and descriptions", "result", statistics.reloads),
    ):
        family = CounterMetricFamily(f"corrigible_{name}", help, labels=[label])
        for value, count in counter.items():
            family.add_metric([value], count)
        yield family
    unchanged = CounterMetricFamily(
        "corrigible_unchanged", "Refusals that were passed on unchanged", labels=["status", "operation", "reason"]
    )
    for kind, count in statistics.unchanged.items():
        unchanged.add_metric([*kind], count)
    yield unchanged
    yield CounterMetricFamily("corrigible_lookups", "Requests of the proxy's own", value=statistics.lookups)
    total, buckets = 0, []
    for bound, count in zip((*BUCKETS, math.inf), statistics.durations, strict=True):
        total += count
        buckets.append(("+Inf" if bound == math.inf else str(bound), float(total)))
    yield HistogramMetricFamily(
        "corrigible_correction_seconds",
        "Time between a refusal and the decision about it, look-ups included",
        buckets=buckets,
        sum_value=statistics.seconds,
    )


def _by_verdict(statistics: Statistics) -> dict[Verdict, int]:
    return {**{verdict: statistics.verdicts[verdict] for verdict in Verdict}, Verdict.SUCCESS: statistics.successes}


@dataclass(slots=True)
class Scraped:
    """What a page of metrics says."""

    statistics: Statistics = field(default_factory=Statistics)
    info: Mapping[str, str] = field(default_factory=dict)
    started: float | None = None
    """Unix seconds."""
    memory: float | None = None
    """Bytes."""


def read(text: str) -> Scraped:
    """Read a page of metrics. Raises ValueError if it is none of a proxy."""
    scraped = Scraped()
    counts = scraped.statistics
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels, value = sample.labels, int(sample.value) if sample.value == sample.value else 0
            match sample.name.removesuffix("_total"):
                case "corrigible_info":
                    scraped.info = labels
                case "corrigible_requests":
                    verdict = Verdict(labels["verdict"])
                    if verdict is Verdict.SUCCESS:
                        counts.successes = value
                    else:
                        counts.verdicts[verdict] = value
                case "corrigible_refusals":
                    counts.statuses[labels["status"]] = value
                case "corrigible_rule_matches":
                    counts.rules[labels["rule"]] = value
                case "corrigible_upstream_failures":
                    counts.failures[labels["failure"]] = value
                case "corrigible_reloads":
                    counts.reloads[labels["result"]] = value
                case "corrigible_unchanged":
                    counts.unchanged[Kind(labels["status"], labels["operation"], labels["reason"])] = value
                case "corrigible_lookups":
                    counts.lookups = value
                case "corrigible_correction_seconds_sum":
                    counts.seconds = sample.value
                case "corrigible_correction_seconds_count":
                    counts.durations = [value]
                case "process_start_time_seconds":
                    scraped.started = sample.value
                case "process_resident_memory_bytes":
                    scraped.memory = sample.value
    if not scraped.info:
        raise ValueError("no metrics of corrigible")
    return scraped
