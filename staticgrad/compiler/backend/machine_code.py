"""Machine code that instructions call, which may still have to be compiled: at once, or by the workers of `compile_pool.py`,
which whoever runs it waits for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...base.interpreter import module, rlock
from ...errors import CompileError
from . import disk_cache as disk
from . import kernel_cache

if TYPE_CHECKING:
    from .compile_pool import Job, Pool

TIERS = "STATICGRAD_TIERS"
"""The environment variable that has kernels compiled in this process, before the first run, where it is 0."""

NOW = -1.0
"""When code is compiled: at once, in this process. Other times are those at which somebody is going to wait; see `Job`."""
SOON = 0.0
"""The time of a job for which somebody waits, or will at once."""

_lock = rlock()
_codes: dict[tuple[str, str], Code] = {}
_jobs: dict[str, Job] = {}
"""By the identities of their texts."""


OWN: dict[str, Callable[[], int]] = {}
"""By symbol, what finds the address of a kernel that calls a function of the user's; see `numba_functions.py`."""


def own(symbol: str) -> int:
    """The address of such a kernel; 0 where this process has none of this name."""
    find = OWN.get(symbol)
    return 0 if find is None else find()


def pool() -> Pool:
    """The workers of this process. One whose code is all in the cache does not import them."""
    found: Pool = module("staticgrad.compiler.backend.compile_pool").pool()
    return found


def tiers(due: float = SOON) -> float:
    """`NOW` where no workers compile, else that time."""
    return NOW if os.environ.get(TIERS, "1") == "0" else due


class Wanted(NamedTuple):
    """Machine code to call: a source (see `kernel_cache.py`), and the name of a function in it. Without a source, Numba has
    compiled a function of the user's in this process."""

    text: str
    name: str

    def find(self) -> int:
        """The address, after what has to be compiled is compiled in this process."""
        return kernel_cache.load(self.text)[self.name] if self.text else own(self.name)


class Code:
    """The machine code of an instruction. address: 0 while a worker compiles it; shared: that of functions which it calls."""

    __slots__ = ("address", "job", "shared", "wanted")

    def __init__(self, wanted: Wanted, address: int = 0, job: Job | None = None, shared: Sequence[Code] = ()):
        self.wanted, self.address, self.job, self.shared = wanted, address, job, shared

    @property
    def over(self) -> bool:
        """Whether no worker is at it any more."""
        if any(not code.over for code in self.shared):
            return False
        if self.job is None or self.job.over:
            return True
        if self.job.pool is not pool():  # that of a parent, before it forked
            with _lock:
                self.job = _submitted(self.wanted, SOON, anew=True)
        return False

    def jobs(self) -> list[Job]:
        """Those of the workers of this process for it."""
        own = [] if self.job is None or self.job.pool is not pool() else [self.job]
        return [*own, *(job for code in self.shared for job in code.jobs())]

    def arrive(self) -> None:
        """Find the address, once the job is over. What no worker could compile is compiled now. Raises CompileError."""
        if self.address:
            return
        for code in self.shared:
            code.arrive()
        job = self.job
        if job is not None:
            for text in job.told:
                disk.tell(text, disk.where())  # workers warn of the folder alone
        ends = job is not None and job.pool is not None and job.pool.closed
        if ends and threading.current_thread() is not threading.main_thread():
            raise CompileError("the process ends")  # nobody waits for the kernels of another thread
        self.address = self.wanted.find()
        if job is not None and job.error and not ends:
            disk.tell(
                f"kernels are compiled in this process, which waits for them: {job.error}\n"
                f"  {TIERS}=0 does so without a warning",
                TIERS,
            )
        self.job = None
        with _lock:
            _jobs.pop(kernel_cache.without_comments(self.wanted.text), None)


def code(wanted: Wanted, when: float) -> Code:
    """The machine code. when: it is compiled, where that has to be done: `NOW`, or see `Job.due`."""
    if when == NOW:
        return Code(wanted, wanted.find())
    key = kernel_cache.without_comments(wanted.text), wanted.name
    with _lock:
        found = _codes.get(key)
        if found is None:
            if not wanted.text or kernel_cache.at_hand(wanted.text):
                found = Code(wanted, wanted.find())
            else:
                shared = [code(Wanted(*each), when) for each in kernel_cache.shared(wanted.text)]
                found = Code(wanted, 0, _submitted(wanted, when), shared)
            _codes[key] = found
        elif jobs := found.jobs():
            pool().hurry(jobs, when)
        return found


def arrive(codes: Sequence[Code]) -> None:
    """Wait for codes that workers compile, and find their addresses. Raises CompileError."""
    while left := [code for code in codes if not code.over]:
        pool().wait([job for code in left for job in code.jobs()])
    for code in codes:
        code.arrive()


def _submitted(wanted: Wanted, when: float, anew: bool = False) -> Job:
    """The job that compiles this. anew: the one there is belongs to another process."""
    key = kernel_cache.without_comments(wanted.text)
    job = _jobs.get(key)
    if job is None or (anew and job.pool is not pool()):
        job = _jobs[key] = module("staticgrad.compiler.backend.compile_pool").Job(wanted.text, when)
        pool().submit(job)
    return job
