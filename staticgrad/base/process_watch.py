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
from typing import Any

from ..errors import INTERNAL, line_of, position_of

PERIOD = 0.1
"""Seconds between two looks for messages."""
ANSWERS = 1.5
"""Seconds that a process waits to learn where the others are."""
LAST_WORDS = 1.0
"""Seconds in which the others of a process that fails say where they are."""
TAG = 77


class Watch:
    """The thread of one process. world: mpi4py's communicator of all of them; exchanges: how many exchanges of the group of a
    number have begun here."""

    def __init__(self, mpi: Any, exchanges: Callable[[int], int]):
        self._mpi = mpi
        self._world = mpi.COMM_WORLD.Dup()
        self._exchanges = exchanges
        self.rank: int = self._world.rank
        self.failure: str | None = None
        """What is known of the process that failed first."""
        self._answers: dict[int, tuple[int, str]] = {}
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
        self._answers.clear()
        present = [rank for rank in others if rank not in self.ended]
        self._send(present, "where", number)
        until = time.monotonic() + ANSWERS
        while len(self._answers) < len(present) and time.monotonic() < until:
            time.sleep(PERIOD / 10)
        own, found = self._exchanges(number), []
        for rank in others:
            if rank in self.ended:
                found.append(f"rank {rank} has ended")
                continue
            count, line = self._answers.get(rank, (-1, "it does not answer"))
            if count < own:
                found.append(f"rank {rank} did not come: {line}")
        return found

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
                self._send([rank], "at", (self._exchanges(told), f"it is at {self._line()}"))
            elif kind == "at":
                self._answers[rank] = told
            elif kind == "failed":
                self.failure = self.failure or told
            elif kind == "ends":
                self._beside.pop(rank, None)
                self.ended[rank] = time.monotonic()

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
