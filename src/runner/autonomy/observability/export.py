"""Send metrics somewhere: OTLP, or a text file for Prometheus. Needs the extra `[otel]`.

The standard OpenTelemetry variables decide about OTLP; AUTORUNNER_METRICS_FILE names the text
file. Neither ever fails a command: what can't be sent is lost, with a warning at start-up when a
library is missing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

from runner.autonomy.observability.observe import METRICS_FILE
from runner.errors import RunnerError
from runner.files import locked, read_regular, write_atomic

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader


_OTLP_VARIABLES = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_EXPORTER_VARIABLE = "OTEL_METRICS_EXPORTER"
FLUSH_SECONDS = 5.0
MISSING = (
    "Metrics were asked for, but OpenTelemetry's SDK is not installed: "
    "pip install 'autonomous-runner[otel]'"
)


@contextmanager
def exporting(environ: Mapping[str, str], warn: Callable[[str], None]) -> Iterator[None]:
    """Export the metrics of what runs inside, where the environment asks for it.

    Args:
        environ: the process's environment.
        warn: called when metrics were requested but are unavailable.
    """
    otlp, path = _wants_otlp(environ), environ.get(METRICS_FILE)
    if not otlp and not path:
        yield
        return
    try:
        readers = _readers(otlp=otlp, path=Path(path) if path else None)
    except ImportError:
        warn(MISSING)
        yield
        return
    from opentelemetry.metrics import set_meter_provider  # noqa: PLC0415 - only with the extra
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - only with the extra

    provider = MeterProvider(metric_readers=readers)
    set_meter_provider(provider)
    try:
        yield
    finally:
        provider.shutdown(timeout_millis=FLUSH_SECONDS * 1000)


def _wants_otlp(environ: Mapping[str, str]) -> bool:
    if environ.get(_EXPORTER_VARIABLE) == "none":
        return False
    named = environ.get(_EXPORTER_VARIABLE) == "otlp"
    return named or any(environ.get(name) for name in _OTLP_VARIABLES)


def _readers(*, otlp: bool, path: Path | None) -> "list[MetricReader]":
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415

    readers: list[MetricReader] = []
    if otlp:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415
            OTLPMetricExporter,
        )

        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter(timeout=FLUSH_SECONDS)))
    if path is not None:
        readers.append(PeriodicExportingMetricReader(TextFileExporter(path)))
    return readers


# Commands are short-lived, so the file keeps the sums over all of them: each export adds what is new
# to what the file says, under a lock.
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
