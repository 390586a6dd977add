"""What the service logs: a JSON object a line, with time and level."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime


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
