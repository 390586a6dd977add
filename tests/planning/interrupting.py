"""Ctrl-C, sent when a search says how far it is: no clock decides whether it comes in time."""

from __future__ import annotations

import signal

import lastswitch as ls


class CtrlC:
    """Hears of progress, and interrupts the search at the report of the given number."""

    def __init__(self, reports: int) -> None:
        self.reports = reports
        self.heard: list[ls.Progress] = []

    def __call__(self, now: ls.Progress) -> None:
        """Take note of ``now``; send a real interrupt when it is time."""
        self.heard.append(now)
        if len(self.heard) == self.reports:
            # Programs that are started in the background may have been told to ignore it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.raise_signal(signal.SIGINT)
