"""What goes on in the process beside the program: other threads, forks, garbage collections, handlers of signals, logs,
imports.

A compiler inside a user's program is interrupted at places that it does not choose. Ctrl-C raises KeyboardInterrupt between any
two instructions of the main thread, `fork()` copies a lock that a thread of the parent held, and a garbage collection takes
milliseconds in the middle of a trace. This module has the counterparts: locks that a child finds free (`lock`, `rlock`), work
that a fork waits for (`unforked`), pauses of the collector (`paused`), and work that no handler interrupts:

    code = uninterrupted(lambda: compile(text))  # KeyboardInterrupt is raised after it
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import functools
import gc
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
import warnings
from _thread import start_new_thread
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from operator import attrgetter
from threading import get_ident
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from ..errors import StaticgradError, caller, user_line

if TYPE_CHECKING:
    import logging

# locks ----------------------------------------------------------------------------------------------------------------

# A child of fork() has only the thread that forked. It finds these locks free although other threads of its parent held them.
# Their work is left as it stood: a run begins anew, and arrays that were being written are as they were at the fork.

if "free-threading" in sys.version:
    raise ImportError(
        "this is a free-threaded build of Python, and staticgrad's native code relies on the global interpreter lock: take the "
        "usual build"
    )

_locks: WeakSet[Any] = WeakSet()

Lock: Any = threading.Lock
RLock: Any = threading.RLock
if sys.version_info >= (3, 14):

    class RLock(_thread.RLock):
        """A lock that no exception of a signal handler leaves held. From Python 3.14 on, handlers run between the call that
        enters a `with` and its body: after a call of C's, as `acquire` is, and not after one of Python's."""

        def __enter__(self) -> bool:
            count = self._recursion_count()
            try:
                return self.acquire()
            except BaseException:
                if self._recursion_count() > count:
                    self.release()
                raise

    Lock = RLock


def lock() -> Any:
    """A lock. A thread does not ask again for one that it holds."""
    made = Lock()
    _locks.add(made)
    return made


def rlock() -> Any:
    """A lock that its thread may take again. The thread that forks goes on holding its own."""
    made = RLock()
    _locks.add(made)
    return made


class Condition(threading.Condition):
    """A condition of a lock of `rlock()`, and a `with` of it is one of the lock. The standard library's `__enter__` and
    `__exit__` are functions of Python's: an exception of a signal handler in them leaves the lock held."""

    __enter__ = property(attrgetter("_lock.__enter__"))
    __exit__ = property(attrgetter("_lock.__exit__"))

    def __init__(self) -> None:
        super().__init__(rlock())


def _unlock_in_child() -> None:
    for made in list(_locks):
        if not (hasattr(made, "_is_owned") and made._is_owned()):
            made._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)


# what a fork waits for ----------------------------------------------------------------------------------------------

unforked = RLock()
"""Held by work that must not be copied half-done, such as a compilation: LLVM has locks and tables of its own,
which no child could put in order. A fork waits until it is free."""
LONGEST = 10.0
"""Seconds that a fork waits, and the end of the process, which would destroy LLVM's tables under a daemon thread."""

atexit.register(lambda: unforked.acquire(timeout=LONGEST))
_waited = threading.local()


def _before() -> None:
    _waited.got = unforked.acquire(timeout=LONGEST)


def _after_in_parent() -> None:
    if _waited.got:
        unforked.release()


def _after_in_child() -> None:
    if _waited.got:
        unforked.release()
    else:
        unforked._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


# pauses of the garbage collector --------------------------------------------------------------------------------------

# The collector pauses during traces, which tell new objects by its youngest generation, and during work whose many small
# objects nearly all live on: modules, plans, LLVM code. It belongs to all threads, so it runs again once no thread pauses it.
# A child of fork() keeps only the pauses of the thread that forked.

_pausing = rlock()
_pauses: Counter[int] = Counter()
"""Their number by thread."""
_enabled = True
"""Whether the collector ran before the first of these pauses."""


def pause() -> None:
    """No collections in any thread until this one calls `resume`."""
    global _enabled
    with _pausing:
        if not _pauses:
            _enabled = gc.isenabled()
            gc.disable()
        _pauses[get_ident()] += 1


def resume(old: bool = False) -> None:
    """End the latest pause of this thread. old: no collection looks at what is there now until all objects are collected."""
    with _pausing:
        _pauses[get_ident()] -= 1
        _end(old)


