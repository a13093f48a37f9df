"""Write metrics into a file as Prometheus' node exporter reads it (its textfile collector).

Commands are short-lived, so the file keeps the sums over all of them: each export adds what is new
to what the file says, under a lock.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from opentelemetry.sdk.metrics import Counter, Histogram
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    HistogramDataPoint,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
)
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from runner.errors import RunnerError
from runner.files import locked, read_regular, write_atomic

_LIMIT = 4 * 1024 * 1024
_HELP = "A metric of the control plane of runner."

Labels = tuple[tuple[str, str], ...]
Key = tuple[str, str, str, Labels]
"""Family, its type, the sample's name, its labels."""


class TextFileExporter(MetricExporter):
    """Adds every export to the sums in a file; a file that can't be used loses the export."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            preferred_temporality={
                Counter: AggregationTemporality.DELTA,
                Histogram: AggregationTemporality.DELTA,
            }
        )
        self._path = path

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **_: Any
    ) -> MetricExportResult:
        """See `MetricExporter.export`."""
        added = dict(_samples(metrics_data))
        if not added:
            return MetricExportResult.SUCCESS
        lock = self._path.with_name(f".{self._path.name}.lock")
        try:
            with locked(lock, timeout_millis / 1000):
                sums = _read(self._path)
                for key, value in added.items():
                    sums[key] = sums.get(key, 0.0) + value
                write_atomic(self._path, generate_latest(_registry(sums)))
        except (RunnerError, OSError, ValueError):
            return MetricExportResult.FAILURE
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """See `MetricExporter.force_flush`; nothing is held back."""
        del timeout_millis
        return True

    def shutdown(self, timeout_millis: float = 30_000, **_: Any) -> None:
        """See `MetricExporter.shutdown`."""


def _samples(data: MetricsData) -> Iterator[tuple[Key, float]]:
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                name = metric.name.replace(".", "_").removesuffix("_total")
                for point in metric.data.data_points:
                    yield from _point(name, point)


def _point(name: str, point: Any) -> Iterator[tuple[Key, float]]:
    labels = tuple(sorted((key, str(value)) for key, value in (point.attributes or {}).items()))
    if isinstance(point, NumberDataPoint):
        yield (name, "counter", f"{name}_total", labels), float(point.value)
    elif isinstance(point, HistogramDataPoint):
        count = 0
        bounds = (*(f"{bound:g}" for bound in point.explicit_bounds), "+Inf")
        for bound, inside in zip(bounds, point.bucket_counts, strict=True):
            count += inside
            yield (name, "histogram", f"{name}_bucket", (*labels, ("le", bound))), float(count)
        yield (name, "histogram", f"{name}_count", labels), float(point.count)
        yield (name, "histogram", f"{name}_sum", labels), float(point.sum)


def _read(path: Path) -> dict[Key, float]:
    try:
        text = read_regular(path, limit=_LIMIT).decode("utf-8")
    except FileNotFoundError:
        return {}
    return {
        (family.name, family.type, sample.name, tuple(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


class _Sums:
    """Gives the sums to the library that renders them."""

    def __init__(self, sums: Mapping[Key, float]) -> None:
        self._sums = sums

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for (name, kind, sample, labels), value in self._sums.items():
            family = families.setdefault(name, Metric(name, _HELP, kind))
            family.add_sample(sample, dict(labels), value)
        return families.values()


def _registry(sums: Mapping[Key, float]) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Sums(sums))
    return registry
