"""A worker process, which compiles for another one: that writes jobs to its standard input and reads machine code from its
standard output.

A job is a line of JSON: the kind of code, its text, and the environment of the kernel cache. The answer is a line of JSON with
the error, the warnings, and the file's name, key and size, then the content of the file, which is in the kernel cache by then
if that can be written. The process ends with its standard input or its parent, in the middle of a job too: files of the cache
are renamed into place when they are whole.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

from . import disk_cache as disk
from . import gemm, kernel_cache

LOOK = 1.0
"""Seconds between two looks for the parent: a child that it forked may hold the standard input open."""

KINDS: dict[str, tuple[Callable[[str], disk.File], Callable[[str], bytes]]] = {
    "kernels": (kernel_cache.file, kernel_cache.made),
    "gemm": (gemm.file, gemm.made),
}
"""By kind of code: functions of its text that give its file and the content of that."""


def serve(parent: int) -> None:
    """Answer jobs until the standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    kernel_cache.prepare()
    while True:
        job = json.loads(jobs.get())
        told, content, error = _done(job)
        file: Any = ["", ""] if content is None else KINDS[job["kind"]][0](job["text"])
        size = 0 if content is None else len(content)
        line = {"error": error, "told": told, "name": file[0], "key": file[1], "size": size}
        answers.write(json.dumps(line).encode() + b"\n" + (b"" if content is None else content))
        answers.flush()


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
            content, error = KINDS[job["kind"]][1](job["text"]), ""
        except Exception as failed:
            content, error = None, f"{type(failed).__name__}: {failed}"
    return [str(one.message) for one in caught if one.category is RuntimeWarning], content, error


def _read(stream: BinaryIO, jobs: queue.SimpleQueue[bytes]) -> None:
    for line in stream:
        jobs.put(line)
    os._exit(0)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(0)
