"""Eager operations by kernels of the compiler: which calls have one, and who makes it.

NumPy evaluates an operation until its kernel is ready; then a small plan does: one for each combination of op, shapes, dtypes
and attributes. Plans of other shapes share the kernels. A background thread makes them, once an operation has run a few times,
so that no call waits; with `eager_kernels(wait=True)` the first call makes them.

`Call` is such a plan as a function of arrays; `op_calls.py` and `composites.py` say what plans compute.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import StaticgradError
from ..ir import Graph, Node
from ..locks import lock, rlock
from ..signals import module
from .grad_mode import kernels_setting, modes

if TYPE_CHECKING:
    from ..compiler.execute.plan import Plan
    from ..compiler.program import Program

USES = 3
"""Calls by NumPy before a plan is made in the background: most shapes of a short program come once or twice."""
KEPT = 1024
"""Calls that are kept, and what belongs to them; the oldest goes first."""
PENDING = 256
"""Requests that may wait for the background thread; further ones are made again later."""
SPARE = 3
"""Large results of one shape and dtype that are kept for the next operations with such a result."""
BRIEFLY = 2e-4
"""Seconds after which the background thread hands over Python's lock. NumPy releases it in each operation of some size, and an
operation that wants it back would wait for Python's 5 ms otherwise."""
SHAPES = 64
"""Shapes of large results from which spare arrays of the older ones are released."""
MOVED = 1 << 14
"""Elements from which a kernel copies an array in another order of memory sooner than NumPy."""
OFF = kernels_setting(False)

Make = Callable[[], "Program | None"]
Value = TypeVar("Value")


class Call:
    """An operation as a plan. `run(*arrays)` returns the list of its results, or None where NumPy has to compute them."""

    __slots__ = ("plan", "run")

    def __init__(self, plan: Plan | None):
        self.plan = plan
        self.run: Callable[..., Any] = declined if plan is None else _fast(plan)

    def in_any_layout(self, *arrays: np.ndarray) -> Any:
        """As `run`, for arrays in any order of memory, and while another thread runs the plan."""
        if self.plan is None:
            return None
        try:
            return self.plan.run([row_major(a) for a in arrays], {})
        except StaticgradError:
            return None  # NumPy raises the error, which names the user's operation


def row_major(array: np.ndarray) -> np.ndarray:
    """The array if its elements lie in row-major order, else a copy in that order. Native code takes nothing but plain arrays:
    one of a subclass is viewed as such, one of NumPy's scalars becomes a 0-d array."""
    if array.__class__ is not np.ndarray:
        array = np.asarray(array)
    return array if array.flags.c_contiguous else copied(array)


def copied(array: np.ndarray) -> np.ndarray:
    """A copy in row-major order: of a large array by a kernel."""
    if array.size < MOVED:
        return np.array(array, order="C")
    found: np.ndarray = module("staticgrad.compiler.execute.array_copies").copied(array)
    return found


def flat_for(array: np.ndarray, extents: tuple[Any, ...]) -> np.ndarray:
    """An array to reshape, in row-major order where the result can't be a view of it."""
    if not array.flags.c_contiguous and array.size >= modes.now.heavy:
        try:
            array.reshape(*extents, copy=False)
        except ValueError:
            return copied(array)
        except TypeError:  # NumPy 2.0 copies by itself
            pass
    return array


def declined(*arrays: np.ndarray) -> None:
    """The plan of an operation that has none."""


NONE = Call(None)


def _fast(plan: Plan) -> Callable[..., Any]:
    specs = [module("staticgrad.compiler.execute.fastcall").Spec(f.dtype, f.shape, bare=True) for f in plan.feed_types]
    found: Callable[..., Any] = module("staticgrad.compiler.execute.fast_path").fast_path(plan, specs)
    if plan.atomic:
        return found
    lock = plan.lock

    def run(*arrays: np.ndarray) -> Any:
        """As `found`; declines while another thread runs the plan, which lets threads switch."""
        if not lock.acquire(False):
            return None
        try:
            return found(*arrays)
        finally:
            lock.release()

    return run


class Bounded(OrderedDict[Hashable, Value]):
    """At most `KEPT` items: a program may have no end of shapes and numbers."""

    def __setitem__(self, key: Hashable, value: Value) -> None:
        super().__setitem__(key, value)
        while len(self) > KEPT:
            self.popitem(last=False)