@contextmanager
def paused(old: bool = False) -> Iterator[None]:
    """No collections meanwhile. old: see `resume`."""
    pause()
    try:
        yield
    finally:
        resume(old)


def _end(old: bool = False) -> None:
    global _pauses
    _pauses = +_pauses
    if _pauses:
        return
    if old and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()  # into the oldest generation
    if _enabled:
        gc.enable()


def _resume_in_child() -> None:
    global _pauses
    if _pauses:
        _pauses = Counter({get_ident(): _pauses[get_ident()]})
        _end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_resume_in_child)


# the end of the process ---------------------------------------------------------------------------------------------------


def _leave() -> None:
    """Leave nothing to the collections at the end of the process, which would look at each object of each module several times.

    They call `__del__` of objects in cycles. Where there are such objects, they find all that they would; files only have to be
    written out.
    """
    objects = gc.get_objects()
    kinds = [kind for kind in {*map(type, objects)} if hasattr(kind, "__del__") and kind.__name__ != "generator"]
    if gc.get_debug() or any(kind.__module__ != "_io" for kind in kinds):
        return
    for each in objects:
        if type(each) in kinds and not each.closed:
            with suppress(OSError, ValueError):
                each.flush()
    gc.freeze()


atexit.register(_leave)


# what the C library does with memory that arrays have freed ----------------------------------------------------------

# By default glibc gives it back to the system as soon as some megabytes at the end of the heap are free. An array that is made
# afterwards has new pages, and the system stops the program at each of them: a training step whose temporaries take 10 MB loses
# as much time by that as by its arithmetic. Here the heap keeps up to `KEPT` bytes.

TRIM, MAP = -1, -3
"""glibc's numbers of the settings M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""
KEPT = 1 << 27
"""Free bytes at the end of the heap from which it shrinks."""
MAPPED = 1 << 25
"""Bytes of arrays that are apart from the heap: glibc allows no more. It gives the memory of each back at once."""
CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
"""Environment variables by which users choose themselves."""


def keep() -> bool:
    """Keep freed memory in this process, unless its user has chosen. Returns whether the C library does so."""
    if any(name in os.environ for name in CHOSEN):
        return False
    with suppress(AttributeError, OSError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(MAP, MAPPED) and mallopt(TRIM, KEPT))
    return False


# work that handlers of signals don't interrupt ------------------------------------------------------------------------

# What a handler raises can leave half-made state in libraries that don't expect it, or be taken for an error of theirs: LLVM
# in the middle of a compilation, modules of which one half is imported. Nor may a handler see only some variables of a step
# written.

Result = TypeVar("Result")


def uninterrupted(work: Callable[[], Result], handlers: bool = True) -> Result:
    """The result of `work`, or what it raises. What a handler raises meanwhile is raised once the work has ended.

    Handlers run in the main thread only: there, another thread does the work while this one waits. The work must not
    wait for locks that the caller holds. handlers: they run meanwhile. Otherwise they wait as well, so that they see all that
    the work changes or nothing of it; only where no other thread can be started, they run all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    line = user_line()
    ended: list[tuple[Any, BaseException | None]] = []
    gate = _Open() if handlers else _Closed()

    def run() -> None:
        try:
            caller.line = line
            ended.append((work(), None))
        except BaseException as error:
            ended.append((None, error))

    def run_there() -> None:
        gate.begin()
        run()
        gate.end()

    started = False
    raised: BaseException | None = None
    while not ended:
        try:
            if not started:
                started = True  # no handler runs between this line and the start of the thread
                start_new_thread(run_there, ())
            gate.wait()
        except RuntimeError as error:
            if str(error) != "can't start new thread":
                raised = error
                continue
            run()
        except BaseException as error:
            raised = error
    try:
        result: Result
        result, failed = ended.pop()
        if raised is not None:
            raise raised
        if failed is not None:
            raise failed
        return result
    finally:
        raised = failed = None  # a traceback holds this frame


class _Open:
    """The main thread waits for another one, and runs handlers meanwhile."""

    def __init__(self) -> None:
        self.over = threading.Lock()
        self.over.acquire()

    def begin(self) -> None:
        """The other thread begins."""

    def end(self) -> None:
        self.over.release()

    def wait(self) -> None:
        self.over.acquire()


