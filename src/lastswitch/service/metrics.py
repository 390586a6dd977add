"""What operators see: figures for Prometheus, and lines of the log."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from lastswitch.service.worker import Worker


_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """The metrics of one worker, or, where several share a folder for them, of all."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._shared = "PROMETHEUS_MULTIPROC_DIR" in os.environ
        self._requests = Histogram(
            "lastswitch_request_seconds",
            "How long requests took.",
            ("method", "route", "status"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._done = Counter(
            "lastswitch_operations",
            "Plays, rewards, commits, conflicts.",
            ("what",),
            registry=registry,
        )
        self._waiting = Gauge(
            "lastswitch_waiting",
            "Requests that wait for a commit.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._aside = Gauge(
            "lastswitch_rotations_aside",
            "Rotations whose decider cannot be made.",
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._counted: dict[str, int] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note a request."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    def sync(self, worker: Worker) -> None:
        """Note what a worker has done since."""
        self._waiting.set(worker.depth())
        self._aside.set(len(worker.rotations.aside()))
        for what, count in worker.counted.items():
            if count != self._counted.get(what):
                self._done.labels(what).inc(count - self._counted.get(what, 0))
                self._counted[what] = count

    def text(self, worker: Worker) -> bytes:
        """Return everything in Prometheus' text format."""
        self.sync(worker)
        if self._shared:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(self._registry)


class Lines(logging.Formatter):
    """Writes a record as one line of JSON, an error's trace included.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "ready", "levelname": "INFO", "created": 0.0})
    >>> Lines().format(record)
    '{"time": "1970-01-01T00:00:00.000+00:00", "level": "info", "message": "ready"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "told", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_lines(verbose: bool) -> None:
    """Log to standard error: how the service is, what is refused, and if asked every request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("lastswitch").setLevel(logging.INFO)
    requests = logging.INFO if verbose else logging.WARNING
    logging.getLogger("lastswitch.service.requests").setLevel(requests)