class Requests:
    """The calls by key, and those that wait to be made."""

    def __init__(self) -> None:
        self.known: Bounded[Call] = Bounded()
        self.seen: dict[Hashable, int] = {}
        self.waiting: set[Hashable] = set()
        self.queue: SimpleQueue[tuple[Hashable, Make] | None] = SimpleQueue()
        self.thread: threading.Thread | None = None
        self.pools: weakref.WeakValueDictionary[Any, np.ndarray] = weakref.WeakValueDictionary()
        self.interval: float | None = None
        """Python's interval between turns of threads, while the background thread has set another one."""
        self.lock, self.making = lock(), rlock()

    def call(self, key: Hashable, make: Make, least: int = USES) -> Call:
        """The call of a key that is not in `known`; one that declines while NumPy answers. make: gives its program, or None;
        least: uses before it is made."""
        if modes.now.waits:
            return self.made(key, make)
        with self.lock:
            uses = self.seen.get(key, 0) + 1
            if len(self.seen) > 4 * KEPT:
                self.seen.clear()
            self.seen[key] = uses
            if uses >= least and key not in self.waiting and len(self.waiting) < PENDING:
                self.waiting.add(key)
                self.queue.put((key, make))
                if self.thread is None:
                    self.thread = threading.Thread(target=self._work, name="staticgrad kernels", daemon=True)
                    self.thread.start()
        return NONE

    def _work(self) -> None:
        while (job := self.queue.get()) is not None:
            self.interval = interval = sys.getswitchinterval()
            sys.setswitchinterval(min(interval, BRIEFLY))
            try:
                self.made(*job)
            except BaseException:
                self.known[job[0]] = NONE
                self.thread = None  # this one ends with the error; the next request begins another one
                raise
            finally:
                sys.setswitchinterval(interval)
                self.interval = None
                with self.lock:
                    self.waiting.discard(job[0])

    def made(self, key: Hashable, make: Make) -> Call:
        """The call of a key, made now unless it is there."""
        with self.making:
            found = self.known.get(key)
            if found is None:
                mode = modes.now
                saved = mode.kernels, mode.arrays, mode.grad
                mode.kernels, mode.arrays, mode.grad = OFF, False, True
                try:
                    found = self._compiled(make)
                finally:
                    mode.kernels, mode.arrays, mode.grad = saved
                with self.lock:
                    self.known[key] = found
                    self.seen.pop(key, None)
            return found

    def _compiled(self, make: Make) -> Call:
        try:
            program = make()
            if program is None:
                return NONE
            plan = program.plan(*(np.empty(feed.type.shape, feed.type.dtype) for feed in program.prepared.feeds))
            plan.wait()  # NumPy answers by itself until then
        except (StaticgradError, MemoryError):
            return NONE  # NumPy computes it, or raises the error
        if not plan.simple or plan.draws or plan.results.late or plan.only_moves:
            return NONE
        if plan.sparse:  # arrays whose rows are noted while they live
            plan.results.share({}, 0)
        else:
            plan.results.share(self.pools, SPARE)
        if len(self.pools) > SHAPES:  # the shapes of a program that has no end of them
            for pool in [*self.pools.values()][: -SHAPES // 2]:
                pool[:] = None
        return Call(plan)

    def wait(self) -> None:
        """Until the thread has made what is asked for, or has ended with an error."""
        while self.waiting and self.thread is not None and self.thread.is_alive():
            time.sleep(BRIEFLY)

    def end(self) -> None:
        """Let the thread end before the interpreter does: it may be inside LLVM."""
        if self.thread is not None and self.thread.is_alive():
            while not self.queue.empty():
                self.queue.get()
            self.queue.put(None)
            self.thread.join(5)

    def after_fork(self) -> None:
        """The thread does not exist in a child, whose requests begin anew."""
        self.queue, self.thread, self.waiting = SimpleQueue(), None, set()
        if self.interval is not None:
            sys.setswitchinterval(self.interval)
            self.interval = None


requests = Requests()
known = requests.known
atexit.register(requests.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=requests.after_fork)


def wait_for_kernels() -> None:
    """Wait until all kernels that have been asked for are compiled, and plans run natively.

    Eager operations, compiled functions and Sessions answer in NumPy while their kernels are compiled in the background. A
    benchmark calls this after the first step; `sg.compile(fn, wait=True)` and `sg.eager_kernels(wait=True)` wait in each call
    that needs a kernel. Eager operations ask for kernels when they recur, so in eager mode call it after 20 steps. Raises
    CompileError for a kernel of a compiled function or Session that does not compile.

    Examples:
        >>> f = sg.compile(lambda x: sg.exp(x).sum())
        >>> _ = f(np.ones(3, "float32"))
        >>> sg.wait_for_kernels()
        >>> f.plan.compiled
        True
    """
    requests.wait()
    if TIERS in sys.modules:
        module(TIERS).wait()


TIERS = "staticgrad.compiler.execute.tiers"


def program_of(graph: Graph, fetches: Sequence[Node], feeds: Sequence[Node], family: Hashable) -> Program:
    """The program that computes nodes of a graph from others. family: programs that may differ in extents alone."""
    templates = _templates.get(family)
    if templates is None:
        templates = _templates[family] = module("staticgrad.compiler.templates").Templates()
    found: Program = module("staticgrad.compiler.program").Program(graph, fetches, feeds, templates=templates, kept=True)
    return found


_templates: Bounded[Any] = Bounded()
