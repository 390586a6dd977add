"""A plan on a calendar: days people read, and files other programs read."""

from lastswitch.calendars.schedule import Play, Schedule

__all__ = ["Play", "Schedule"]
