"""Send metrics somewhere: OTLP, or a text file for Prometheus. Needs the extra `[otel]`.

The standard OpenTelemetry variables decide about OTLP; AUTORUNNER_METRICS_FILE names the text
file. Neither ever fails a command: what can't be sent is lost, with a warning at start-up when a
library is missing.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.autonomy.observability.meter import METRICS_FILE

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
        warn: is told when metrics were asked for and can't be had.
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
        from runner.autonomy.observability.text_file import TextFileExporter  # noqa: PLC0415

        readers.append(PeriodicExportingMetricReader(TextFileExporter(path)))
    return readers