class _Closed:
    """The same without handlers, which Python runs between two of its instructions: the main thread waits in the system's
    `pthread_cond_wait`. It holds the mutex until then, and the other thread from there to the end of its work."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)
        self.mutex, self.over = (ctypes.c_int64 * 16)(), (ctypes.c_int64 * 16)()
        self.library.pthread_mutex_init(self.mutex, None)
        self.library.pthread_cond_init(self.over, None)
        self.library.pthread_mutex_lock(self.mutex)

    def begin(self) -> None:
        self.library.pthread_mutex_lock(self.mutex)

    def end(self) -> None:
        self.library.pthread_cond_signal(self.over)
        self.library.pthread_mutex_unlock(self.mutex)

    def wait(self) -> None:
        self.library.pthread_cond_wait(self.over, self.mutex)


def module(name: str) -> Any:
    """A module, of which never a half stays imported: that half could not be imported again. Nor does a fork copy the half,
    whose lock no thread of the child would release. Not to be called while a module is imported that the other one imports in
    turn.
    """

    def load() -> Any:
        with unforked, paused(old=True):
            return importlib.import_module(name)

    if name not in sys.modules:
        return uninterrupted(load)
    __import__(name)  # waits for another thread that imports it, and takes a tenth of the time of `import_module`
    return sys.modules[name]


# the logger "staticgrad": traces and their reasons, kernels and where they come from, warnings ------------------------

# `logging.basicConfig(level=logging.INFO)` shows them. The standard library's `logging` takes milliseconds to import,
# so that is left to the program: until it has, nobody can have asked for events.


@functools.cache
def logger() -> logging.Logger:
    """The logger. It has a handler that drops records, because warnings reach the user by `warnings`, too."""
    import logging

    made = logging.getLogger("staticgrad")
    made.addHandler(logging.NullHandler())
    return made


def info(text: str, *args: Any) -> None:
    """Tell of an event, such as a trace."""
    if "logging" in sys.modules:
        logger().info(text, *args)


def debug(text: str, *args: Any) -> None:
    """Tell of a detail, such as a kernel."""
    if "logging" in sys.modules:
        logger().debug(text, *args)


def warn(text: str, stacklevel: int | None = None) -> None:
    """A RuntimeWarning at the line of a caller, that of the user where no level is given; the logger gets it, too."""
    logger().warning(text)
    line = user_line() if stacklevel is None else None
    if line is not None:
        warnings.warn_explicit(text, RuntimeWarning, line.file, line.line)
    else:
        warnings.warn(text, RuntimeWarning, stacklevel=1 + (stacklevel or 1))


# libraries that only some uses need, and SciPy's extension modules ----------------------------------------------------

# Those modules are loaded without the packages around them: importing `scipy.linalg` costs 0.1 s.


class MissingExtra(StaticgradError, ImportError):
    """A library is not installed that an optional part of this package needs.

    Examples:
        `sg.onnx.load("model.onnx")` without the package `onnx`; `pip install "staticgrad[onnx]"` installs it.
    """


def is_installed(library: str) -> bool:
    """Whether a library can be imported. A bare folder of its name, such as `examples/torch`, does not count."""
    spec = importlib.util.find_spec(library)
    return spec is not None and spec.origin is not None


def need(library: str, extra: str) -> None:
    """Raises MissingExtra unless a library is installed."""
    if not is_installed(library):
        raise MissingExtra(f"{library} is not installed", f'pip install "staticgrad[{extra}]"')


BY_VALUE = "cloudpickle", "joblib.externals.cloudpickle"
"""Libraries that pickle functions of the program's own file, and such without a name, by value."""


def by_value() -> Any:
    """That of them which the program has imported; None for none."""
    return next((sys.modules[name] for name in BY_VALUE if name in sys.modules), None)


def folders() -> list[str]:
    """SciPy's folders, found without importing it."""
    package = importlib.util.find_spec("scipy")
    places = package.submodule_search_locations if package is not None else None
    return [*places] if places is not None else []


@cache
def extension(name: str) -> ModuleType:
    """An extension module by its full name. Some can be loaded only once, so it is entered where an import looks for it."""
    return uninterrupted(lambda: _loaded(name))


def _loaded(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    _, *inner, last = name.split(".")
    for folder in folders():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            file = os.path.join(folder, *inner, f"{last}{suffix}")
            if os.path.exists(file):
                spec = importlib.util.spec_from_file_location(name, file)
                assert spec is not None
                assert spec.loader is not None
                made = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(made)
                sys.modules[name] = made
                return made
    return importlib.import_module(name)
