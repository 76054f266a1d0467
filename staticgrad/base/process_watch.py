"""What processes that train together learn of each other's failures.

A thread in each process answers where the process is, and is told when another one fails. So all of them end, and the error of
each names the process that failed first, its exception and its line, whatever the program is doing meanwhile.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import INTERNAL, line_of, position_of

PERIOD = 0.1
"""Seconds between two looks for messages."""
ANSWERS = 1.5
"""Seconds that a process waits to learn where the others are."""
LAST_WORDS = 1.0
"""Seconds in which the others of a process that fails say where they are."""
TAG = 77
FRESH = 0.5
"""Seconds after which what a process was waiting for is not known to be so still: while it waits, it says so more often."""


class Wait(NamedTuple):
    """What a process waits for: an exchange of a group by its number in the group. what: in words; at: when it last said so."""

    group: int
    exchange: int
    what: str
    at: float = 0.0


class Answer(NamedTuple):
    """Where a process is. begun: by number of a group, how many exchanges; waits: for what, with `at` 0; None: for nothing."""

    begun: dict[int, int]
    line: str
    waits: Wait | None


class Watch:
    """The thread of one process. world: mpi4py's communicator of all of them; groups: by number, how many exchanges of a group
    have begun here, and the ranks of its members."""

    def __init__(self, mpi: Any, groups: Callable[[], dict[int, tuple[int, tuple[int, ...]]]]):
        self._mpi = mpi
        self._world = mpi.COMM_WORLD.Dup()
        self._groups = groups
        self.rank: int = self._world.rank
        self.failure: str | None = None
        """What is known of the process that failed first."""
        self._answers: dict[int, Answer] = {}
        self._waits: Wait | None = None
        """The latest exchange for which this process waited for long."""
        self._next = 0.0
        """After how many seconds of waiting it asks the others again for what they wait."""
        self._crossed: tuple[tuple[Wait, ...], list[str]] = (), []
        """Exchanges for which processes wait crosswise, as another process has found."""
        self._sent: list[Any] = []
        self._told = False
        self._last = ""
        """The line of an exception that nobody caught."""
        self.ended: dict[int, float] = {}
        """When this one learned that a process has come to the end of the program."""
        self._ending = threading.Event()
        host = socket.gethostname()
        found = self._world.allgather((host, os.getpid()))
        self._beside = {r: pid for r, (there, pid) in enumerate(found) if there == host and r != self.rank and _lives(pid)}
        """Processes of this host, by rank."""
        self._hook = sys.excepthook
        sys.excepthook = self._fail
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminated)  # the launcher's, when it has seen that a process died
        self._thread = threading.Thread(target=self._run, name="process watch", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def whereabouts(self, number: int, ranks: Sequence[int]) -> list[str]:
        """Where the processes are that have begun fewer exchanges of a group than this one; ranks: of its members."""
        others = [rank for rank in ranks if rank != self.rank]
        self._ask(others)
        own, found = self._begun().get(number, -1), []
        for rank in others:
            if rank in self.ended:
                found.append(f"rank {rank} has ended")
                continue
            answer = self._answers.get(rank)
            if answer is None or answer.begun.get(number, -1) < own:
                found.append(f"rank {rank} did not come: {'it does not answer' if answer is None else answer.line}")
        return found

    def _begun(self) -> dict[int, int]:
        return {number: count for number, (count, _) in self._groups().items()}

    def _ask(self, ranks: Sequence[int]) -> None:
        """Learn where others are."""
        self._answers.clear()
        present = [rank for rank in ranks if rank not in self.ended]
        self._send(present, "where", None)
        until = time.monotonic() + ANSWERS
        while len(self._answers) < len(present) and time.monotonic() < until:
            time.sleep(PERIOD / 10)
            if self._waits is not None:
                self._waits = self._waits._replace(at=time.monotonic())

    def crossed(self, group: int, exchange: int, what: str, waited: float) -> list[str]:
        """While this process waits for an exchange: lines that say who waits for whom, where they wait for each other; else
        none. waited: seconds so far."""
        self._waits = wait = Wait(group, exchange, what, time.monotonic())
        if wait._replace(at=0.0) in self._crossed[0]:
            return self._crossed[1]
        if waited < 2 * FRESH:
            self._next = 0.0
        if waited < self._next or len(self._groups()) < 2:
            return []
        self._next = waited * 1.5
        found = self._circle()
        if not found or found != self._circle():  # it may have gone on between two answers
            return []
        lines = [
            f"rank {rank} waits for rank {other}: {self._place(rank)}"
            for rank, other in zip(found, [*found[1:], found[0]], strict=True)
        ]
        waits = tuple([self._answer_of(rank).waits for rank in found])
        self._send([rank for rank in found if rank != self.rank], "crossed", (waits, lines))
        return lines

    def _answer_of(self, rank: int) -> Any:
        return self._answer() if rank == self.rank else self._answers.get(rank)

    def _place(self, rank: int) -> str:
        answer = self._answer_of(rank)
        members = list(self._groups()[answer.waits.group][1])
        return f"{answer.waits.what}, exchange {answer.waits.exchange} of the group of ranks {members}; {answer.line}"

    def _circle(self) -> list[int]:
        """Ranks each of which waits for the next, the last for the first; this process is among them. Empty for none."""
        groups = self._groups()
        self._ask([rank for rank in range(self._world.size) if rank != self.rank])
        way = [self.rank]
        while True:
            answer = self._answer_of(way[-1])
            if answer is None or answer.waits is None or answer.waits.group not in groups:
                return []
            number, exchange = answer.waits.group, answer.waits.exchange
            late = [
                rank
                for rank in groups[number][1]
                if (there := self._answer_of(rank)) and there.begun.get(number, -1) < exchange
            ]
            if not late:
                return []
            if self.rank in late:
                return way
            if late[0] in way:
                return []  # those of the circle find it themselves
            way.append(late[0])

    def ended_for(self, ranks: Sequence[int]) -> float:
        """Seconds since the first of some processes has come to its end; 0 where none has."""
        ends = [self.ended[rank] for rank in ranks if rank in self.ended]
        return time.monotonic() - min(ends) if ends else 0.0

    # the thread ---------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ending.wait(PERIOD):
            self._receive()
            for rank, pid in [*self._beside.items()]:
                if self.failure is None and not _lives(pid):
                    self._receive()  # did it say that it ends?
                    if rank in self._beside:
                        self.failure = f"rank {rank} (process {pid}) has died"
            if self.failure is not None:
                self._ending.wait(LAST_WORDS / 2)  # of the main thread, should it wait for the others
                self._say()
                if self._ending.wait(2 * LAST_WORDS):
                    return
                self._abort()

    def _receive(self) -> None:
        status = self._mpi.Status()
        while self._world.Iprobe(tag=TAG, status=status):
            rank = status.Get_source()
            kind, told = self._world.recv(source=rank, tag=TAG)
            if kind == "where":
                self._send([rank], "at", self._answer())
            elif kind == "at":
                self._answers[rank] = told
            elif kind == "crossed":
                self._crossed = told
            elif kind == "failed":
                self.failure = self.failure or told
            elif kind == "ends":
                self._beside.pop(rank, None)
                self.ended[rank] = time.monotonic()

    def _answer(self) -> Answer:
        waits = self._waits
        stale = waits is None or time.monotonic() - waits.at > FRESH
        return Answer(self._begun(), f"it is at {self._line()}", None if stale or waits is None else waits._replace(at=0.0))

    def _send(self, ranks: Sequence[int], kind: str, told: Any) -> None:
        self._sent += [self._world.isend((kind, told), rank, TAG) for rank in ranks]

    def _line(self) -> str:
        """The user's line that the main thread is at."""
        line = line_of(position_of(sys._current_frames().get(threading.main_thread().ident or 0)))
        return self._last or ("a line that is not known" if line is None else f"{line.file}:{line.line}")

    def _say(self) -> None:
        if not self._told:
            self._told = True
            print(f"rank {self.rank} ends at {self._line()}: {self.failure}", file=sys.stderr, flush=True)

    def _abort(self) -> None:
        if not self._mpi.Is_finalized():
            self._mpi.COMM_WORLD.Abort(1)

    # the main thread ----------------------------------------------------------------------------------------------------

    def _fail(self, kind: type[BaseException], error: BaseException, at: Any) -> None:
        """Where nobody catches an exception: the others would wait for this process forever."""
        try:
            self._hook(kind, error, at)
            lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(at)]
            own = [line for line in lines if not line[0].startswith(INTERNAL)] or lines
            self._last = f"{own[-1][0]}:{own[-1][1]}" if own else ""
            if self.failure is not None:
                self._say()
                time.sleep(LAST_WORDS)  # the one that failed first ends all
                return
            where = f", {self._last}" if self._last else ""
            told = f"rank {self.rank} failed ({kind.__name__}{where})"
            self._told = True
            print(f"{told}: all ranks end", file=sys.stderr, flush=True)
            summary = str(error).partition("\n")[0]
            told = f"rank {self.rank} failed ({kind.__name__}{where}{f': {summary}' if summary else ''})"
            self._send([rank for rank in range(self._world.size) if rank != self.rank], "failed", told)
            time.sleep(LAST_WORDS)
        finally:
            self._abort()

    def _terminated(self, number: int, frame: Any) -> None:
        """Say which process has died, if one has, and end as without a handler."""
        until = time.monotonic() + 3 * PERIOD
        while self.failure is None and time.monotonic() < until:
            time.sleep(PERIOD / 10)
        if self.failure is not None:
            self._say()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    def _end(self) -> None:
        """At the end of the process: the others need not watch it."""
        if self._mpi.Is_finalized():
            return
        self._send([rank for rank in range(self._world.size) if rank != self.rank], "ends", None)
        self._ending.set()
        self._thread.join(1)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
