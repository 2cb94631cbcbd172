"""What the service counts, in a registry of its own."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_WRITERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counters of one process. No label has a value that a caller chooses."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "turnhold_memory_requests",
            "Requests by route and status.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "turnhold_memory_request_seconds",
            "How long requests took, by route.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.open = Gauge("turnhold_memory_open_requests", "Requests that are being answered.", registry=self.registry)
        self.grouped = Histogram(
            "turnhold_memory_grouped_changes",
            "How many changes were stored as one version.",
            buckets=_WRITERS,
            registry=self.registry,
        )
        self.statements = Counter(
            "turnhold_memory_statements", "What became of statements.", ("outcome",), registry=self.registry
        )
        self.planned_tokens = Histogram(
            "turnhold_memory_planned_tokens",
            "Tokens of served prompt blocks.",
            buckets=(0, 50, 100, 250, 500, 1000, 1500, 2000, 4000, 8000),
            registry=self.registry,
        )

    def exposition(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)
