"""What was read of a log, in numbers that add up and words that say what was done."""

from __future__ import annotations

from dataclasses import dataclass

from lastswitch._utils.listing import counted, first_dozen
from lastswitch._utils.spelling import spelled
from lastswitch.logs.cleaning import BadRows, bad_row_hints
from lastswitch.logs.reading import Scale

#: What every page, table and figure made from a log must say.
CAUTION = (
    "Logs are not experiments: what was played was chosen by someone, for reasons the log does "
    "not hold (who was shown what, when, and who stayed). Take these curves as a start for "
    "learning, not as proof."
)
#: Random orders tried where events of one time have none.
ORDERS = 5


@dataclass(frozen=True)
class LogSummary:
    """What was read: ``rows = plays + merged + left out``, and how rounds and rewards were made.

    ``plays`` are those with a reward, the sum of all arms' events; ``merged`` events were joined
    to another of their subject, arm and round. ``bad`` says, by kind, what was left out. ``copies``
    rows equal another in every column and were kept. ``tied`` of ``pairs`` consecutive events have
    no order. ``agreed`` counts, for every arm and question, the random orders that give the same
    answer (empty if none were drawn). ``silent`` arms have no reward at all; ``single`` ones were
    played twice by nobody. ``share`` is the part of all subjects that was compared.
    """

    rows: int
    plays: int
    subjects: int
    merged: int
    every: str | float | None
    scale: Scale
    bad: tuple[BadRows, ...] = ()
    copies: int = 0
    tied: int = 0
    pairs: int = 0
    order: str = ""
    unordered: str = ""
    agreed: tuple[tuple[int, ...], ...] = ()
    silent: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    share: float = 1.0
    zone: str | None = None
    day_starts: str = "00:00"
    skip: str = ""

    @property
    def left_out(self) -> int:
        """The rows whose reward counts nowhere."""
        return sum(entry.count for entry in self.bad)

    @property
    def notices(self) -> tuple[str, ...]:
        """What was done to the log's rows, and what it cannot tell, that its owner should know."""
        found = [f"left out: {entry}" for entry in self.bad]
        found += [f"to read more of them: {hint}" for hint in bad_row_hints(self.bad)]
        if self.merged:
            found.append(
                f"joined: {counted(self.merged, 'event')} to another of their subject, arm and "
                "round"
            )
        if self.copies:
            found.append(
                f"kept: {counted(self.copies, 'row')} equal to another in every column; if "
                f"they are copies, say {spelled('copies', 'drop')}"
            )
        if self.unordered:
            found.append(f"not answered: {self.unordered}")
        elif self.tied:
            found.append(self._order_words())
        if self.silent:
            found.append(f"no reward at all: {_listed(self.silent)}, left out")
        if self.single:
            found.append(
                f"played twice by nobody: {_listed(self.single)}; the log says nothing of how "
                "they wear out or recover, and no plan counts on them"
            )
        if self.share < 1:
            found.append(f"compared: one in {round(1 / self.share)} subjects, drawn at random")
        return tuple(found)

    def _order_words(self) -> str:
        share = self.tied / max(self.pairs, 1)
        words = (
            f"order: {self.tied:,} of {self.pairs:,} consecutive events ({share:.2%}) have the "
            f"time of the one before; {self.order}"
        )
        if not self.agreed:
            return words
        flips = sum(min(row) < ORDERS for row in self.agreed)
        return (
            f"{words}; over {ORDERS} of them some answer flips for {flips} of "
            f"{len(self.agreed)} arms"
        )


def _listed(names: tuple[str, ...]) -> str:
    return first_dozen([repr(name) for name in names])
