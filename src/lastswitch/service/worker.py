"""The one thread of a process that touches the database: it commits whatever waits together.

An ``fsync`` costs milliseconds, so operations that wait while one is under way are committed by
the next, as one transaction, and answered when it is done. Deciding happens before it is our turn
to write; rows that another worker changed meanwhile make the transaction fail, and it is done
again, the second time with the turn held throughout.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Union

from sqlalchemy import delete, insert, select

from lastswitch.errors import LastSwitchError
from lastswitch.service import tables
from lastswitch.service.clock import SteadyClock
from lastswitch.service.contract import Work
from lastswitch.service.database import Database, is_away, is_conflict, trouble_with
from lastswitch.service.operations import Answer, Close, Operation
from lastswitch.service.problems import Problem
from lastswitch.service.rotations import Rotations
from lastswitch.service.store import ConflictError, changes, count_subjects, load, open_channel

log = logging.getLogger("lastswitch.service")

#: Operations committed at a time, seconds between two looks at the journal, and at what is due.
TOGETHER, LOOK_EVERY, SWEEP_EVERY = 128, 0.25, 1.0
#: Seconds between two counts of all subjects.
SURVEY_EVERY = 30.0
#: Seconds an operation waits for a database that is away.
PATIENCE = 20.0
_SWEPT = 500
#: Seconds for which a write proves that the database can be written.
PROVEN = 5.0
#: Trouble that does not pass by waiting a moment.
_STAYS = ("database-full", "database-read-only")
#: Seconds of deciding after which the rest of a group is asked to come again.
DECIDING = 2.0

#: What an operation is answered with: a status and a body.
Reply = tuple[int, Any]
#: Whom to answer: a future of an event loop, or the queue of a thread that waits.
To = Union["asyncio.Future[list[Reply]]", "queue.SimpleQueue[list[Reply] | Exception]"]


class Waiting(NamedTuple):
    """Operations of one request, and whom to answer."""

    operations: Sequence[Operation]
    answer: To


class Worker:
    """Does operations, in order, and answers each once it is committed.

    Parameters
    ----------
    database
        Where everything is kept.
    render
        Turns an answer into a reply while its rows are as they were answered.
    clock
        Seconds since 1970; by default one that does not jump.
    most_subjects
        Subjects that a rotation takes in that does not say so itself.
    deciding
        Seconds that deciding may take for what is committed together.
    """

    def __init__(
        self,
        database: Database,
        render: Callable[[Answer, Rotations], Reply],
        clock: Callable[[], float] | None = None,
        most_subjects: int = 1_000_000,
        deciding: float = DECIDING,
    ) -> None:
        self.database, self.clock = database, clock or SteadyClock()
        self.most_subjects = most_subjects
        self.deciding = deciding
        self.rotations = Rotations(database)
        self.ready = threading.Event()
        self.counted = {"decisions": 0, "rewards": 0, "commits": 0, "conflicts": 0, "away": 0}
        #: Called with every batch of lines once they are committed.
        self.listeners: list[Callable[[list[Any]], None]] = []
        self._render, self._channel = render, open_channel(database)
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="lastswitch-store", daemon=True)
        self._looked = self._swept = self._surveyed = self._wrote = 0.0
        #: Why nothing can be written, if that is so.
        self.trouble: Problem | None = None
        #: Called once, in the thread, when the journal is read.
        self.settled: list[Callable[[], object]] = []
        self._room: dict[str, float] = {}

    def start(self) -> None:
        """Read the journal, then answer."""
        self.database.ending = False
        self._thread.start()

    def stop(self) -> None:
        """Answer what waits, write down what learners heard, and end."""
        self.stop_soon()
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def stop_soon(self) -> None:
        """Wait for nobody any longer: the process is told to end."""
        self.database.ending = True

    def submit(self, operations: Sequence[Operation]) -> asyncio.Future[list[Reply]]:
        """Return, from the event loop, a future of the replies."""
        future: asyncio.Future[list[Reply]] = asyncio.get_running_loop().create_future()
        self._queue.put(Waiting(operations, future))
        return future

    def do(self, operations: Sequence[Operation]) -> list[Reply]:
        """Do operations from any other thread, and wait for the replies."""
        done: queue.SimpleQueue[list[Reply] | Exception] = queue.SimpleQueue()
        self._queue.put(Waiting(operations, done))
        found = done.get()
        if isinstance(found, Exception):
            raise found
        return found

    def depth(self) -> int:
        """Return how many requests wait."""
        return self._queue.qsize()

    # In the thread.

    def _run(self) -> None:
        while not self.ready.is_set():
            try:
                self.rotations.start()
                for call in self.settled:
                    call()
                self.ready.set()
            except Exception as error:
                if not is_away(error):
                    log.exception("cannot start")
                if self._ended():
                    return
                time.sleep(LOOK_EVERY)
        ending = False
        while not ending:
            batch, ending = self._gather()
            if batch:
                self._answer(batch)
            try:
                self._look_around()
            except Exception as error:  # whatever it is, requests must be answered
                if not is_away(error) and not is_conflict(error):
                    log.exception("cannot read on")
        try:
            self.rotations.read_on()
            self.rotations.snapshot(force=True)
        except Exception as error:
            log.warning("no snapshot at the end: %s", type(error).__name__)
        self._channel.close()

    def _ended(self) -> bool:
        """Tell whether to give up starting; what waits is told that nothing is ready."""
        while not self._queue.empty():
            item = self._queue.get()
            if item is None:
                return True
            away = Problem(503, "starting", "the journal cannot be read; try again later.")
            _answer_all([(item.answer, away)])
        return False

    def _gather(self) -> tuple[list[Waiting], bool]:
        """Return what waits, up to a number of operations; and whether to end."""
        batch: list[Waiting] = []
        size = 0
        try:
            item = self._queue.get(timeout=LOOK_EVERY)
            while item is not None:
                batch.append(item)
                size += len(item.operations)
                if size >= TOGETHER:
                    return batch, False
                item = self._queue.get_nowait()
        except queue.Empty:
            return batch, False
        return batch, True

    def _answer(self, batch: list[Waiting]) -> None:
        operations = [operation for item in batch for operation in item.operations]
        try:
            if any(not item.operations for item in batch):  # somebody wants to see what is new
                self.rotations.read_on()
                self._prove()
            replies = self._commit(operations) if operations else []
        except Exception as error:
            if is_away(error):
                error = self._in_trouble(error)
            if len(batch) > 1 and not isinstance(error, Problem):
                log.exception("cannot commit together; one by one")
                for item in batch:
                    self._answer([item])
                return
            if not isinstance(error, Problem):
                log.exception("cannot commit")
            _answer_all([(item.answer, error) for item in batch])
            return
        answers: list[tuple[To, list[Reply] | Exception]] = []
        at = 0
        for item in batch:
            answers.append((item.answer, replies[at : at + len(item.operations)]))
            at += len(item.operations)
        _answer_all(answers)

    def _commit(self, operations: Sequence[Operation]) -> list[Reply]:
        """Do operations until they are committed."""
        began, tries = time.monotonic(), 0
        errors: tuple[type[Exception], ...] = (ConflictError, *self.database.errors)
        while True:
            work = self._work()
            try:
                replies = self._try(work, operations, tries)
            except errors as error:
                self.rotations.undone(work.lines)
                away = is_away(error)
                if not away and not isinstance(error, ConflictError) and not is_conflict(error):
                    raise
                tries += 1
                self.counted["away" if away else "conflicts"] += 1
                if away:
                    problem = self._in_trouble(error)
                    patience = 0.0 if self.database.ending else PATIENCE
                    if problem.kind in _STAYS or time.monotonic() - began > patience:
                        raise problem from error
                    time.sleep(min(0.02 * 2**tries, 0.5))
                continue
            except Exception:
                self.rotations.undone(work.lines)
                raise
            if work.lines or work.new_aliases:
                self._written()
            self._committed(work)
            return replies

    def _in_trouble(self, error: Exception) -> Problem:
        """Note that nothing can be written, once, and return the problem that this is."""
        problem = trouble_with(error)
        if self.trouble is None or self.trouble.kind != problem.kind:
            log.error("%s (%s)", problem.detail, error)
        self.trouble = problem
        return problem

    def _written(self) -> None:
        if self.trouble is not None:
            log.warning("the database can be written again")
        self.trouble, self._wrote = None, time.monotonic()

    def _prove(self) -> None:
        """See that the database can be written, unless that was seen just now."""
        if self.trouble is None and time.monotonic() - self._wrote < PROVEN:
            return
        try:
            with self.database.writing() as connection:
                proof = tables.meta.c.name == "proof"
                connection.execute(delete(tables.meta).where(proof))
                row = {"name": "proof", "value": str(self.clock())}
                connection.execute(insert(tables.meta), [row])
        except self.database.errors as error:
            if not is_away(error):
                raise
            raise self._in_trouble(error) from error
        self._written()

    def _try(self, work: Work, operations: Sequence[Operation], tries: int) -> list[Reply]:
        channel = self._channel
        if tries >= 2:
            with channel.turn():
                load(channel.fetch_held, work, operations, again=True)
                replies = self._do(work, operations)
                channel.write_held(changes(work))
            return replies
        load(channel.fetch, work, operations, again=tries > 0)
        replies = self._do(work, operations)
        if work.lines or work.new_aliases:
            channel.write(changes(work))
        return replies

    def _do(self, work: Work, operations: Sequence[Operation]) -> list[Reply]:
        replies: list[Reply] = []
        for operation in operations:
            mark = work.mark(operation)
            try:
                replies.append(self._render(work.do(operation), self.rotations))
                continue
            except Problem as found:
                problem = found
            except self.database.errors:
                raise  # nothing against this operation
            except LastSwitchError as error:
                self.rotations.undone(work.back(mark))
                problem = Problem(422, "refused", str(error))
            except Exception:
                log.exception("an operation failed: %s", type(operation).__name__)
                self.rotations.undone(work.back(mark))
                problem = Problem(500, "internal", "something broke here.")
            replies.append((problem.status, problem.body()))
        return replies

    def _work(self) -> Work:
        rotations = self.rotations
        return Work(
            *(self.clock(), rotations.decider, rotations.version),
            room=dict(self._room),
            until=time.monotonic() + self.deciding,
        )

    def _committed(self, work: Work) -> None:
        self.rotations.committed(work.lines)
        self._room = work.room
        self.counted["commits"] += bool(work.lines)
        for line in work.lines:
            self.counted["decisions"] += line.kind == "play"
            self.counted["rewards"] += line.kind == "reward"
        for listener in self.listeners:
            listener(work.lines)

    def _look_around(self) -> None:
        """Now and then, read on in the journal and book rewards that are due."""
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        self.rotations.read_on()
        self.rotations.snapshot()
        if now - self._swept >= SWEEP_EVERY:
            self._swept = now
            self._sweep()

    def _sweep(self) -> None:
        due, now = tables.decision, time.monotonic()
        with self.database.reading() as connection:
            if now - self._surveyed >= SURVEY_EVERY or not self._surveyed:
                self._surveyed = now
                for name in self.rotations.names():
                    most = self.rotations.decider(name).version.settings.subjects
                    room = self.most_subjects if most is None else most
                    self._room[name] = room - count_subjects(connection, name)
            found = connection.execute(
                select(due.c.id)
                .where(due.c.status == "played", due.c.due.is_not(None))
                .where(due.c.rotation.not_in(self.rotations.aside()))
                .where(due.c.due <= self.clock())
                .order_by(due.c.due)
                .limit(_SWEPT)
            ).scalars()
            late = [Close(name) for name in found]
        if late:
            self._commit(late)


def _answer_all(answers: Sequence[tuple[To, list[Reply] | Exception]]) -> None:
    """Answer everybody, each event loop in one go: to wake it costs more than to answer."""
    loops: dict[asyncio.AbstractEventLoop, list[Any]] = {}
    for to, found in answers:
        if isinstance(to, queue.SimpleQueue):
            to.put(found)
        else:
            loops.setdefault(to.get_loop(), []).append((to, found))
    for loop, settled in loops.items():
        loop.call_soon_threadsafe(_settle, settled)


def _settle(answers: list[tuple[asyncio.Future[list[Reply]], list[Reply] | Exception]]) -> None:
    for future, found in answers:
        if future.done():  # whoever asked is gone
            continue
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found)
