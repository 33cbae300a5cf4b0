"""The measures and counts of the installation, in the formats that Prometheus reads."""

import logging
from collections.abc import Iterable, Iterator, Mapping

import redis
from django.db import Error, connection
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from config.monitoring import counts
from config.monitoring.counts import BUCKETS, METRICS, SUM, Key
from config.monitoring.registry import all_measures

log = logging.getLogger(__name__)


class Installation(Collector):
    """Counts of all machines from Redis, and current measures from the database.

    If one of the two cannot be reached, the other is still reported, and a flag tells which one is missing.
    """

    def collect(self) -> Iterator[Metric]:
        try:
            found = dict(counts.stored())
        except (redis.RedisError, OSError) as error:
            log.warning("the counts in Redis cannot be read: %s", error)
            found = None
        yield from _counted(found or {})
        try:
            measured = [metric for function in all_measures() for metric in function()]
        except Error as error:
            log.warning("the metrics of the database cannot be read: %s", error)
            connection.close()
            measured = None
        yield from measured or ()
        yield _flag("skerry_redis_up", "1 if Redis, which is also the broker, answers, else 0.", found is not None)
        yield _flag("skerry_database_up", "1 if PostgreSQL answers, else 0.", measured is not None)


def _flag(name: str, documentation: str, value: bool) -> Metric:
    return GaugeMetricFamily(name, documentation, value=float(value))


def _counted(found: Mapping[str, Mapping[Key, float]]) -> Iterator[Metric]:
    """Yield the metric families of all counts. The label `machine` is the machine that counted.

    A machine of another release may have counts that this release does not know: they are skipped.
    """
    for metric in METRICS.values():
        labels = (*metric.labels, "machine")
        if metric.kind == "counter":
            family = CounterMetricFamily(metric.name, metric.documentation, labels=labels)
            for machine, values in found.items():
                for key, value in values.items():
                    if key[0] == metric.name and len(key) == len(labels):
                        family.add_metric([*key[1:], machine], value)
            yield family
        else:
            yield _histogram(metric, labels, found)


def _histogram(
    metric: counts.Metric, labels: Iterable[str], found: Mapping[str, Mapping[Key, float]]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(metric.name, metric.documentation, labels=[*labels])
    for machine, values in found.items():
        series: dict[Key, dict[str, float]] = {}
        for key, value in values.items():
            if key[0] == metric.name and len(key) == len(metric.labels) + 2:
                series.setdefault(key[1:-1], {})[key[-1]] = value
        for key, parts in series.items():
            family.add_metric([*key, machine], list(_cumulative(parts)), parts.get(SUM, 0.0))
    return family


def _cumulative(parts: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield the upper limits, and the number of durations up to each."""
    total = 0.0
    for number, end in enumerate([*map(str, BUCKETS), "+Inf"]):
        total += parts.get(str(number), 0.0)
        yield end, total


_registry = CollectorRegistry(auto_describe=False)
_registry.register(Installation())


def exposition(accept: str) -> tuple[bytes, str]:
    """Return the text and its content type, in the format that the client's ``Accept`` asks for."""
    encoder, content_type = choose_encoder(accept)
    return encoder(_registry), content_type
