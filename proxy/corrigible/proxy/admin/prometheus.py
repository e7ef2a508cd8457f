"""Statistics as Prometheus metrics, and back again for `corrigible status`.

Needs the extra `prometheus`; nothing else imports prometheus_client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from corrigible.proxy.access_log.entry import Verdict
from corrigible.proxy.access_log.statistics import (
    BUCKETS,
    COUNTERS,
    REQUEST_BUCKETS,
    Group,
    Statistics,
    Times,
    label,
    labelled,
)

from .server import Page


class Metrics:
    """Renders statistics in Prometheus' text format."""

    def __init__(self, **info: str) -> None:
        """`info` is what the metric `corrigible_info` tells: the version, the packs."""
        self._info = {name: label(text) for name, text in info.items()}
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
    requests = CounterMetricFamily("corrigible_requests", "Requests by what became of them", labels=Group._fields)
    seconds = HistogramMetricFamily(
        "corrigible_request_seconds", "Time between a request and the end of its answer", labels=Group._fields
    )
    for group, times in statistics.groups.items():
        requests.add_metric(group, times.count)
        seconds.add_metric(group, _buckets(REQUEST_BUCKETS, times), times.seconds)
    yield from (requests, seconds)
    for one in COUNTERS:
        family = CounterMetricFamily(f"corrigible_{one.metric}", one.about, labels=one.labels)
        # From the start: what first appears as 1 does not increase for Prometheus.
        zeros = {"done": 0, "failed": 0} if one.name == "reloads" else {}
        for values, count in labelled(zeros | getattr(statistics, one.name)):
            family.add_metric(values, count)
        yield family
    corrections = HistogramMetricFamily(
        "corrigible_correction_seconds",
        "Time between a refusal and the decision about it, look-ups included",
        labels=["api"],
    )
    for api, times in statistics.corrections.items():
        corrections.add_metric([api], _buckets(BUCKETS, times), times.seconds)
    yield corrections


def _buckets(bounds: Sequence[float], times: Times) -> list[tuple[str, float]]:
    totals = accumulate(times.classes)
    names = [*map(str, bounds), "+Inf"]
    return [(name, float(total)) for name, total in zip(names, totals, strict=True)]


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
    counters = {f"corrigible_{one.metric}": one for one in COUNTERS}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels, value = sample.labels, int(sample.value) if sample.value == sample.value else 0
            match sample.name.removesuffix("_total"):
                case "corrigible_info":
                    scraped.info = labels
                case "corrigible_requests":
                    api, operation, status_class = (labels.get(name, "") for name in Group._fields[:-1])
                    group = Group(api, operation, status_class, Verdict(labels["verdict"]))
                    counts.groups[group] = Times([], count=value)
                case name if (one := counters.get(name)) is not None:
                    getattr(counts, one.name)[one.key(*(labels.get(label, "") for label in one.labels))] = value
                case "corrigible_correction_seconds_sum":
                    counts.corrections.setdefault(labels.get("api", ""), Times([])).seconds = sample.value
                case "corrigible_correction_seconds_count":
                    counts.corrections.setdefault(labels.get("api", ""), Times([])).count = value
                case "process_start_time_seconds":
                    scraped.started = sample.value
                case "process_resident_memory_bytes":
                    scraped.memory = sample.value
    if not scraped.info:
        raise ValueError("no metrics of corrigible")
    return scraped
