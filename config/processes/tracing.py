"""Spans of OpenTelemetry: a request, the steps of its jobs, and their calls of drivers are one trace.

It is off unless TRACING is set. `span` then returns an object that does nothing, and no module of OpenTelemetry is
loaded: its packages are an extra, ``otel``. Without them the settings refuse TRACING.

Spans go to a collector that the standard variables (``OTEL_…``) name. Attributes are ids, labels, kinds and verbs.
Paths, bodies and the texts of unexpected errors are never attributes, since they may contain secrets.
"""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from django.conf import settings

from config.version import VERSION

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from opentelemetry.trace import Tracer

Attributes = Mapping[str, str | int | float | bool | None]
Kind = Literal["server", "producer", "consumer", "client"]


class Span:
    """A context manager for an operation that takes time. This one records nothing."""

    __slots__ = ()

    def rename(self, name: str) -> None:
        """Rename the span, when its name is only known later."""

    def note(self, attributes: Attributes) -> None:
        """Add attributes. Attributes that are None are dropped."""

    def fail(self, text: str) -> None:
        """Mark the span as failed, with a reason that anybody may read."""

    def __enter__(self) -> "Span":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        return None


class _Recorded(Span):
    __slots__ = ("_failed", "_span", "_token")

    def __init__(self, tracer: "Tracer", name: str, kind: Kind, attributes: Attributes, parent: str | None):
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        context = TraceContextTextMapPropagator().extract({"traceparent": parent}) if parent else None
        self._span = tracer.start_span(name, context, trace.SpanKind[kind.upper()])
        self._failed = False
        self.note(attributes)

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def note(self, attributes: Attributes) -> None:
        self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def fail(self, text: str) -> None:
        from opentelemetry.trace import StatusCode

        self._failed = True
        self._span.set_status(StatusCode.ERROR, text)

    def __enter__(self) -> "Span":
        from opentelemetry import context, trace

        self._token = context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        from opentelemetry import context

        context.detach(self._token)
        if isinstance(error, Exception):
            self.note({"error.type": type(error).__qualname__})
            if not self._failed:
                self.fail(type(error).__qualname__)
        self._span.end()


NOT_RECORDED = Span()

_tracer: "Tracer | None" = None
_provider: "TracerProvider | None" = None


def on() -> bool:
    """Tell whether this process records spans."""
    return _tracer is not None


def span(name: str, kind: Kind, attributes: Attributes | None = None, parent: str | None = None) -> Span:
    """Return a span below `parent`, a `traceparent`, or else below the open span of this thread."""
    if _tracer is None:
        return NOT_RECORDED
    return _Recorded(_tracer, name, kind, attributes or {}, parent)


def inside() -> bool:
    """Tell whether a span is open in this thread."""
    return traceparent() is not None


def traceparent() -> str | None:
    """Return the open span in the format of the W3C header ``traceparent``, or None."""
    if _tracer is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


def start(process: str, processor: "SpanProcessor | None" = None) -> None:
    """Record spans in this process from now on, if TRACING is set. `process` is one of `Heartbeat.Kind`.

    Call it in the process that records the spans: a thread of its own sends them, and no thread survives a fork.
    Without a `processor` they go to the collector. Settings have checked that the packages are installed.
    """
    global _tracer, _provider
    if not settings.TRACING:
        return
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    described: dict[str, Any] = {"service.version": VERSION, "skerry.process": process}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        described["service.name"] = "skerry"
    # Flushed by `stop`: a worker's children end without the handlers of `atexit`.
    _provider = TracerProvider(resource=Resource.create(described), shutdown_on_exit=False)
    _provider.add_span_processor(processor or _to_collector())
    _tracer = _provider.get_tracer("skerry", VERSION)


def _to_collector() -> "SpanProcessor":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    return BatchSpanProcessor(OTLPSpanExporter())


def stop() -> None:
    """Send the remaining spans, and record no more."""
    global _tracer, _provider
    provider, _tracer, _provider = _provider, None, None
    if provider is not None:
        provider.shutdown()
