"""What went wrong with a request, as RFC 9457 problem details."""

from __future__ import annotations

import json
from typing import Any

TITLES = {
    400: "Bad request",
    401: "No key, no answer",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    409: "Conflict",
    410: "Gone",
    413: "Too large",
    414: "Too long",
    415: "Not JSON",
    421: "Wrong host",
    422: "Cannot be used",
    429: "Too many requests",
    431: "Too many headers",
    500: "Our fault",
    503: "Not ready",
}
MEDIA = "application/problem+json"


class Problem(Exception):  # noqa: N818 - the RFC's word
    """A request that is answered with a problem.

    Parameters
    ----------
    status
        The HTTP status.
    kind
        What kind of problem it is: one word that programs can tell apart.
    detail
        What was wrong, what was given, and what to do.

    Examples
    --------
    >>> Problem.unknown("rotation", "jazz").body()["type"]
    'urn:lastswitch:problem:unknown-rotation'
    """

    def __init__(self, status: int, kind: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail, self.more = status, kind, detail, more

    @classmethod
    def unknown(cls, what: str, name: str) -> Problem:
        """Return the problem of something that is not there, or not for this key to see."""
        return cls(404, f"unknown-{what}", f"there is no {what} {name!r:.100} for this key.")

    def body(self) -> dict[str, Any]:
        """Return what the answer holds."""
        return {
            "type": f"urn:lastswitch:problem:{self.kind}",
            "title": TITLES.get(self.status, "Problem"),
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def encoded(self) -> bytes:
        """Return the answer's body."""
        return json.dumps(self.body()).encode()
