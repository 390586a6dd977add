"""A plan on a calendar: days people read, and files other programs read."""

from lastswitch.schedules.schedule import Play, Schedule

__all__ = ["Play", "Schedule"]
