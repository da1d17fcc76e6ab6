"""OpenTelemetry spans, where an exporter is configured and its packages are installed (extra ``otel``).

The SDK opens a span per request on its own; this only gives spans somewhere to go. Configured as everywhere, by
``OTEL_EXPORTER_OTLP_ENDPOINT`` or ``OTEL_TRACES_EXPORTER``; without either nothing is imported.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Final

import structlog

_FLUSH_MS: Final = 1000
_logger = structlog.get_logger(__name__)


def configure_tracing() -> bool:
    """Install a tracer provider where the environment asks for one; return whether it did."""
    wanted = os.environ.get("OTEL_TRACES_EXPORTER", "")
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or wanted == "none"
    if disabled or not (endpoint or wanted):
        return False
    try:
        exporter = _exporter(wanted or "otlp")
        resources: Any = importlib.import_module("opentelemetry.sdk.resources")
        sdk: Any = importlib.import_module("opentelemetry.sdk.trace")
        export: Any = importlib.import_module("opentelemetry.sdk.trace.export")
    except ImportError as error:
        _logger.warning("tracing_unavailable", missing=error.name, cure="pip install 'maxkernel-mcp[otel]'")
        return False
    if exporter is None:
        _logger.warning("tracing_unavailable", exporter=wanted, allowed=["otlp", "console", "none"])
        return False
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": "maxkernel"}))
    provider.add_span_processor(export.BatchSpanProcessor(exporter))
    importlib.import_module("opentelemetry.trace").set_tracer_provider(provider)
    return True


def flush_tracing() -> None:
    """Send what spans are left; the process ends without the interpreter's own farewells."""
    if "opentelemetry.sdk.trace" in sys.modules:
        provider: Any = importlib.import_module("opentelemetry.trace").get_tracer_provider()
        if hasattr(provider, "force_flush"):
            provider.force_flush(_FLUSH_MS)


def _exporter(name: str) -> Any:
    """Return the exporter called ``name``; spans on the console go to stderr, stdout being the protocol's."""
    if name == "console":
        module: Any = importlib.import_module("opentelemetry.sdk.trace.export")
        return module.ConsoleSpanExporter(out=sys.stderr)
    if name == "otlp":
        module = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        return module.OTLPSpanExporter()
    return None
