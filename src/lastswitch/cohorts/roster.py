"""Rosters as arrays: the subjects of a part, their weights, states and recent plays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from lastswitch._utils.arrays import FloatArray, IntArray
from lastswitch._utils.codec import array_digest
from lastswitch._utils.extras import load_extra
from lastswitch.cohorts.problem import UNKNOWN

if TYPE_CHECKING:
    from lastswitch.model.bandit import Bandit

#: Subjects of one part: enough to make a file worth its header, few enough to hold several.
PART = 50_000


@dataclass(frozen=True, eq=False)
class Roster:
    """The subjects of a part, in order.

    ``subject`` is an Arrow array of text, ``weight`` (n,), ``tau`` (n, n_arms), and ``recent``
    (n, lookback, width) the arms of the rounds before, the latest last: -1 is an empty place, -2 a
    round of which nothing is known; None where no rule looks back.
    """

    subject: Any
    weight: FloatArray
    tau: IntArray
    recent: IntArray | None = None

    def __len__(self) -> int:
        return len(self.weight)

    def digest(self) -> str:
        """Return the digest of all it holds.

        Examples
        --------
        >>> import pyarrow as pa
        >>> one = Roster(pa.array(["ann"]), np.ones(1), np.array([[1, 2]]))
        >>> one.digest() == Roster(pa.array(["bob"]), np.ones(1), np.array([[1, 2]])).digest()
        False
        """
        arrays = {"weight": self.weight, "tau": self.tau}
        if self.recent is not None:
            arrays["recent"] = self.recent
        names = sha256(array_digest(arrays).encode())
        offsets, data = text_buffers(self.subject)
        names.update(offsets.tobytes())
        names.update(data.tobytes())
        return names.hexdigest()


def text_buffers(text: Any) -> tuple[IntArray, np.ndarray[Any, np.dtype[np.uint8]]]:
    """Return an Arrow array of text as where each one begins (and the last ends), and its bytes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> offsets, data = text_buffers(pa.array(["ann", "bo"])[1:])
    >>> offsets.tolist(), data.tobytes()
    ([0, 2], b'bo')
    """
    arrow = load_extra("pyarrow", "logs")
    whole = arrow.concat_arrays([text.cast(arrow.large_string())])
    _, places, data = whole.buffers()
    offsets = np.frombuffer(places, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    raw = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return offsets - offsets[0], raw[offsets[0] : offsets[-1]]


def roster_of(batch: Any, bandit: Bandit, lookback: int = 0, known: int | None = 0) -> Roster:
    """Return the roster of an Arrow table as :mod:`~lastswitch.cohorts.reading` makes it.

    ``lookback`` is how many rounds before the plan matter, and ``known`` of how many the plays are
    known (None: as many as each subject has plays).

    Examples
    --------
    >>> import lastswitch as ls
    >>> import pyarrow as pa
    >>> table = pa.table({"subject": ["ann", "bob"], "weight": [1.0, 2.0], "taus": [[-1], None]})
    >>> roster_of(table, ls.instances.two_arms()).tau.tolist()  # arm 1 is in state -1
    [[-1, -1], [-1, -1]]
    """
    arrow = load_extra("pyarrow", "logs")
    columns = {name: _whole(batch.column(name)) for name in batch.schema.names}
    n, n_arms = len(columns["subject"]), bandit.n_arms
    tau = np.tile(bandit.start(), (n, 1))
    row, code = _codes(columns["taus"])
    tau[row, code % n_arms] = code // n_arms
    recent = None
    if lookback:
        row, code = _codes(columns["recent"])
        recent = _recent(row, code, n, n_arms, lookback)
        reach = np.zeros(n, np.int64) if known is None else np.full(n, known)
        if known is None:
            np.maximum.at(reach, row, code // n_arms)
        reach[columns["recent"].is_null().to_numpy(zero_copy_only=False)] = 0
        ago = lookback - np.arange(lookback)
        recent[ago > reach[:, None]] = UNKNOWN
    weight = columns["weight"].cast(arrow.float64()).to_numpy(zero_copy_only=False)
    return Roster(columns["subject"].cast(arrow.string()), weight, tau, recent)


def _whole(column: Any) -> Any:
    """Return a column as one array."""
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _codes(lists: Any) -> tuple[IntArray, IntArray]:
    """Return the codes of all lists, and the rows they are in."""
    arrow, compute = load_extra("pyarrow", "logs"), load_extra("pyarrow.compute", "logs")
    if arrow.types.is_null(lists.type):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sizes = compute.fill_null(compute.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    codes = lists.flatten().cast(arrow.int64()).to_numpy(zero_copy_only=False)
    return np.repeat(np.arange(len(lists)), sizes), codes


def _recent(row: IntArray, code: IntArray, n: int, n_arms: int, lookback: int) -> IntArray:
    """Return the arms of the last rounds; those of one round in order of their numbers."""
    order = np.lexsort((code, row))
    row, code = row[order], code[order]
    place = row * lookback + (lookback - code // n_arms)
    fresh = np.ones(len(place), np.bool_)
    fresh[1:] = place[1:] != place[:-1]
    # Rounds come backwards within a row, but the plays of one round are side by side.
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(place)), 0))
    slot = np.arange(len(place)) - first
    width = int(slot.max()) + 1 if len(slot) else 1
    recent = np.full((n * lookback, width), -1, np.int64)
    recent[place, slot] = code % n_arms
    return recent.reshape(n, lookback, width)


def in_parts(batches: Iterable[Any], size: int = PART) -> Iterator[Any]:
    """Yield record batches as tables of ``size`` rows, whatever the engine cut them into.

    Examples
    --------
    >>> import pyarrow as pa
    >>> pieces = pa.table({"a": list(range(7))}).to_batches(max_chunksize=3)
    >>> [len(part) for part in in_parts(pieces, 5)]
    [5, 2]
    """
    arrow = load_extra("pyarrow", "logs")
    held: list[Any] = []
    rows = 0
    for batch in batches:
        held.append(arrow.Table.from_batches([batch]))
        rows += len(batch)
        while rows >= size:
            whole = arrow.concat_tables(held)
            yield whole.slice(0, size).combine_chunks()
            held, rows = [whole.slice(size)], rows - size
    if rows:
        yield arrow.concat_tables(held).combine_chunks()
