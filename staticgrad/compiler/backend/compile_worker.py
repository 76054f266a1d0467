"""Worker processes, which compile for another one: each has a connection to it.

Their leader imports the compilers, Numba among them, and forks the workers: all start in the time of one. It stays until they
end.

A job is JSON: a source, and the environment of the kernel cache. The answer is a line of JSON with the error, the warnings,
and the file's name and key, then the content of the file, which is in the kernel cache by then if that can be written. A
worker ends with its connection or its leader, and the leader with its parent, even in the middle of a job: files of the cache
are renamed into place when they are whole. When a worker ends by itself, the leader sends its exit status as the last answer.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import threading
import time
import warnings
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from . import kernel_cache

NICE = 10
"""What patient workers add to their niceness: beside a process of usual priority they get a tenth of a CPU."""
LOOK = 1.0
"""Seconds between two looks for the parent: a child that it forked may hold the connection open."""


def lead(parent: int, places: list[int], patient: int) -> NoReturn:
    """Fork a worker for each connection, given by its descriptor, and wait until they have ended. The last ones are patient."""
    kernel_cache.prepare()
    gc.freeze()  # what was imported stays, and no collection of a worker copies its pages
    gc.enable()
    leader, connections = os.getpid(), [Connection(place) for place in places]
    workers: dict[int, Connection] = {}
    for number, connection in enumerate(connections):
        if (worker := os.fork()) == 0:
            if number >= len(connections) - patient:
                os.nice(NICE)
            for other in connections:
                if other is not connection:
                    other.close()
            serve(leader, connection)
        workers[worker] = connection
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    while workers:
        worker, status = os.wait()
        with workers.pop(worker) as connection, suppress(OSError):  # the parent may have closed it
            connection.send_bytes(json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode())
    os._exit(0)  # nothing is left to be put away


def serve(leader: int, connection: Connection) -> NoReturn:
    """Answer jobs until their connection ends."""
    jobs = queue.SimpleQueue[bytes]()
    threading.Thread(target=_read, args=(connection, jobs), daemon=True).start()
    threading.Thread(target=_watch, args=(leader,), daemon=True).start()
    while True:
        job = json.loads(jobs.get())
        told, content, error = _done(job)
        file: Any = ["", ""] if content is None else kernel_cache.file(job["text"])
        line = {"error": error, "told": told, "name": file[0], "key": file[1]}
        connection.send_bytes(json.dumps(line).encode() + b"\n" + (b"" if content is None else content))


def _done(job: dict[str, Any]) -> tuple[list[str], bytes | None, str]:
    """(warnings, content, error) of a job."""
    for name, value in job["environment"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            content, error = kernel_cache.made(job["text"]), ""
        except Exception as failed:
            content, error = None, f"{type(failed).__name__}: {failed}"
    return [str(one.message) for one in caught if one.category is RuntimeWarning], content, error


def _read(connection: Connection, jobs: queue.SimpleQueue[bytes]) -> None:
    with suppress(EOFError, OSError):
        while True:
            jobs.put(connection.recv_bytes())
    os._exit(0)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(0)
