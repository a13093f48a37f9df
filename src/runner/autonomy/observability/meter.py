"""Hand measurements to OpenTelemetry, when somebody listens.

Without an SDK the OpenTelemetry API does nothing, and importing it would cost more than a whole
command line call; so it is imported only where a listener can be: in a process that has it
loaded, or that was told by the standard variables where its metrics go.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from runner.autonomy.observability.metrics import Measurement, Metric

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram

METER_NAME = "runner.autonomy"
METRICS_FILE = "AUTORUNNER_METRICS_FILE"
_LISTENING = (
    METRICS_FILE,
    "OTEL_METRICS_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def is_listening(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether anybody could receive metrics in this process."""
    if "opentelemetry.metrics" in sys.modules:
        return True
    return any(environ.get(name) for name in _LISTENING)


def emit(measurements: Sequence[Measurement]) -> None:
    """Add the measurements to their instruments; free where nobody listens."""
    if not measurements or not is_listening():
        return
    for metric, attributes, value in measurements:
        if metric is Metric.NEXT_DURATION:
            _histogram(metric).record(value, dict(attributes))
        else:
            _counter(metric).add(value, dict(attributes))


@cache
def _counter(metric: Metric) -> "Counter":
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 - see the module's docstring

    return get_meter(METER_NAME).create_counter(metric)


@cache
def _histogram(metric: Metric) -> "Histogram":
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 - see the module's docstring

    return get_meter(METER_NAME).create_histogram(metric, unit="ms")
